"""A prompt taken apart: what the user asked, and what agents of a team have said since."""

import re
from collections.abc import Sequence

from shared.chat_models import ModelRequest
from shared.chat_models.extractive.relevance import Scored, read_statement, says_the_same
from shared.chat_models.extractive.statements import Statement
from shared.chat_types import Message, Role

_ENDS_ITSELF = re.compile(r"[.!?…:;。！？][\"'”“»)]*$")
_CITATION = re.compile(r"(?<=[.!?…:;。！？\"'”“»)]) \[([^\[\]\n]{1,300})\](?=\s|$)")
"""The citation behind a statement, as `cited` writes it."""


def questions(request: ModelRequest) -> list[str]:
    """What the user asked, the last question without the sources that the prompt has around it."""
    asked = [message.content for message in request.messages if _is_the_users(message)]
    return [*asked[:-1], request.question]


def said_since(request: ModelRequest) -> list[Scored]:
    """The cited statements of the agents since the last question, in the order they were said, each once."""
    found: list[Scored] = []
    for message in _since(request.messages):
        if message.role is Role.TOOL:
            continue
        pieces = iter(_CITATION.split(message.content))
        for text, sourcepage in zip(pieces, pieces, strict=False):
            one = read_statement(Statement(text.strip(), topic=None), sourcepage)
            if not any(says_the_same(one, other) for other in found):
                found.append(one)
    return found


def has_spoken(request: ModelRequest) -> bool:
    """Whether the agent that is asked has said something since the last question."""
    return any(message.role is Role.ASSISTANT and message.content for message in _since(request.messages))


def cited(one: Scored) -> str:
    """A statement with its citation."""
    text = one.statement.text
    return f"{text if _ENDS_ITSELF.search(text) else f'{text}.'} [{one.sourcepage}]"


def _since(messages: Sequence[Message]) -> Sequence[Message]:
    last = max((number for number, message in enumerate(messages) if _is_the_users(message)), default=-1)
    return messages[last + 1 :]


def _is_the_users(message: Message) -> bool:
    return message.role is Role.USER and message.author is None
