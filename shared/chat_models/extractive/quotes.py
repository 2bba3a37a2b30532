"""Chooses statements to quote, each with what it needs to be understood alone."""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
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
    """Choose the statements that most likely answer the question, and quote each with what it needs; the best first.

    What is `known` is not repeated. Statements that stand under the same heading are one quote.
    """
    chosen: list[Statement] = []
    quotes: dict[tuple[int, str | None], set[int]] = {}
    ranks = sorted(range(len(statements)), key=lambda place: -statements[place].score)
    best = statements[ranks[0]] if ranks else Statement("")
    for place in ranks:
        one = statements[place]
        if len(chosen) == most or one.score < best.score - (_FURTHER_ROW if best.label else _FURTHER):
            break
        if any(is_duplicate(one, other) for other in (*known, *chosen)):
            continue
        said = set[int]().union(*quotes.values())
        places = next((new for new in _needed(statements, place) if _fit(statements, said | new, size)), {place})
        if chosen and not _fit(statements, said | places, size):
            continue
        chosen.append(one)
        quotes.setdefault((one.source, one.topic), set()).update(places)
    if chosen and chosen[0].share < _WHOLE and not chosen[0].label:
        _continue(statements, quotes, (chosen[0].source, chosen[0].topic), size)
    return [[statements[place] for place in sorted(quote)] for quote in quotes.values()]


def _continue(
    statements: Sequence[Statement],
    quotes: Mapping[tuple[int, str | None], set[int]],
    here: tuple[int, str | None],
    size: int,
) -> None:
    """Add what follows the best quote under its heading, while there is room: it may say of `it` what was asked."""
    for place in range(max(quotes[here]) + 1, len(statements)):
        one, said = statements[place], set[int]().union(*quotes.values())
        if (one.source, one.topic) != here or one.label or not _fit(statements, said | {place}, size):
            return
        quotes[here].add(place)


def _needed(statements: Sequence[Statement], place: int) -> Iterator[set[int]]:
    """Yield the places of what a statement needs, the most first: its list and lead, what it refers back to."""
    one = statements[place]
    source = [number for number, other in enumerate(statements) if other.source == one.source]
    if lead := one.lead or (one.text if one.introduces else ""):
        heads = {number for number in source if statements[number].text == lead}
        yield {place} | heads | {number for number in source if statements[number].lead == lead}
        yield {place} | heads
    first = place
    while not one.is_item and first > source[0] and _points_back(statements[first].text):
        first -= 1
    yield from (set(range(begin, place + 1)) for begin in range(first, place))


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


def _fit(statements: Sequence[Statement], places: Iterable[int], size: int) -> bool:
    return sum(len(statements[place].text) for place in places) <= size
