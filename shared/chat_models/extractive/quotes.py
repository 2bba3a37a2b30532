"""Chooses statements to quote, each with what it needs to be understood alone."""

import re
from collections.abc import Collection, Iterable, Sequence
from itertools import islice

from shared.chat_models.extractive.relevance import ENOUGH, is_duplicate
from shared.chat_models.extractive.statements import END_PUNCTUATION, Statement
from shared.citations import CITED
from shared.words.terms import spelled, words

MOST_STATEMENTS = 4
"""Maximum number of statements that an answer is made of."""
_MIN_RELATIVE_SCORE = 0.7
"""Share of the best statement's relevance that each further statement must reach."""
_DEMONSTRATIVE = frozenset(
    "this these such dies diese dieser diesen cette ces estos estas esto isso essa essas questi queste".split()  # noqa: SIM905 (short)
)
"""Those of them that do so after other words too."""
_FIRST_WORDS = 4
"""Words of a sentence that are looked at for them."""
_INTRODUCED = 3
"""Statements after a colon that are quoted with it, where no list follows."""
_LATER = 0.98
"""Factor for each source that was found before: the search knows more than a sentence tells."""
_LONGEST_QUOTE = 700
"""Characters that a statement can have with what it needs."""
_POINTS_BACK = frozenset(
    map(
        spelled,
        words("""
this these that thats those such it its they them their he she his her both there then thus therefore hence however also
additionally moreover furthermore finally overall otherwise instead similarly likewise consequently accordingly
dies diese dieser dieses diesen das es er sie ihr ihre dabei damit dadurch dazu daher deshalb darüber danach dafür dort
außerdem zudem ferner jedoch auch solche solcher sonst
ce cet cette ces cela ceci il elle ils elles celui celle ainsi toutefois cependant enfin
este esta estos estas esto ese esa eso también además así él ella ellos ellas
isso isto esse essa ele ela eles elas também portanto assim tal tais
questo questa questi queste esso ciò inoltre quindi tuttavia
"""),
    )
)
"""First words of sentences that refer to the sentence before, in the languages that most documents here are in."""


_CLOSING = "\"'”“»)"
"""What can follow the punctuation that ends a statement."""
CITATION = re.compile(rf"(?<=[{re.escape(''.join((*END_PUNCTUATION, _CLOSING)))}]) {CITED}(?=\s|$)")
"""A citation after a statement, as `written` writes it."""

type Quote = Sequence[Statement]
"""Statements of a source that are quoted together, in reading order."""


def best_quotes(
    statements: Sequence[Statement], known: Collection[Statement] = (), most: int = MOST_STATEMENTS
) -> list[Quote]:
    """Choose the statements that answer the question, and quote each with what it needs; the best first.

    Args:
        statements: The statements of all sources, with their relevance.
        known: Statements that were already made and are not repeated.
        most: How many statements to choose at most.
    """
    chosen: list[Statement] = []
    quotes: list[set[int]] = []
    ranked = sorted(enumerate(statements), key=lambda one: -_rank(one[1]))
    enough = max((one.score for one in statements), default=0.0) >= ENOUGH
    for place, one in ranked if enough else ():
        if len(chosen) == most or not one.score or _rank(one) < _rank(ranked[0][1]) * _MIN_RELATIVE_SCORE:
            break
        if any(is_duplicate(one, other) for other in (*known, *chosen)) or _leads_nowhere(statements, place):
            continue
        chosen.append(one)
        places = _needed(statements, place)
        quotes.append(places)
        first = next(quote for quote in quotes if not quote.isdisjoint(places))
        if first is not places:
            first |= quotes.pop()
    return [[statements[place] for place in sorted(quote)] for quote in quotes]


def excerpt(statements: Sequence[Statement]) -> Quote:
    """Quote the best statement of all with as many around it as fit, the better ones first."""
    places = _needed(statements, max(range(len(statements)), key=lambda place: _rank(statements[place])))
    source = _source_of(statements, min(places))
    while ends := [
        end
        for end in (min(places) - 1, max(places) + 1)
        if end in source and _length(statements, places | {end}) <= _LONGEST_QUOTE
    ]:
        places.add(max(ends, key=lambda place: (statements[place].score, place)))
    return [statements[place] for place in sorted(places)]


def _needed(statements: Sequence[Statement], place: int) -> set[int]:
    """The places of what a statement needs: its list with the lead, and the sentence before if it refers back."""
    one, source = statements[place], _source_of(statements, place)
    places = {place}
    if lead := one.lead or (one.text if one.introduces else ""):
        heads = {number for number in source if statements[number].text == lead}
        items = {number for number in source if statements[number].lead == lead}
        if not items:  # what it introduces is no list
            return {number for number in range(place, place + 1 + _INTRODUCED) if number in source}
        places |= heads | items
        if one.lead and _length(statements, places) > _LONGEST_QUOTE:
            places = {place} | heads
    first = min(places)
    while first > source[0] and not one.is_item and _points_back(statements[first].text):
        first -= 1
        if statements[first].label or _length(statements, places | {first}) > _LONGEST_QUOTE:
            break
        places.add(first)
    return places


def written(quotes: Collection[Quote]) -> str:
    """Write quotes one after the other, each with its citation; with their headings if these differ."""
    named = len({quote[0].topic for quote in quotes}) > 1
    texts = [_cited(quote, named=named) for quote in quotes]
    return ("\n\n" if any("\n" in text for text in texts) else " ").join(texts)


def _cited(quote: Quote, *, named: bool) -> str:
    """Write a quote with its citation, such as `The plan pays 80 %. [plans.pdf#page=2]`."""
    first = quote[0]
    named = named or _points_back(first.text)
    text = f"{first.topic}:" if named and first.topic and first.topic not in first.text else ""
    for one in quote:
        text += "\n- " if one.lead and len(quote) > 1 else " "
        text += one.text if one.text.rstrip(_CLOSING).endswith(END_PUNCTUATION) else f"{one.text}."
    return f"{text.strip(' ')} [{first.sourcepage}]"


def _points_back(text: str) -> bool:
    """Whether a sentence begins with a word that stands for something said before, as `By doing this` does too."""
    first, *others = [*map(spelled, islice(words(text), _FIRST_WORDS)), ""]
    return first in _POINTS_BACK or not _DEMONSTRATIVE.isdisjoint(others)


def _rank(one: Statement) -> float:
    return one.score * _LATER**one.source


def _source_of(statements: Sequence[Statement], place: int) -> Sequence[int]:
    """The places of all statements of the source of one."""
    return [number for number, one in enumerate(statements) if one.source == statements[place].source]


def _leads_nowhere(statements: Sequence[Statement], place: int) -> bool:
    """Whether a statement introduces something that the source ends before."""
    return statements[place].introduces and place == _source_of(statements, place)[-1]


def _length(statements: Sequence[Statement], places: Iterable[int]) -> int:
    return sum(len(statements[place].text) for place in places)
