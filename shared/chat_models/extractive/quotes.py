"""Chooses statements to quote, each with what it needs to be understood alone."""

import re
from collections.abc import Collection, Sequence
from itertools import islice

from shared.chat_models.extractive.relevance import is_duplicate
from shared.chat_models.extractive.sayings import POINTS_BACK
from shared.chat_models.extractive.statements import END_PUNCTUATION, Statement
from shared.citations import CITED
from shared.words.terms import spelled, words

MOST_STATEMENTS = 6
"""Maximum number of statements that an answer is made of, beside what these need."""
_FURTHER, _FURTHER_ROW = 4.0, 2.0
"""How far the score of a further statement may be below that of the best, and beside the row of a table."""
LONGEST_ANSWER = 460
"""Characters of an answer, some 75 words. A best statement that is longer is said whole."""
_WHOLE = 0.95
"""Share of the question from which a statement needs nothing that follows it."""
_SHORT_HEADING = 40
"""Characters of a heading that is said wherever others are quoted too."""
_FIRST_WORDS = 3
"""Words of a sentence that can point back to the one before it."""
_CLOSING = "\"'”“»)"
"""What can follow the punctuation that ends a statement."""
CITATION = re.compile(rf"(?<=[{re.escape(''.join((*END_PUNCTUATION, _CLOSING)))}]) {CITED}(?=\s|$)")
"""A citation after a statement, as `written` writes it."""

type Quote = Sequence[Statement]
"""Statements of a source that are quoted together, in reading order."""


def best_quotes(
    statements: Sequence[Statement],
    known: Collection[Statement] = (),
    most: int = MOST_STATEMENTS,
    size: int = LONGEST_ANSWER,
) -> list[Quote]:
    """Choose the statements that most likely answer the question, the best with what stands around it.

    What is `known` is not repeated. Statements that stand under the same heading are one quote, and the best comes
    first.
    """
    ranks = sorted(range(len(statements)), key=lambda place: -statements[place].score)
    best = statements[ranks[0]] if ranks else Statement("")
    least = best.score - (_FURTHER_ROW if best.label else _FURTHER)
    chosen: list[int] = []
    for place in ranks:
        one = statements[place]
        if len(chosen) >= most or one.score < least:
            break
        said = [statements[other] for other in chosen]
        if any(is_duplicate(one, other) for other in (*known, *said)) or (said and not _fit([*said, one], size)):
            continue
        before = None if chosen else _needed_before(statements, place)
        chosen += [place] if before is None or not _fit([statements[before], one], size) else [place, before]
    behind = chosen[0] + 1 if chosen and statements[chosen[0]].share < _WHOLE else len(statements)
    for place in range(behind, len(statements)):  # what follows the best may say of `it` what was asked
        one, said = statements[place], [statements[other] for other in {*chosen, place}]
        if (one.source, one.topic) != (best.source, best.topic) or one.label or not _fit(said, size):
            break
        chosen.append(place)
    quotes: dict[tuple[int, str | None], set[int]] = {}
    for place in chosen:
        quotes.setdefault((statements[place].source, statements[place].topic), set()).add(place)
    return [[statements[place] for place in sorted(quote)] for quote in quotes.values()]


def _needed_before(statements: Sequence[Statement], place: int) -> int | None:
    """Return the place of what a statement is not understood without: its list's lead, or what it points back to."""
    one = statements[place]
    points_back = not one.is_item and _points_back(one.text)
    here = (at for at in range(place - 1, -1, -1) if statements[at].source == one.source)
    return next((at for at in here if points_back or statements[at].text == one.lead), None)


def written(quotes: Collection[Quote]) -> str:
    """Write quotes one after the other, each with its citation, and with its heading where it needs this."""
    is_one = len({quote[0].topic for quote in quotes}) == 1
    texts = [_cited(quote, shortest=0 if is_one else _SHORT_HEADING) for quote in quotes]
    return ("\n\n" if any("\n" in text for text in texts) else " ").join(texts)


def _cited(quote: Quote, shortest: int) -> str:
    """Write a quote with its citation, such as `The plan pays 80 %. [plans.pdf#page=2]`."""
    first = quote[0]
    is_short = len(first.topic or "") <= shortest
    is_named = is_short or any(one.is_named for one in quote) or _points_back(first.text)
    text = f"{first.topic}:" if is_named and first.topic and first.topic not in first.text else ""
    for one in quote:
        text += "\n- " if one.is_item and one.lead and len(quote) > 1 else " "
        text += one.text if one.text.rstrip(_CLOSING).endswith(END_PUNCTUATION) else f"{one.text.rstrip(',')}."
    return f"{text.strip(' ')} [{first.sourcepage}]"


def _points_back(text: str) -> bool:
    """Whether a sentence begins with what stands for something said before, such as `It` or `By doing this`."""
    return not POINTS_BACK.isdisjoint(map(spelled, islice(words(text), _FIRST_WORDS)))


def _fit(statements: Collection[Statement], size: int) -> bool:
    return sum(len(one.text) for one in statements) <= size
