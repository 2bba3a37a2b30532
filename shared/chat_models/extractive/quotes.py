"""Chooses statements to quote, each with what it needs to be understood alone."""

import re
from collections.abc import Collection, Iterable, Sequence
from itertools import islice

from shared.chat_models.extractive.relevance import ENOUGH, WHOLE, is_duplicate
from shared.chat_models.extractive.sayings import POINTS_BACK
from shared.chat_models.extractive.statements import END_PUNCTUATION, Statement
from shared.citations import CITED
from shared.words.terms import spelled, words

MOST_STATEMENTS = 4
"""Maximum number of statements that an answer is made of."""
_MIN_RELATIVE_SCORE = 0.8
"""Share of the best statement's relevance that each further statement must reach."""
LONGEST_ANSWER = 450
"""Characters of an answer, some 75 words: of what it quotes, and of what is around its best statement. The row that has
the whole question is enough."""
_FIRST_WORDS = 3
"""Words of a sentence that can point back to the one before it."""
_LATER = 0.98
"""Factor for each source that was found before this one: the search ranks sources better than one sentence does."""
_LONGEST_QUOTE = 700
"""Characters that a statement can have with what it needs, where it does not answer a part of the question alone."""
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
    least: float = ENOUGH,
    size: int = LONGEST_ANSWER,
) -> list[Quote]:
    """Choose the statements that answer the question, and quote each with what it needs; the best first.

    What is `known` is not repeated. `least` is the relevance that the best one has to have.
    """
    chosen: list[Statement] = []
    quotes: list[set[int]] = []
    longest = size if size < LONGEST_ANSWER else _LONGEST_QUOTE
    ranks = [one.score * _LATER**one.source for one in statements]
    further = max(ranks, default=0.0) * _MIN_RELATIVE_SCORE
    is_enough = any(one.score >= least for one in statements)
    for place in sorted(range(len(ranks)), key=lambda place: -ranks[place]) if is_enough else ():
        one = statements[place]
        if len(chosen) == most or ranks[place] < further:
            break
        said = sum(len(statements[place].text) for quote in quotes for place in quote)
        if chosen and (said + len(one.text) > size or (chosen[0].label and chosen[0].share >= WHOLE)):
            continue
        leads_nowhere = one.introduces and all(other.lead != one.text for other in statements[place + 1 : place + 2])
        if (leads_nowhere and least == ENOUGH) or any(is_duplicate(one, other) for other in (*known, *chosen)):
            continue
        chosen.append(one)
        places = _needed(statements, place, longest)
        quotes.append(places)
        first = next(quote for quote in quotes if not quote.isdisjoint(places))
        if first is not places:
            first |= quotes.pop()
    if quotes and (longest == size or chosen[0].share < WHOLE) and not chosen[0].label:
        _fill(statements, quotes, size, longest)
    return [[statements[place] for place in sorted(quote)] for quote in quotes]


def _fill(statements: Sequence[Statement], quotes: Sequence[set[int]], size: int, longest: int) -> None:
    """Add what is around the first quote until all have `size` characters, and its last sentence is whole."""
    first = quotes[0]
    here = (statements[min(first)].source, statements[min(first)].topic, None)
    around = {place for place, one in enumerate(statements) if (one.source, one.topic, one.label) == here}
    around.difference_update(*quotes)
    while True:
        last = statements[max(first)]
        is_short = sum(len(statements[place].text) for quote in quotes for place in quote) < size
        is_cut = not (last.is_item or last.text.endswith(END_PUNCTUATION))
        ends = {min(first) - 1, max(first) + 1} if is_short else {max(first) + 1} if is_cut else set[int]()
        if not (ends := {end for end in ends & around if _fit(statements, {*first, end}, longest)}):
            return
        first.add(max(ends, key=lambda place: (statements[place].score, place)))


def _needed(statements: Sequence[Statement], place: int, longest: int) -> set[int]:
    """The places of what a statement needs: its list with the lead, and the sentence before if it refers back."""
    one = statements[place]
    source = [number for number, other in enumerate(statements) if other.source == one.source]
    places = {place}
    if lead := one.lead or (one.text if one.introduces else ""):
        heads = {number for number in source if statements[number].text == lead}
        places |= heads | {number for number in source if statements[number].lead == lead}
        if one.lead and not _fit(statements, places, longest):
            places = {place} | heads
    first = min(places)
    while first > source[0] and not one.is_item and _points_back(statements[first].text):
        first -= 1
        if statements[first].label or not _fit(statements, places | {first}, longest):
            break
        places.add(first)
    return places


def written(quotes: Collection[Quote], *, named: bool = False) -> str:
    """Write quotes one after the other, each with its citation; with their headings if these differ."""
    named = named or len({quote[0].topic for quote in quotes}) > 1
    texts = [_cited(quote, named=named) for quote in quotes]
    return ("\n\n" if any("\n" in text for text in texts) else " ").join(texts)


def _cited(quote: Quote, *, named: bool) -> str:
    """Write a quote with its citation, such as `The plan pays 80 %. [plans.pdf#page=2]`."""
    first = quote[0]
    named = named or _points_back(first.text)
    text = f"{first.topic}:" if named and first.topic and first.topic not in first.text else ""
    for one in quote:
        text += "\n- " if one.is_item and one.lead and len(quote) > 1 else " "
        text += one.text if one.text.rstrip(_CLOSING).endswith(END_PUNCTUATION) else f"{one.text}."
    return f"{text.strip(' ')} [{first.sourcepage}]"


def _points_back(text: str) -> bool:
    """Whether a sentence begins with what stands for something said before, such as `It` or `By doing this`."""
    return not POINTS_BACK.isdisjoint(map(spelled, islice(words(text), _FIRST_WORDS)))


def _fit(statements: Sequence[Statement], places: Iterable[int], longest: int) -> bool:
    return sum(len(statements[place].text) for place in places) <= longest
