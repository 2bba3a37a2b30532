"""How turns are guarded."""

import asyncio
from dataclasses import dataclass
from typing import Literal

from shared.chat_types import Json, RequestContext
from shared.errors import BadRequest, SwitchboardError, TooLarge
from shared.events import Thought
from shared.guard import SafetyService, Side
from shared.guard.check import Check
from shared.guard.filter_results import Results, filter_results

REFUSED = {
    Side.PROMPT: "The safety check refused what was asked. Please rephrase it.",
    Side.COMPLETION: "The safety check stopped this answer. Please rephrase the question.",
}
"""What the caller is told, by what was refused."""


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

    def results(self, source: Side, *checks: Check) -> Results:
        """What was found on one side, in the shape of `content_filter_results`."""
        findings = [finding for check in checks for finding in check.clearance.findings(source).values()]
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
