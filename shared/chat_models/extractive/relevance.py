"""Tells how far the statements of the sources answer a question, and how sure it is that they do.

Words are compared by the same terms as in retrieval (`shared.words.terms`), so a spelling that finds a passage also
matches its statements. What counts how much has been learned from questions whose answers are known: `weights.txt` has
the weights, and `python -m evaluation.fitting` fits them anew. A statement's score is their sum, so that the difference
of two scores is the logarithm of how much likelier one is to hold the answer (a conditional logit model). Of the best
one and its chance among the others, a logistic model tells whether it is an answer.
"""

import math
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from copy import replace
from pathlib import Path
from typing import NamedTuple

from shared.chat_models.extractive.statements import Statement, plain, statements_of
from shared.chat_types import Passage
from shared.retrieval import searched_name
from shared.words.stop_words import ASKING, COUNTING, NUMBERS, STOP_WORDS, is_abbreviation, language_of, likely_language
from shared.words.terms import (
    MOST_MISSPELT,
    ends_of,
    head_of,
    index_terms,
    is_character,
    one_letter_off,
    query_terms,
    spelled,
    words,
)

_LINES = Path(__file__).with_name("weights.txt").read_text(encoding="utf-8").splitlines()
WEIGHTS = {line.partition(": ")[0]: float(line.partition(": ")[2]) for line in _LINES if line and line[:2] != "//"}
"""The weights of a statement's features, and those of a decision, which begin with `sure`."""
LONGEST_QUESTION = 500
"""Characters of a question that are used, of its beginning and its end."""
_HEAD_FACTOR = 0.6
"""Factor for a word of which only the first letters are there, as of an inflection or a compound."""
_UNSEEN = 80
"""Passages without the word that are counted beside the sources, as the built-in index does."""
_OTHERS, _OTHERS_SHARE = 10, 0.5
"""Statements that are thought of beside those of the sources, since an index of one page has few others, and the share
of the question that each has."""
_MIN_OVERLAP = 0.6
"""Share of another's terms that a duplicate's are, at least. Passages overlap, so a sentence can be found twice."""
_GRAMMAR = re.compile("[\u3040-\u309f]+")
"""Hiragana: Japanese writes with it what asks, and endings."""


class SubjectWord(NamedTuple):
    """A word as a text has it, neither a stop word nor a question word, with its index terms."""

    text: str
    terms: tuple[str, ...]


type Asked = Sequence[tuple[SubjectWord, float]]
"""Subject words of a question, each with its share in what is asked."""


class Ranked(NamedTuple):
    """Statements with their scores, in reading order."""

    statements: Sequence[Statement]
    sure: float
    """How sure it is that the best ones hold the answer, as the logarithm of the odds: 0 is as likely as not."""


def subject_words(text: str, languages: Sequence[str] = ()) -> dict[str, SubjectWord]:
    """Return a text's subject words in order and without duplicates, keyed by their spelling without case.

    `languages` are those of the statements that the words are compared with; none: that of the text.
    """
    text = ends_of(text, LONGEST_QUESTION)
    own = language_of(text)
    dropped = ASKING | (STOP_WORDS[own] if own else STOP_WORDS["en"] | STOP_WORDS["de"])
    found: dict[str, SubjectWord] = {}
    for word, terms in query_terms(text, languages or (own or "en",)):
        key = spelled(word) if len(word) > 1 else terms[0]
        if (key not in dropped or is_abbreviation(word, text)) and not _GRAMMAR.fullmatch(key):
            found.setdefault(key, SubjectWord(word, terms))
    return found


def read_sources(sources: Iterable[Passage]) -> list[Statement]:
    """Return the statements of the sources in reading order, without scores."""
    found: list[Statement] = []
    for number, source in enumerate(sources):
        language = likely_language(source.content)
        around = _terms(" ".join(map(plain, source.path)), language)
        heading = plain(source.headings[-1]) if source.headings else None
        split = (replace(one, topic=one.topic or heading, source=number) for one in statements_of(source.whole))
        read = [read_statement(one, source.sourcepage, language, around) for one in split]
        name = _terms(searched_name(source.sourcefile), language)
        passage = name.union(*(one.terms | one.context for one in read))
        parts = [(_terms(part, language), close) for part, close in zip(source.parts, source.closeness, strict=False)]
        found += [replace(one, passage=passage, closeness=_closeness(one, parts)) for one in read]
    return found


def _closeness(one: Statement, parts: Sequence[tuple[frozenset[str], float]]) -> float:
    """How close the part is that has the statement, or most of it."""
    return max((close * len(one.terms & terms) / max(len(one.terms), 1) for terms, close in parts), default=0.0)


def read_statement(one: Statement, sourcepage: str, language: str, around: frozenset[str] = frozenset()) -> Statement:
    """Return a statement of a source with its terms, and those of what is around it."""
    heading = _terms(one.topic or "", language)
    context = around | heading | _terms(one.lead, language)
    terms = _terms(one.text, language)
    return replace(one, sourcepage=sourcepage, language=language, terms=terms, heading=heading, context=context)


def ranked(
    question: str, statements: Sequence[Statement], rarities: Mapping[str, float], earlier: Collection[str] = ()
) -> Ranked:
    """Score statements by how likely each is to hold the answer to a question.

    `rarities` are the inverse document frequencies of words in the index, by `spelled`; that of another word is made of
    the passages that have it. Words that are from `earlier` questions count a quarter.
    """
    asked = weighted(question, statements, rarities, earlier)
    features = statement_features(question, statements, asked) if asked else ()
    each = zip(statements, features, strict=False)
    found = [replace(one, own=_share(one.terms, asked), share=of["share"], score=_weigh(of)) for one, of in each]
    sure = WEIGHTS["sure"] + _weigh(decision_features(found, asked)) if found else -math.inf
    return Ranked(found, sure)


def _weigh(features: Mapping[str, float]) -> float:
    return sum(WEIGHTS[name] * value for name, value in features.items())


def weighted(
    question: str, statements: Sequence[Statement], rarities: Mapping[str, float], earlier: Collection[str] = ()
) -> Asked:
    """The subject words of a question, with the terms that the statements have for them."""
    languages = tuple(dict.fromkeys(one.language for one in statements))
    passages = {one.passage for one in statements}
    asked: list[tuple[SubjectWord, float]] = []
    every, tries = frozenset[str]().union(*passages), MOST_MISSPELT
    for word in subject_words(question, languages).values():
        terms = word.terms
        if tries and every.isdisjoint(terms):  # a typing error, which the search has found as well
            near = (term for _, terms_of in one_letter_off(word.text, languages) for term in terms_of)
            tries, terms = tries - 1, tuple(every.intersection(near)) or terms
        count = sum(not passage.isdisjoint(terms) for passage in passages)
        rarity = rarities.get(spelled(word.text), math.log((len(passages) + _UNSEEN) / (count + 0.5)))
        asked.append((SubjectWord(word.text, terms), rarity / 4 if spelled(word.text) in earlier else rarity))
    total = sum(weight for _, weight in asked)
    return [(word, weight / total) for word, weight in asked] if total else []


def statement_features(question: str, statements: Sequence[Statement], asked: Asked) -> Iterator[dict[str, float]]:
    """Yield what tells of each statement whether it holds the answer, as `weights.txt` describes it."""
    counts = not COUNTING.isdisjoint(map(spelled, words(ends_of(question, LONGEST_QUESTION))))
    shares = [share for _, share in asked]
    # A section that a text refers to is not the one that it stands in.
    own = [
        [_presence(word, one.terms) * (_HEAD_FACTOR if word.text[0] == "§" else 1) for word, _ in asked]
        for one in statements
    ]
    for place, one in enumerate(statements):
        near = [at for at in (place - 1, place + 1) if 0 <= at < len(own) and statements[at].source == one.source]
        held = [max(there, _presence(word, one.context)) for there, (word, _) in zip(own[place], asked, strict=True)]
        wide = map(max, held, *(own[at] for at in near)) if near else held
        yield {
            "share": (share := math.sumprod(held, shares)),
            "heading": _share(one.heading, asked),
            "around": math.sumprod(wide, shares) - share,
            "closeness": one.closeness,
            "rank": math.log1p(one.source),
            "number": float(counts and _has_number(one.text)),
            "introduces": float(one.introduces),
        }


def decision_features(statements: Sequence[Statement], asked: Asked) -> dict[str, float]:
    """Return what tells whether the best of some statements is an answer, as `weights.txt` describes it."""
    best = max(statements, key=lambda one: one.score)
    other = _weigh({"share": _OTHERS_SHARE, "closeness": min(one.closeness for one in statements)})
    scores = [*(one.score for one in statements), *[other] * _OTHERS]
    return {
        "sure words": best.share * min(len(asked), 8),
        "sure closeness": best.closeness,
        "sure length": min(len(best.text) / 300, 3),
        "sure vectors": float(any(one.closeness for one in statements)),
        "sure chance": -math.log(sum(math.exp(score - best.score) for score in scores)),
    }


def _has_number(text: str) -> bool:
    return any(map(str.isdigit, text)) or not NUMBERS.isdisjoint(map(spelled, words(text)))


def _share(terms: frozenset[str], asked: Asked) -> float:
    return math.fsum(_presence(word, terms) * share for word, share in asked)


def _presence(word: SubjectWord, terms: frozenset[str]) -> float:
    if not terms.isdisjoint(word.terms):
        return 1.0
    return _HEAD_FACTOR if not is_character(word.text[0]) and head_of(word.text) in terms else 0.0


def is_duplicate(one: Statement, other: Statement) -> bool:
    """Whether two statements say the same: the terms of one are most of the other's, and no others."""
    fewer, more = sorted((one.terms, other.terms), key=len)
    return fewer <= more and len(fewer) >= _MIN_OVERLAP * len(more)


def _terms(text: str, language: str) -> frozenset[str]:
    return frozenset(term for terms in index_terms(text, language, heads=True) for term in terms)
