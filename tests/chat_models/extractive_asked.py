"""Questions to the built-in model, and two sources that its tests share."""

from collections.abc import Sequence

from shared.chat_models import ModelRequest
from shared.chat_models.extractive.model import ExtractiveModel
from shared.chat_types import Message, Passage, Role
from tests.chat_models.model_contract import Answer, answer

EYES = Passage(
    "eyes",
    """## Eye care

The Standard plan pays up to **150 euros** for [glasses](https://example.org) or contact lenses every two years.
Sunglasses without a prescription are not covered. Approx. 80 % of claims, e.g. those of Dr. Meier, are paid by
1 March.

| Surgery | Basic | Plus |
|---|---|---|
| Laser surgery | not covered | up to 800 euros |

## How to be paid back

- Send the bill to the plan office within 90 days.
- The plan office pays within 15 working days.
""",
    "eyes.md",
    "eyes.md",
)


URLAUB = Passage(
    "urlaub",
    """## Urlaubsanspruch

Neue Beschäftigte haben Anspruch auf 25 Urlaubstage im Jahr. Übertragene Tage verfallen am 31. März, wenn sie z. B.
wegen eines Projekts nicht genommen wurden.

## Kündigung

Die Kündigungsfrist beträgt drei Monate zum Ende des Quartals.

## Elternzeit

Jeder Elternteil erhält 16 Wochen Elternzeit bei vollem Gehalt.
""",
    "urlaub.md",
    "urlaub.md",
)


async def ask(
    question: str,
    *sources: Passage,
    want_followups: bool = False,
    earlier: Sequence[str] = (),
    max_tokens: int | None = None,
) -> Answer:
    messages = (*(Message(Role.USER, text) for text in earlier), Message(Role.USER, f"{question}\n\nSources: …"))
    request = ModelRequest(messages, question, sources, want_followups=want_followups, max_tokens=max_tokens)
    return await answer(ExtractiveModel(), request)


def said(content: str, sourcepage: str = "page.md") -> Passage:
    return Passage(sourcepage, content, sourcepage, sourcepage)
