"""The events of some answers, which every protocol's goldens are made of."""

from shared.errors import ContentFiltered, RateLimited
from shared.events import ChatEvent, Failed, Finished, Retrieved, TextDelta, Thought, ThoughtsAdded, Usage

RETRIEVED = Retrieved(
    data_points=("plan.pdf#page=3: It pays 80 %.",),
    thoughts=(
        Thought("Original user query", "What does it pay?"),
        Thought("Generated search query", "what the plan pays", {"top": 3, "retrieval_mode": "text"}),
    ),
)
TEXT = (TextDelta("It pays "), TextDelta("80 % – “fast”\u2028[plan.pdf#page=3] 🦷."))

SCENARIOS: dict[str, tuple[ChatEvent, ...]] = {
    "answer": (RETRIEVED, *TEXT, Finished("stop", "gpt-4o-mini", Usage(100, 7))),
    "followups": (RETRIEVED, *TEXT, Finished("stop", "extractive", None, ("Who is covered?",))),
    "no_followups_found": (RETRIEVED, *TEXT, Finished("length", "extractive", None, ())),
    "unverified": (
        RETRIEVED,
        TextDelta("So says [x.pdf]."),
        ThoughtsAdded((Thought("Unverified citations", ["x.pdf"]),)),
        Finished("stop", "gpt-4o-mini"),
    ),
    "cut_off": (RETRIEVED, TEXT[0], Failed(RateLimited("Too many.", retry_after=7), "id-1")),
    "filtered": (RETRIEVED, TEXT[0], Failed(ContentFiltered("Refused."), "id-1")),
}
