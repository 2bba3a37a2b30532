"""How turns are guarded."""

import asyncio
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal, cast

from shared.chat_types import Json, RequestContext
from shared.errors import BadRequest, SwitchboardError, TooLarge
from shared.events import Thought
from shared.guard import Finding, SafetyService, Side
from shared.guard.check import Check

REFUSED = {
    Side.PROMPT: "The safety check refused what was asked. Please rephrase it.",
    Side.COMPLETION: "The safety check stopped this answer. Please rephrase the question.",
}
"""What the caller is told, by what was refused."""

_SEVERITIES = ("safe", "low", "medium", "high")
"""Azure's words, each for two of the eight severities."""
_HARMS = {"hate": "hate", "selfharm": "self_harm", "sexual": "sexual", "violence": "violence"}
"""The categories that have a severity, by their names without separators."""

type Results = dict[str, Json]
"""Findings by category, in the shape of Azure OpenAI's content filter."""


@dataclass(frozen=True, slots=True)
class Rules:
    """What checks, and what becomes of its word."""

    service: SafetyService
    """What checks."""
    kind: str
    """Which service that is, by its setting's word."""
    model: str
    """What payloads call the model."""
    mode: Literal["annotate", "enforce"]
    """Whether results are only reported, or nothing goes out that was not cleared."""
    on_error: Literal["block", "allow"]
    """With `enforce`: what becomes of a text when the service's word cannot be had."""
    timeout: float
    """Seconds that the service may be silent when an answer of it is due."""

    @property
    def enforced(self) -> bool:
        """Whether what the policy forbids is held back."""
        return self.mode == "enforce"

    def forgives(self, fault: SwitchboardError) -> bool:
        """Whether a text may pass without the service's word.

        Never with `enforce` if the service was there and did not take the text: a caller could bring that about.
        """
        if not self.enforced:
            return True
        return self.on_error == "allow" and not isinstance(fault, BadRequest | TooLarge)

    def check(self, context: RequestContext, changed: asyncio.Event) -> Check:
        """Begin a check; `changed` is set whenever there is news of it."""
        return Check(self.service, context, model=self.model, timeout=self.timeout, changed=changed)

    def passes(self, check: Check) -> bool:
        """Whether what a check is of may go out now, whole."""
        if self.enforced and check.clearance.blocking:
            return False
        return check.complete or (check.fault is not None and self.forgives(check.fault))

    def results(self, side: Side, *checks: Check) -> Results:
        """What was found on one side, in the shape of `content_filter_results`."""
        findings = [finding for check in checks for finding in check.clearance.findings(side).values()]
        return filter_results(findings, enforced=self.enforced)

    def thought(self, prompt: Results, answer: Results, *checks: Check) -> Thought:
        """What the caller may know of the checks."""
        fault = next((check.fault for check in checks if check.fault), None)
        if any(check.clearance.blocking for check in checks):
            told = "Something was found that the policy forbids: "
            told += "it is not shown." if self.enforced else "nothing is held back (RAI_MODE)."
        elif fault:
            told = f"Not everything was checked. {fault.message}"
        else:
            told = "The question and the answer are checked, and nothing was found that the policy forbids."
        props: dict[str, Json] = {"mode": self.mode, "service": self.kind}
        return Thought("Safety", told, {**props, "prompt_filter_results": prompt, "content_filter_results": answer})


def filter_results(findings: Iterable[Finding], *, enforced: bool) -> Results:
    """`content_filter_results` of these findings.

    Args:
        findings: In any order; of several in one category the worst counts.
        enforced: Whether what the policy forbids was held back, not just reported.
    """
    results: Results = {}
    for finding in findings:
        name = _name(finding)
        result: Results = {"filtered": finding.blocking and enforced}
        if name in _HARMS.values():
            result["severity"] = _SEVERITIES[min(max(finding.severity, 0), 7) // 2]
        else:
            result["detected"] = finding.detected
        results = merged(results, {name: result})
    return results


def merged(ours: Results, theirs: Json) -> Results:
    """Both results by category; in a category that both have, the worse counts."""
    results = dict(theirs) if isinstance(theirs, dict) else {}
    for name, result in ours.items():
        other = results.get(name)
        if isinstance(result, dict) and isinstance(other, dict):
            results[name] = {**other, **result, **_worse(result, other)}
        else:
            results[name] = result
    return results


def merged_prompt(ours: Results, theirs: Json) -> Json:
    """`prompt_filter_results`: theirs, with ours in the first prompt, which is the conversation."""
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
    words = [cast("str", word) for result in (one, other) if (word := result.get("severity")) in _SEVERITIES]
    if words:
        worse["severity"] = max(words, key=_SEVERITIES.index)
    return worse


def _name(finding: Finding) -> str:
    """Azure's name of what was looked for, such as `self_harm` or `jailbreak`."""
    name = (finding.category or finding.kind).lower().replace("-", "_").replace(" ", "_")
    return _HARMS.get(name.replace("_", ""), name)
