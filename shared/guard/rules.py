"""How turns are guarded: what a check's result means for a text, and how results are reported.

Results have the shape of Azure OpenAI's content filter, and are merged with those of that filter itself.
Source: Azure OpenAI REST API reference, `contentFilterResults` and `promptFilterResults`.
"""

import asyncio
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal, cast

from shared.chat_types import ChatRequest, Json, RequestContext
from shared.errors import BadRequest, ContentFiltered, SwitchboardError, TooLarge
from shared.events import Thought
from shared.guard import HARMS, SEVERITIES, Finding, SafetyService, Side, chat_payloads
from shared.guard.check import Check

REFUSED = {
    Side.PROMPT: "The safety check refused what was asked. Please rephrase it.",
    Side.COMPLETION: "The safety check stopped this answer. Please rephrase the question.",
}
"""Error message for the caller, by the side that was refused."""
EARLIER_REFUSED = "The safety check refused an earlier message of this chat, not the last one. Start a new chat."
"""Error message for a conversation with a refused message before the question."""


type Results = dict[str, Json]
"""Findings by category, in the shape of Azure OpenAI's content filter."""


@dataclass(frozen=True, slots=True)
class Rules:
    """The safety service, and what its results mean for a text."""

    service: SafetyService
    """The service that checks."""
    kind: str
    """Name of the service, as in RAI_BACKEND."""
    model: str
    """Name of the model in the payloads."""
    mode: Literal["annotate", "enforce"]
    """`annotate`: results are only reported. `enforce`: only cleared text goes out."""
    on_error: Literal["block", "allow"]
    """With `enforce`: whether a text goes out when the service has a fault."""
    timeout: float
    """Seconds that the service may be silent when its answer is due."""
    without_model: Literal["block", "allow"] = "block"
    """Whether an answer of the service that names only tasks without a model is a fault of the service."""

    @property
    def enforced(self) -> bool:
        """Whether forbidden text is held back."""
        return self.mode == "enforce"

    def forgives(self, fault: SwitchboardError) -> bool:
        """Whether a text may go out although its check failed with this fault.

        With `enforce` never if the service refused the text itself: a caller could cause that to avoid the check.
        """
        if not self.enforced:
            return True
        return self.on_error == "allow" and not isinstance(fault, BadRequest | TooLarge)

    def check(self, context: RequestContext, changed: asyncio.Event) -> Check:
        """Begin a check, which sets `changed` whenever something about it changes."""
        return Check(
            self.service.session,
            context,
            model=self.model,
            timeout=self.timeout,
            changed=changed,
            blind=self.without_model == "allow",
        )

    def passes(self, check: Check) -> bool:
        """Whether all texts of a check may go out now, to their ends."""
        if self.enforced and check.clearance.blocking:
            return False
        return check.complete or (check.fault is not None and self.forgives(check.fault))

    def results(self, side: Side, *checks: Check) -> Results:
        """The findings of these checks on one side, in the shape of `content_filter_results`."""
        findings = [finding for check in checks for finding in check.clearance.findings(side).values()]
        return filter_results(findings, enforced=self.enforced)

    def thought(self, prompt: Results, answer: Results, *checks: Check) -> Thought:
        """Make the thought 'Safety', which shows the caller the outcome of the checks."""
        fault = next((check.fault for check in checks if check.fault), None)
        if any(check.clearance.blocking for check in checks):
            text = "Something was found that the policy forbids: "
            text += "it is not shown." if self.enforced else "nothing is held back (RAI_MODE)."
        elif fault:
            text = f"Not everything was checked. {fault.message}"
        elif any(check.clearance.coverage.blind for check in checks):
            text = "Not everything was checked."
        elif any(check.clearance.unexplained for check in checks):
            text = "The safety service let this pass, but of some text it sent no result that says what it looked for."
        else:
            text = "The question and the answer are checked, and nothing was found that the policy forbids."
        missing = sorted({name for check in checks for name in check.clearance.coverage.missing})
        if missing and "NoModel" not in text:
            text += f" The safety service has no model for these tasks of its policy (NoModel): {', '.join(missing)}."
        props: dict[str, Json] = {"mode": self.mode, "service": self.kind}
        return Thought("Safety", text, {**props, "prompt_filter_results": prompt, "content_filter_results": answer})


async def clear_call(rules: Rules, request: ChatRequest, context: RequestContext, text: str) -> None:
    """Wait until the question and a call are cleared, before a server's tool gets its arguments (`RAI_MODE=enforce`).

    This takes a session of its own: that of the answer may wait for more text of it.

    Args:
        rules: The safety service, and what its results mean.
        request: The request, whose texts are checked as well.
        context: The request's context.
        text: The name of the tool and the arguments, which a model wrote.

    Raises:
        ContentFiltered: the question or the arguments are forbidden.
        SwitchboardError: the check has a fault that is not forgiven.
    """
    check = rules.check(context, asyncio.Event())
    try:
        check.ask(chat_payloads.prompt_texts(request))
        check.add(chat_payloads.ANSWER, text)
        check.finish()
        await check.decided()
        if side := check.clearance.blocking:
            raise ContentFiltered(REFUSED[side], results=dict(rules.results(side, check)), earlier=())
        if check.fault and not rules.forgives(check.fault):
            raise check.fault
    finally:
        await check.aclose()


def filter_results(findings: Iterable[Finding], *, enforced: bool) -> Results:
    """Make `content_filter_results` of findings.

    Args:
        findings: In any order; if a category has several, the worst counts.
        enforced: Whether forbidden text was held back, not just reported.
    """
    results: Results = {}
    for finding in findings:
        name = finding.name
        result: Results = {"filtered": finding.blocking and enforced}
        if name in HARMS.values():
            result["severity"] = finding.severity_word
        else:
            result["detected"] = finding.detected
        results = merged(results, {name: result})
    return results


def merged(ours: Results, theirs: Json) -> Results:
    """Merge our results with those of Azure OpenAI's filter; in a category that both have, the worse counts."""
    results = dict(theirs) if isinstance(theirs, dict) else {}
    for name, result in ours.items():
        other = results.get(name)
        if isinstance(result, dict) and isinstance(other, dict):
            results[name] = {**other, **result, **_worse(result, other)}
        else:
            results[name] = result
    return results


def merged_prompt(ours: Results, theirs: Json) -> Json:
    """Put our results into Azure OpenAI's `prompt_filter_results`, at the first prompt, which is the conversation."""
    rest = list(theirs) if isinstance(theirs, list) else []
    if not ours:
        return theirs
    for place, entry in enumerate(rest):
        if isinstance(entry, dict) and entry.get("prompt_index") == 0:
            rest[place] = {**entry, "content_filter_results": merged(ours, entry.get("content_filter_results"))}
            return rest
    return [{"prompt_index": 0, "content_filter_results": ours}, *rest]


def _worse(one: Results, other: Results) -> Results:
    worse: Results = {}
    for key in ("filtered", "detected"):
        if key in one or key in other:
            worse[key] = bool(one.get(key)) or bool(other.get(key))
    words = [cast("str", word) for result in (one, other) if (word := result.get("severity")) in SEVERITIES]
    if words:
        worse["severity"] = max(words, key=SEVERITIES.index)
    return worse
