"""What is kept of an answer so that its reader can judge it: the question, the text and the sources that it cites."""

import re
from collections.abc import Iterable, Sequence

from shared.chat_types import ChatRequest, Role
from shared.citations import CITATION, citations_in
from shared.events import DataPoint
from shared.verdicts import KeptAnswer

_LONGEST_QUESTION = 4_000
_LONGEST_TEXT = 8_000
_MOST_SOURCES = 50
_LONGEST_NAME = 1_000
_MOST_STATEMENTS = 20
_LONGEST_STATEMENT = 500
_SHORTEST_STATEMENT = 3
"""Characters. What is longer is cut, or left out if a part of it would say something else."""
_BETWEEN_STATEMENTS = re.compile(r"\n+|(?<=[.!?])\s+|(?<=[。！？])")
_AROUND_STATEMENT = " \t-*•>#|\"“”„«»'"
"""Marks of Markdown and of quotations, which are no words of the source."""


def kept_answer(request: ChatRequest, text: str, points: Sequence[DataPoint]) -> KeptAnswer:
    """Make the record of an answer.

    Args:
        request: The request, with its chat.
        text: The whole answer; of a team, the messages of all agents.
        points: The sources that were found.
    """
    cited = dict.fromkeys(place[1] for place in citations_in(text))
    known = {point.sourcepage for point in points}
    sources = [name for name in cited if name in known and len(name) <= _LONGEST_NAME][:_MOST_SOURCES]
    texts = [point.text for point in points if point.sourcepage in sources]
    questions = [message for message in request.messages if message.role is Role.USER]
    return KeptAnswer(
        request.turn_id,
        request.question[:_LONGEST_QUESTION],
        text[:_LONGEST_TEXT],
        request.chat.name or "",
        tuple(sources),
        tuple(_statements(text[:_LONGEST_TEXT], texts))[:_MOST_STATEMENTS],
        alone=request.single_turn or (len(questions) == 1 and not questions[0].files and not request.steps),
    )


def _statements(text: str, sources: Iterable[str]) -> Iterable[str]:
    """Return the sentences and lines of an answer that stand in a source word for word, each once.

    The built-in model puts a heading and a colon before a sentence, and others a label: it counts without them too.
    """
    known = [_folded(source) for source in sources]
    lines = (piece.strip(_AROUND_STATEMENT) for piece in _BETWEEN_STATEMENTS.split(CITATION.sub("\n", text)))
    for line in dict.fromkeys(lines):
        for piece in (line, line.partition(": ")[2]):
            if _SHORTEST_STATEMENT <= len(piece) <= _LONGEST_STATEMENT and any(_folded(piece) in one for one in known):
                yield piece
                break


def _folded(text: str) -> str:
    return " ".join(text.split()).casefold()
