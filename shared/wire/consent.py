"""How answers show calls of servers' tools and ask a person for consent: the part that all protocols share.

A protocol with a place for calls shows each one there. The others ask by a text at the end of the answer, which ends
with two phrases: the next message that is one of them is the answer.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from copy import replace
from datetime import UTC, datetime

import msgspec

from shared.chat_types import ChatRequest, Json
from shared.core.fold import Answer, notice_of
from shared.events import AgentMessage, ChatEvent, ConsentAsked, Finished, OpenCall, TextDelta, ToolEnded, ToolStarted

LONGEST_SHOWN = 8_000
"""Maximum characters of arguments and results of calls that an answer shows. A question for consent shows all."""
MOST_DECISIONS = 128
"""Maximum number of answers to questions for consent in a request."""
PAUSED = "consent"
"""Why a turn ends that waits for a person."""
_LONGEST_DESCRIPTION, _LONGEST_REASON = 200, 1_000
_UNSEEN = re.compile(
    "[\x00-\x1f\x7f-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e\u2060-\u206f"
    "\u2800\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"
)
"""Characters that a person does not see, or that change the order of those around them; `values.js` has the same."""
_LOADED = re.compile(rf"{_UNSEEN.pattern}|(?<=!)\[|<(?=[a-zA-Z])")
"""And what would make an image or a tag of a model's words, where a client takes the question for Markdown."""
_BETWEEN = "\n\n"
_BARE_KEY = re.compile("[A-Za-z0-9_-]{1,64}")


def title_of(call: ToolStarted | ToolEnded | OpenCall) -> str:
    """Return the name of a call's tool for people, such as `crm.look`. No tool of a caller has such a name."""
    return f"{call.server}.{call.tool}"


def is_title(name: str) -> bool:
    """Whether a name is the title of a server's tool, and not the name of a caller's tool."""
    return "." in name


def cut_text(text: str) -> str:
    """Return a text, cut where it is long."""
    left_out = len(text) - LONGEST_SHOWN
    return f"{text[:LONGEST_SHOWN]}\n[cut here: {left_out:,} more characters]" if left_out > 0 else text


def cut_arguments(call: ToolStarted | ToolEnded | OpenCall) -> str:
    """Return the arguments of a call as JSON; those that are long become one text that is cut."""
    if len(call.arguments) <= LONGEST_SHOWN or isinstance(call, OpenCall):
        return call.arguments
    return msgspec.json.encode({"arguments": cut_text(call.arguments)}).decode()


def arguments_of(call: ToolStarted | ToolEnded | OpenCall) -> dict[str, Json]:
    """Return the arguments of a call, as `cut_arguments` does, as an object."""
    return msgspec.json.decode(cut_arguments(call), type=dict[str, object])  # pyright: ignore[reportReturnType] (JSON)


def purpose(call: OpenCall) -> str:
    """Describe a call for the person who decides: who wants to do what, with all arguments."""
    about = _seen(" ".join(call.description.split()))
    if len(about) > _LONGEST_DESCRIPTION:
        about = f"{about[:_LONGEST_DESCRIPTION]}…"
    lines = [f"{title_of(call)}{': ' if about else ''}{about}"]
    for key, value in arguments_of(call).items():
        lines.append(f"{_key(key)}: {_seen(msgspec.json.encode(value).decode())}")
        if origin := call.origins.get(key):
            lines.append(f"    (this comes from {_seen(origin)[:_LONGEST_DESCRIPTION]}, and you have not written it)")
    return "\n".join(lines)


def question(call: OpenCall) -> str:
    """Ask for consent to one call, without saying how to answer: for front ends with buttons."""
    return f"{call.agent or 'The assistant'} asks for your consent.\n\n{purpose(call)}"


def consent_text(calls: Sequence[OpenCall], base_url: str) -> str:
    """Ask about calls in a text: what each shall do, where a page is that asks, and how to answer here.

    Args:
        calls: The calls, at least one.
        base_url: The URL below which the app's routes are; empty: there is no link.
    """
    several = len(calls) > 1
    parts: list[str] = []
    for call in calls:
        # A line of JSON is never a fence, so that what the model wrote stays inside.
        parts.append(f"**{call.agent or 'The assistant'} asks for your consent:**\n\n```text\n{purpose(call)}\n```")
        where = f", or decide at {page_of(call, base_url)}" if base_url else ""
        approve, decline = phrases((call,))
        parts.append(f"Answer `{approve}` or `{decline}`{where}.")
    until = datetime.fromtimestamp(min(call.expires for call in calls), UTC)
    them = "none of them is" if several else "it is not"
    parts.append(f"This can be decided until {until:%Y-%m-%d %H:%M} UTC. After any other message {them} done.")
    return "\n\n".join(parts)


def page_of(call: OpenCall, base_url: str) -> str:
    """Return the URL of the page that asks for consent to a call."""
    return f"{base_url}/approvals/{call.approval_id}"


def phrases(calls: Iterable[OpenCall]) -> tuple[str, ...]:
    """Return the messages that answer: two for each call."""
    return tuple(f"{word} {call.code}" for call in calls for word in ("approve", "decline"))


def reason_in(answer: Mapping[str, Json]) -> str:
    """Return the reason that a person gives for a decision, cut where it is long; empty if there is none."""
    reason = answer.get("reason")
    return reason[:_LONGEST_REASON] if isinstance(reason, str) else ""


def consent_events(request: ChatRequest, asked: ConsentAsked, *, has_text: bool) -> Sequence[ChatEvent]:
    """Make the events that ask for consent in a protocol without a place for calls: a text, or a team's messages.

    Args:
        request: The request.
        asked: The calls.
        has_text: Whether the answer has a text before.
    """
    if request.team:
        return _messages(request, asked.calls)
    return (TextDelta(f"{_BETWEEN if has_text else ''}{consent_text(asked.calls, request.base_url)}"),)


def _messages(request: ChatRequest, calls: Sequence[OpenCall], position: int = 0) -> list[AgentMessage]:
    """Make the messages that ask in a team's answer, one for each agent, behind `position` others."""
    by_agent: dict[str, list[OpenCall]] = {}
    for call in calls:
        by_agent.setdefault(call.agent, []).append(call)
    return [
        AgentMessage(
            agent,
            place,
            consent_text(asked, request.base_url),
            finished=ended_in_words(Finished("stop"), asked),
        )
        for place, (agent, asked) in enumerate(by_agent.items(), position)
    ]


def ended_in_words(finished: Finished, calls: Sequence[OpenCall]) -> Finished:
    """Return the end of an answer whose text asks: the phrases are what to say next."""
    return replace(finished, reason="stop", followup_questions=phrases(calls)) if calls else finished


def in_words(request: ChatRequest, answer: Answer) -> Answer:
    """Put into the text of a whole answer, or into messages of its team, what else a person has to see.

    That is the question for consent, or that the answer stops amid the text.
    """
    calls = answer.open_calls
    if answer.message:  # One agent's part: it is already in its text.
        return answer
    if not calls:
        return replace(answer, text=answer.text + notice_of(answer.finished, request))
    answer = replace(answer, finished=ended_in_words(answer.finished, calls), open_calls=())
    if request.team or answer.messages:
        return replace(answer, messages=(*answer.messages, *_messages(request, calls, len(answer.messages))))
    text = consent_text(calls, request.base_url)
    return replace(answer, text=f"{answer.text}{_BETWEEN}{text}" if answer.text else text)


def with_calls(answer: Answer, calls: list[ToolEnded | OpenCall]) -> Answer:
    """Give an agent's message its calls, and take them out of those of the team."""
    agent = answer.message.agent if answer.message else ""
    made = [call for call in calls if call.agent == agent]
    calls[:] = [call for call in calls if call.agent != agent]
    return replace(
        answer,
        tool_calls=tuple(call for call in made if isinstance(call, ToolEnded)),
        open_calls=tuple(call for call in made if isinstance(call, OpenCall)),
    )


def _key(key: str) -> str:
    return key if _BARE_KEY.fullmatch(key) else _seen(msgspec.json.encode(key).decode())


def _seen(text: str) -> str:
    """Write what a person does not see as JSON does, so that no text looks like another one or loads an image."""
    return _LOADED.sub(lambda found: f"\\u{ord(found[0]):04x}", text)
