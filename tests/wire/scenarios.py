"""The events of some answers, which every protocol's goldens are made of."""

from dataclasses import replace

from shared.chat_types import Json
from shared.errors import ContentFiltered, RateLimited
from shared.events import (
    ChatEvent,
    CompletionStarted,
    Failed,
    Finished,
    Retrieved,
    TextDelta,
    Thought,
    ThoughtsAdded,
    Usage,
)

RETRIEVED = Retrieved(
    data_points=("plan.pdf#page=3: It pays 80 %.",),
    thoughts=(
        Thought("Original user query", "What does it pay?"),
        Thought("Generated search query", "what the plan pays", {"top": 3, "retrieval_mode": "text"}),
    ),
)
STARTED = CompletionStarted("chatcmpl-1", 1_700_000_000, "gpt-4o-mini", "fp_1")
EXTRACTIVE = CompletionStarted("extractive-1", 1_700_000_000, "extractive")
SAFE: Json = {"filtered": False, "severity": "safe"}
TEXT = (TextDelta("It pays "), TextDelta("80 % – “fast”\u2028[plan.pdf#page=3] 🦷."))

SCENARIOS: dict[str, tuple[ChatEvent, ...]] = {
    "answer": (RETRIEVED, STARTED, *TEXT, Finished("stop", Usage(100, 7))),
    "followups": (RETRIEVED, EXTRACTIVE, *TEXT, Finished("stop", followup_questions=("Who is covered?",))),
    "no_followups_found": (RETRIEVED, EXTRACTIVE, *TEXT, Finished("length", followup_questions=())),
    "unverified": (
        RETRIEVED,
        STARTED,
        TextDelta("So says [x.pdf]."),
        ThoughtsAdded((Thought("Unverified citations", ["x.pdf"]),)),
        Finished("stop"),
    ),
    "azure": (
        RETRIEVED,
        replace(STARTED, prompt_filter_results=[{"prompt_index": 0, "content_filter_results": {"hate": SAFE}}]),
        *TEXT,
        Finished("content_filter", content_filter_results={"violence": {"filtered": True, "severity": "high"}}),
    ),
    "cut_off": (RETRIEVED, STARTED, TEXT[0], Failed(RateLimited("Too many.", retry_after=7), "id-1")),
    "filtered": (RETRIEVED, STARTED, TEXT[0], Failed(ContentFiltered("Refused."), "id-1")),
}
