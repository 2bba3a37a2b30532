"""Chooses statements to quote, with their headings and what stands around the best one."""

import math
import re
from collections.abc import Collection, Sequence
from itertools import islice

from shared.chat_models.extractive.relevance import is_duplicate
from shared.chat_models.extractive.sayings import POINTS_BACK
from shared.chat_models.extractive.statements import END_PUNCTUATION, Statement
from shared.citations import CITED
from shared.words.terms import spelled, words

_FURTHER, _FURTHER_ROW = 3.0, 2.0
"""How far the score of a further statement may be below that of the best, and beside the row of a table."""
LONGEST_ANSWER = 75
"""Words of an answer. A best statement that is longer is said whole."""
_UNSPACED = r"\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff"
_WORD = re.compile(rf"[{_UNSPACED}]{{1,2}}|[^\W{_UNSPACED}][^\s{_UNSPACED}]*")
"""In scripts without spaces between words, two characters are one."""
_WHOLE, _FIRST_WORDS = 0.95, 3
"""Share of the question from which a statement is enough, and words that can point back to the one before it."""
_COST, _LEAST_WORDS = 0.5, 4
"""How much the logarithm of its words costs a further statement, and the words of the shortest sentence."""
_CLOSING = "\"'”“»)"
"""What can follow the punctuation that ends a statement."""
CITATION = re.compile(rf"(?<=[{re.escape(''.join((*END_PUNCTUATION, _CLOSING)))}]) {CITED}(?=\s|$)")
"""A citation after a statement, as `written` writes it."""

type Quote = Sequence[Statement]
"""Statements of a source that are quoted together, in reading order."""


def best_quotes(
    statements: Sequence[Statement], known: Collection[Statement] = (), size: int = LONGEST_ANSWER
) -> list[Quote]:
    """Choose the statements that most likely answer the question, the best with what stands around it.

    What is `known` is not repeated. Statements that stand under the same heading are one quote, and the best comes
    first.
    """
    best = max(statements, key=lambda one: one.score, default=Statement(""))
    least = best.score - (_FURTHER_ROW if best.label else _FURTHER)
    near = [place for place, one in enumerate(statements) if one.score >= least]
    near = [place for place in near if not any(is_duplicate(statements[place], one) for one in known)]
    if not near:
        return []
    first = max(near, key=lambda place: statements[place].score)
    chosen = [first]

    def fits(place: int) -> bool:
        return sum(_words_in(statements[one].text) for one in {*chosen, place}) <= size

    telling = (place for place in near if _says_something(statements[place]))
    for place in sorted(telling, key=lambda place: -_worth(statements[place])):
        is_new = not any(is_duplicate(statements[place], statements[other]) for other in chosen)
        if is_new and fits(place):
            chosen.append(place)
    steps = (1, -1) if not _says_all(best) else (-1,) if _points_back(best) else ()
    for step in () if known or best.label else steps:  # what stands beside the best may say of `it` what was asked
        place = first + step
        while 0 <= place < len(statements) and _is_beside(statements[place], statements[first]) and fits(place):
            chosen.append(place)
            place += step
    quotes: dict[tuple[int, str | None], set[int]] = {}
    for place in chosen:
        quotes.setdefault((statements[place].source, statements[place].topic), set()).add(place)
    return [[statements[place] for place in sorted(quote)] for quote in quotes.values()]


def written(quotes: Collection[Quote]) -> str:
    """Write quotes one after the other, each with its citation, and with its heading where it needs this."""
    is_one = len({quote[0].topic for quote in quotes}) == 1
    texts = [_cited(quote, is_plain=is_one and _says_all(quote[0])) for quote in quotes]
    return ("\n\n" if any("\n" in text for text in texts) else " ").join(texts)


def _cited(quote: Quote, *, is_plain: bool) -> str:
    """Write a quote with its citation, such as `The plan pays 80 %. [plans.pdf#page=2]`."""
    first = quote[0]
    text = f"{first.topic}:" if first.topic and first.topic not in first.text and not is_plain else ""
    for one in quote:
        text += "\n- " if one.is_item and one.lead and len(quote) > 1 else " "
        text += one.text if one.text.rstrip(_CLOSING).endswith(END_PUNCTUATION) else f"{one.text.rstrip(',')}."
    return f"{text.strip(' ')} [{first.sourcepage}]"


def _says_all(one: Statement) -> bool:
    return one.own >= _WHOLE and not one.introduces


def _points_back(one: Statement) -> bool:
    """Whether a sentence begins with what stands for something said before, such as `It` or `By doing this`."""
    return not POINTS_BACK.isdisjoint(map(spelled, islice(words(one.text), _FIRST_WORDS)))


def _says_something(one: Statement) -> bool:
    """Whether it is no rest of a layout, such as `of 4`."""
    return one.is_item or bool(one.label) or _words_in(one.text) >= _LEAST_WORDS


def _is_beside(one: Statement, best: Statement) -> bool:
    is_there = (one.source, one.topic) == (best.source, best.topic) and not one.label
    return is_there and (one.is_item or not best.is_item or one.text == best.lead)


def _worth(one: Statement) -> float:
    """Its score, less what its length costs: two short statements hold an answer more often than a long one."""
    return one.score - _COST * math.log(max(_words_in(one.text), _LEAST_WORDS))


def _words_in(text: str) -> int:
    return len(_WORD.findall(text))
