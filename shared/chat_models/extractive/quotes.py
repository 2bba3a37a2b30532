"""Chooses statements to quote, each with what it needs to be understood alone."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from itertools import islice

from shared.chat_models.extractive.relevance import Scored, is_duplicate
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
_COLONS = (":", "：")
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


@dataclass(frozen=True, slots=True)
class Quote:
    """Statements of a source that are quoted together."""

    source: Sequence[Scored]
    """All statements of the source."""
    places: Sequence[int]
    """Which of them are quoted."""

    @property
    def sourcepage(self) -> str:
        """Source and page to cite."""
        return self.source[self.places[0]].sourcepage

    @property
    def statements(self) -> list[Scored]:
        """The statements that are quoted."""
        return [self.source[place] for place in self.places]


def best_quotes(
    sources: Sequence[Sequence[Scored]], known: Collection[Scored] = (), most: int = MOST_STATEMENTS
) -> list[Quote]:
    """Choose the statements that answer the question, and quote each with what it needs; the best first.

    Args:
        sources: The statements of each source, with their relevance.
        known: Statements that were already made and are not repeated.
        most: How many statements to choose at most.
    """
    ranked = sorted(
        (
            (one.score * _LATER**number, -number, -place)
            for number, source in enumerate(sources)
            for place, one in enumerate(source)
        ),
        reverse=True,
    )
    chosen: list[Scored] = []
    quotes: dict[tuple[int, int], set[int]] = {}
    for score, number, place in ranked:
        one = sources[-number][-place]
        if len(chosen) == most or not score or score < ranked[0][0] * _MIN_RELATIVE_SCORE:
            break
        if any(is_duplicate(one, other) for other in (*known, *chosen)) or _leads_nowhere(sources[-number], -place):
            continue
        chosen.append(one)
        places = needed(sources[-number], -place)
        shared = (key for key, others in quotes.items() if key[0] == number and not others.isdisjoint(places))
        quotes.setdefault(next(shared, (number, place)), set()).update(places)
    return [Quote(sources[-number], sorted(places)) for (number, _), places in quotes.items()]


def excerpt(sources: Sequence[Sequence[Scored]]) -> Quote:
    """Quote the best statement of all with as many around it as fit, the better ones first."""
    every = [
        (one.score * _LATER**number, -number, -place)
        for number, source in enumerate(sources)
        for place, one in enumerate(source)
    ]
    _, number, place = max(every)
    source, best = sources[-number], -place
    places = needed(source, best)
    while True:
        ends = [place for place in (min(places) - 1, max(places) + 1) if 0 <= place < len(source)]
        ends = [place for place in ends if _length(source, places | {place}) <= _LONGEST_QUOTE]
        if not ends:
            return Quote(source, sorted(places))
        places.add(max(ends, key=lambda place: (source[place].score, place)))


def needed(source: Sequence[Scored], place: int) -> set[int]:
    """The places of what a statement needs: its list with the lead, and the sentence before if it refers back."""
    places = {place}
    one = source[place].statement
    if one.lead or one.text.endswith(_COLONS):
        lead = one.lead or one.text
        if not any(other.statement.lead == lead for other in source):  # what it introduces is no list
            return places | set(range(place + 1, len(source))[:_INTRODUCED])
        places |= {
            number for number, other in enumerate(source) if lead in (other.statement.lead, other.statement.text)
        }
        if _length(source, places) > _LONGEST_QUOTE and one.lead:
            places = {place} | {number for number, other in enumerate(source) if other.statement.text == lead}
    first = min(places)
    while first and not one.is_item and points_back(source[first].statement.text):
        first -= 1
        if source[first].statement.label or _length(source, places | {first}) > _LONGEST_QUOTE:
            break
        places.add(first)
    return places


def _leads_nowhere(source: Sequence[Scored], place: int) -> bool:
    """Whether a statement introduces something that the source ends before."""
    return place == len(source) - 1 and source[place].statement.text.endswith(_COLONS)


def points_back(text: str) -> bool:
    """Whether a sentence begins with a word that stands for something said before, as `By doing this` does too."""
    first, *others = [*map(spelled, islice(words(text), _FIRST_WORDS)), ""]
    return first in _POINTS_BACK or not _DEMONSTRATIVE.isdisjoint(others)


def _length(source: Sequence[Scored], places: Collection[int]) -> int:
    return sum(len(source[place].statement.text) for place in places)
