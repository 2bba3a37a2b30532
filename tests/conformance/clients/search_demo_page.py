"""What azure-search-openai-demo's page needs besides answers: its options, how users sign in, and a place for chats.

Read at 8e2eea9b (2026-06-25) in app/frontend/src: authConfig.ts (`/auth_setup`, asked before anything is shown),
pages/chat/Chat.tsx (`/config`; a chat is kept only under a state that is a text), and, for users who are signed in,
components/HistoryProviders/CosmosDB.ts and components/HistoryPanel/HistoryPanel.tsx (`/chat_history`).
"""

from dataclasses import dataclass

from tests.conformance.backend import Backend
from tests.conformance.reading import Breaks, Json, at
from tests.conformance.rules import Probe, Rule
from tests.conformance.shown import accepted

HISTORY = "chat_history"
QUESTION = "Are eye exams covered?"


@dataclass(frozen=True, slots=True)
class Kept:
    """What became of a chat that the page has kept on the server."""

    listed: Json
    """The chat in the list; None: it is not there."""
    opened: Json
    """The chat as it is opened."""
    session: Json
    """The state that it was kept under."""
    deleted: bool
    """Whether it is gone after the page has deleted it."""


async def _config(backend: Backend, base: str) -> Json:
    return accepted(await backend.get(f"{base}config")).json()


async def _auth_setup(backend: Backend, base: str) -> Json:
    return accepted(await backend.get(f"{base}auth_setup")).json()


async def _first_state(backend: Backend, base: str) -> Json:
    answer = accepted(await backend.post(f"{base}chat", _question())).json()
    return at(answer, "session_state")


def _question() -> Json:
    return {"messages": [{"role": "user", "content": QUESTION}], "context": {"overrides": {}}, "session_state": None}


async def _chat(backend: Backend, base: str) -> Kept:
    answer = accepted(await backend.post(f"{base}chat", _question())).json()
    session = at(answer, "session_state")
    accepted(await backend.post(f"{base}{HISTORY}", {"id": session, "answers": [[QUESTION, answer]]}))
    listed = accepted(await backend.get(f"{base}{HISTORY}/sessions?count=20")).json()
    if not isinstance(chats := at(listed, "sessions"), list):
        raise Breaks("sessions is not a list")
    opened = accepted(await backend.get(f"{base}{HISTORY}/sessions/{session}")).json()
    reply = await backend.request("DELETE", f"{base}{HISTORY}/sessions/{session}")
    return Kept(next((chat for chat in chats if at(chat, "id") == session), None), opened, session, reply.ok)


def _are_options(config: Json) -> bool:
    shown = [value for name, value in config.items() if name.startswith("show")] if isinstance(config, dict) else []
    return bool(shown) and all(isinstance(value, bool) for value in shown)


def _is_whole(kept: Kept) -> bool:
    answer = at(kept.opened, "answers", 0, 1)
    text = at(answer, "output_text") or at(answer, "message", "content")
    points = at(answer, "context", "data_points")
    return at(kept.opened, "answers", 0, 0) == QUESTION and isinstance(text, str) and isinstance(points, dict)


PAGE_PROBES = (
    Probe(
        "config",
        "the options",
        _config,
        (
            Rule[Json]("options", "What begins with 'show' is true or false.", _are_options),
            Rule[Json](
                "streaming",
                "streamingEnabled is true or false; without it the page does not stream.",
                lambda config: isinstance(at(config, "streamingEnabled"), bool),
            ),
        ),
    ),
    Probe(
        "config",
        "how users sign in",
        _auth_setup,
        (
            Rule[Json]("login", "useLogin is true or false.", lambda setup: isinstance(at(setup, "useLogin"), bool)),
            Rule[Json](
                "redirect",
                "msalConfig.auth.redirectUri is a path: the page adds it to its own address.",
                lambda setup: str(at(setup, "msalConfig", "auth", "redirectUri")).startswith("/"),
            ),
        ),
    ),
    Probe(
        "chat",
        "a first answer",
        _first_state,
        (
            Rule[Json](
                "history",
                "Where null was sent, session_state is a text: the page keeps a chat under no other.",
                lambda state: isinstance(state, str) and bool(state),
            ),
        ),
    ),
    Probe(
        HISTORY,
        "a chat from its start to its end",
        _chat,
        (
            Rule[Kept]("listed", "The chat is listed.", lambda kept: kept.listed is not None),
            Rule[Kept](
                "timestamp",
                "Its timestamp is a number of milliseconds: the list is grouped by it.",
                lambda kept: isinstance(time := at(kept.listed, "timestamp"), int) and time > 1e12,
            ),
            Rule[Kept]("answers", "Each of its answers is a question and an answer with data points.", _is_whole),
            Rule[Kept]("deleted", "It can be deleted.", lambda kept: kept.deleted),
        ),
    ),
)
