"""Two chats that each client holds with the app: seven situations, and what has to be seen in each.

In the first, with the app in front of a scripted model, a chat goes on after what went wrong, and the last question is
left at its first text, as by a Stop button. In the second, with the app under guard, it goes on after what was refused.
"""

import asyncio
import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from tests.app.guarded import BAD
from tests.stand_ins.openai_service import OpenAIStandIn

ANSWER, SECOND, BEFORE, AFTER, GERMAN, LENGTH, FILTERED, STOP = QUESTIONS = (
    "What does the plan pay for dental care?",
    "And for implants, after how long?",
    "Is a crown covered?",
    "Are braces covered?",
    "Wie lang ist die Kündigungsfrist?",
    "Which conditions are there?",
    "What is said of other plans?",
    "Is anything else covered?",
)
UNDER_GUARD = (f"Where is the {BAD}?", "Hello?")
"""What is refused, and what is not. The model answers by itself: it is asked again without what was refused before."""
SITUATIONS = (
    *("answer", "citation", "second turn", "refusal", "fault before", "fault amid"),
    *("German", "cut", "filtered", "Stop"),
)
"""The columns of the table in docs/clients.md."""
SECONDS = 47
"""How long the model asks to wait."""


@dataclass(frozen=True, slots=True)
class Shown:
    """What a client shows of one question."""

    text: str
    """The answer."""
    error: str = ""
    """What it shows, or throws, of an error."""
    sources: list[str] = field(default_factory=list[str])
    """The URLs that it has beside the text."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """What a client can do."""

    links: bool = True
    """Whether it has the sources' links, and not only their names in the text."""
    remembers: bool = True
    """Whether it sends, or lets the app keep, what was said before."""
    streams: bool = True
    """Whether the text comes in pieces: there is some when something goes wrong amid it, or a person stops it."""
    says_it: bool = False
    """Whether an error is a message like an answer, since it shows no other."""


_NEVER = asyncio.Event()


def script(openai: OpenAIStandIn, kind: Kind) -> None:
    """Let the model answer each question."""
    for question, reply in (
        (ANSWER, lambda: openai.reply("80 % ", "[plan.pdf#page=3].")),
        (SECOND, lambda: openai.reply("After two years ", "[dental.md].")),
        (BEFORE, lambda: openai.fail(429, headers={"Retry-After": str(SECONDS)})),
        (AFTER, lambda: openai.reply_raw(b'data: {"choices":[{"delta":{"content":"Half"}}]}\n\n', cut=True)),
        (GERMAN, lambda: openai.reply("Drei ", "Monate [Kündigung.md].")),
        (LENGTH, lambda: openai.reply("One of ", "many", finish_reason="length")),
        (FILTERED, lambda: openai.reply("Half ", "of it", finish_reason="content_filter")),
        (STOP, lambda: openai.reply("Half", _NEVER) if kind.streams else openai.reply("Yes.")),
    ):
        with openai.to(question):
            if kind.remembers and question != ANSWER:
                openai.call_tool("search_sources", {"search_queries": [question]})
            reply()


def seen(
    openai: OpenAIStandIn, kind: Kind, shown: Sequence[Shown], under_guard: Sequence[Shown], url: str
) -> dict[str, str]:
    """What was seen in each situation, in the words of the table; what was not expected is there as it was shown."""
    answer, second, before, after, german, long, filtered, stopped = shown
    refused, after_it = under_guard
    cited = f"{url}/content/plan.pdf#page=3" in answer.sources
    named = "[plan.pdf#page=3]" in answer.text
    told = json.dumps(_prompt(openai, SECOND), ensure_ascii=False)
    return {
        "answer": "text" if answer.text.startswith("80 % ") and not answer.error else f"{answer}",
        "citation": "link" if cited and named else "name" if named else f"{answer}",
        "second turn": _cell(
            "knows the first", ANSWER in told and answer.text in told and _is(second, "After two years")
        )
        or ("alone" if _is(second, "After two years") else f"{second}"),
        "refusal": _sentence(kind, refused, "The safety check refused what was asked.")
        + _cell(f", then {after_it}", not after_it.text or bool(after_it.error)),
        "fault before": _sentence(kind, before, f"Try again in {SECONDS} seconds."),
        "fault amid": _cell("text, ", after.text.startswith("Half")) + _sentence(kind, after, "(invocation "),
        "German": _cell("German", _is(german, "Drei Monate [Kündigung.md].") and "with the tag" not in _system(openai))
        or f"{german}",
        "cut": _says_why(long, "One of many", "(The answer ends here: it reached"),
        "filtered": _says_why(filtered, "Half of it", "ended the answer here. Please rephrase the question."),
        "Stop": "text so far" if stopped == Shown("Half") else "–" if not kind.streams else f"{stopped}",
    }


def expected(kind: Kind) -> dict[str, str]:
    """What has to be seen."""
    return {
        "answer": "text",
        "citation": "link" if kind.links else "name",
        "second turn": "knows the first" if kind.remembers else "alone",
        "refusal": "sentence",
        "fault before": "sentence",
        "fault amid": "text, sentence" if kind.streams else "sentence",
        "German": "German",
        "cut": "text, sentence",
        "filtered": "text, sentence",
        "Stop": "text so far" if kind.streams else "–",
    }


async def model_stopped(openai: OpenAIStandIn) -> None:
    """Wait until the app has ended the request to its model that nobody waits for."""
    asked = next(chat for chat in reversed(openai.chats) if STOP in json.dumps(chat.body["messages"]))
    async with asyncio.timeout(60):
        await asked.disconnected.wait()


def _cell(words: str, holds: bool) -> str:
    return words if holds else ""


def _is(shown: Shown, text: str) -> bool:
    return shown.text.startswith(text) and not shown.error


def _sentence(kind: Kind, shown: Shown, words: str) -> str:
    told = shown.text if kind.says_it else shown.error
    hides = BAD not in shown.text and (kind.says_it or shown.text in ("", "Half"))
    return "sentence" if words in told and hides else f"{shown}"


def _says_why(shown: Shown, text: str, why: str) -> str:
    """Whether an answer that stops amid it says so, in the text or in what is shown of an error."""
    return "text, sentence" if shown.text.startswith(text) and why in shown.text + shown.error else f"{shown}"


def _prompt(openai: OpenAIStandIn, question: str) -> Any:
    """The messages that the model was sent last with a question."""
    sent: list[Any] = [chat.body["messages"] for chat in openai.chats]
    return next((said for said in reversed(sent) if question in json.dumps(said, ensure_ascii=False)), "")


def _system(openai: OpenAIStandIn) -> str:
    """Its prompt for the question in another language."""
    return json.dumps(_prompt(openai, GERMAN)[:1])
