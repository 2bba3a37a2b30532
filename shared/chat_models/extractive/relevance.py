"""Finds the statements of the sources that answer a question: those that contain enough of its subject words.

Words are compared by the same terms as in retrieval (`shared.words.terms`), so a spelling that finds a passage also
matches its statements.
"""

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import NamedTuple

from shared.chat_models.extractive.statements import Statement, statements_of
from shared.chat_types import Passage
from shared.words.stop_words import ASKING, LIGHT, STOP_WORDS, language_of, likely_language
from shared.words.terms import index_terms, is_character, prefix_of, query_terms, spelled

MOST_STATEMENTS = 4
"""Maximum number of statements in an answer."""
_MOST_ADDED_STATEMENTS = 2
"""Maximum number of statements in an answer that adds to those of other agents."""
_LONGEST_QUESTION = 10_000
"""Characters of a question that are read."""
_MOST_QUESTION_WORDS = 64
"""Maximum number of subject words that are used of a question."""
_ENOUGH = 0.485
"""Share of the question's words, by weight, that a statement must contain."""
_ENOUGH_BY_SCRIPT = (
    (re.compile("[\u3005-\u3007\u3040-\u309f\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]"), 0.26),
    (re.compile("[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff]"), 0.38),
)
"""The share for pairs of characters: every second one is of two words. It is more in Thai, Lao, Burmese and Khmer, as
their letters are few, so that most texts have most pairs."""
_ENOUGH_BY_LANGUAGE = {
    **dict.fromkeys(("ar", "cs", "da", "de", "el", "et", "eu", "fa", "fi", "ga", "hi", "hu", "hy", "lt"), 0.43),
    **dict.fromkeys(("ne", "no", "pl", "ru", "sr", "sv", "ta", "tr", "uk"), 0.43),
    "vi": 0.52,
}
"""The share where words have many forms or are compounds, some of which no stemmer brings together; and where they are
written syllable by syllable: of these, too, most texts have many."""
_WITHOUT_RARITIES = 0.85
"""Factor for these shares where the index gives no rarities: those among a few statements are rough."""
_MANY_WORDS, _MANY_FACTOR = 4, 0.7
"""Words of the question in a statement from which a lower share is enough: a long question tells more than it asks."""
_MIN_RELATIVE_SCORE = 0.8
"""Share of the best statement's score that each further statement must reach."""
_MIN_OVERLAP = 0.6
"""A statement is a duplicate if its terms are a subset of another's and at least this share of them.

Passages overlap, so the same sentence can be found twice."""
_LOW_WEIGHT = 0.5
"""Factor for a word with many meanings."""
_PASSAGE_FACTOR = 0.4
"""Factor for a word that is only elsewhere in the passage, which may name what the statement calls `it`."""


@dataclass(frozen=True, slots=True)
class Scored:
    """A statement with its source and its score."""

    statement: Statement
    sourcepage: str
    """Source and page to cite."""
    language: str
    """The language of its source."""
    terms: frozenset[str]
    """The terms of its own text."""
    context: frozenset[str]
    """The terms of its heading and lead."""
    passage: frozenset[str] = frozenset()
    """The terms of the whole passage that it is from."""
    score: float = 0.0
    """0 to 1: share of the question's words in the statement, by weight."""


class SubjectWord(NamedTuple):
    """A word of a text that is neither a stop word nor a question word."""

    text: str
    """The word as it is written in the text."""
    terms: tuple[str, ...]
    """The index terms of the word."""


def subject_words(text: str, languages: Sequence[str] = ()) -> dict[str, SubjectWord]:
    """Return a text's subject words in order and without duplicates, keyed by their spelling without case.

    Args:
        text: The text.
        languages: The languages of the statements that the words are compared with; none: that of the text.
    """
    text = text[:_LONGEST_QUESTION]
    own = language_of(text)
    found: dict[str, SubjectWord] = {}
    for word, terms in query_terms(text, languages or (own or "en",)):
        found.setdefault(spelled(word) if len(word) > 1 else terms[0], SubjectWord(word, terms))
    dropped = ASKING | (STOP_WORDS[own] if own else STOP_WORDS["en"] | STOP_WORDS["de"])
    kept = ((spelling, word) for spelling, word in found.items() if spelling not in dropped)
    return dict(islice(kept, _MOST_QUESTION_WORDS))


def read_sources(sources: Sequence[Passage]) -> list[Scored]:
    """Return all statements of the sources in reading order, without scores."""
    found: list[Scored] = []
    for source in sources:
        language = likely_language(source.content)
        read = [read_statement(one, source.sourcepage, language) for one in statements_of(source.content)]
        passage = frozenset[str]().union(*(one.terms | one.context for one in read))
        found += [replace(one, passage=passage) for one in read]
    return found


def read_statement(statement: Statement, sourcepage: str, language: str) -> Scored:
    """Return a statement of a source with its terms, without a score."""
    context = f"{statement.topic or ''}\n{statement.lead}"
    return Scored(statement, sourcepage, language, _terms(statement.text, language), _terms(context, language))


def best_statements(
    question: str, statements: Sequence[Scored], rarities: Mapping[str, float], known: Sequence[Scored] = ()
) -> list[Scored]:
    """Choose the statements that answer the question, best first; empty if none has enough of its words.

    Args:
        question: The user's question.
        statements: The statements to choose from.
        rarities: Inverse document frequencies of words in the index, by `spelled`. That of a word that is not there is
            made of the statements that have it.
        known: Statements that were already made and are not repeated.
    """
    asked = _question_words(question, statements, rarities)
    if not asked:
        return []
    new = [one for one in statements if not any(is_duplicate(one, other) for other in known)]
    relevant = [scored for one in new if (scored := _score(one, asked))]
    relevant.sort(key=lambda one: -one.score)
    most = _MOST_ADDED_STATEMENTS if known else MOST_STATEMENTS
    chosen: list[Scored] = []
    for scored in relevant:
        if len(chosen) == most or scored.score < relevant[0].score * _MIN_RELATIVE_SCORE:
            break
        if not any(is_duplicate(scored, other) for other in chosen):
            chosen.append(scored)
    return chosen


@dataclass(frozen=True, slots=True)
class _QuestionWord:
    """A word of the question."""

    terms: frozenset[str]
    """The index terms of the word, and terms of the statements that are compounds of it, or parts of it if it is a
    compound."""
    weight: float
    """How much it tells: higher if fewer texts have the word, as inverse document frequency."""
    enough: float
    """The share of such words that a statement must contain, 0 to 1."""
    is_whole: bool
    """Whether it is a word, not a pair of characters or a syllable."""


def _question_words(question: str, statements: Sequence[Scored], rarities: Mapping[str, float]) -> list[_QuestionWord]:
    vocabulary = frozenset[str]().union(*(one.terms | one.context for one in statements))
    usual = _ENOUGH_BY_LANGUAGE.get(language_of(question[:_LONGEST_QUESTION]) or "", _ENOUGH)
    languages = tuple(dict.fromkeys(one.language for one in statements))
    long_enough = [term for term in vocabulary if prefix_of((term,))]
    found: list[_QuestionWord] = []
    for spelling, (text, terms) in subject_words(question, languages).items():
        stem = terms[0] if is_character(terms[0]) else prefix_of(terms)
        others = vocabulary if is_character(terms[0]) else long_enough
        compounds = frozenset(term for term in others if stem and _is_compound(term, stem))
        if stem and not vocabulary.isdisjoint(terms):  # the exact word occurs: do not match its parts alone
            compounds = frozenset(term for term in compounds if len(term) > len(stem))
        every = compounds.union(terms)
        count = sum(not (one.terms.isdisjoint(every) and one.context.isdisjoint(every)) for one in statements)
        rarity = rarities.get(spelled(text), math.log(1 + len(statements) / (count or 0.5)))
        weight = rarity * (_LOW_WEIGHT if spelling in LIGHT else 1.0)
        of_script = next((share for script, share in _ENOUGH_BY_SCRIPT if script.match(text)), None)
        enough = (of_script or usual) * (1 if rarities else _WITHOUT_RARITIES)
        found.append(_QuestionWord(every, weight, enough, is_whole=not of_script and usual <= _ENOUGH))
    return found


def _is_compound(one: str, other: str) -> bool:
    """Whether one term begins or ends with the other, as `Urlaubstage` and `Resturlaub` with `Urlaub`."""
    shorter, longer = sorted((one, other), key=len)
    return longer.startswith(shorter) or longer.endswith(shorter)


def _score(one: Scored, asked: Sequence[_QuestionWord]) -> Scored | None:
    """Return the statement with its score; None if it has too few of the question's words."""
    score = needed = 0.0
    many = 0
    for word in asked:
        if not word.terms.isdisjoint(one.terms):
            score += word.weight
            many += word.is_whole
        elif not word.terms.isdisjoint(one.context):
            score += word.weight
        elif not word.terms.isdisjoint(one.passage):
            score += word.weight * _PASSAGE_FACTOR
        needed += word.weight * word.enough
    if many >= _MANY_WORDS:
        needed *= _MANY_FACTOR
    if score < needed:
        return None
    return replace(one, score=score / sum(word.weight for word in asked))


def is_duplicate(one: Scored, other: Scored) -> bool:
    """Whether two statements say the same: the terms of one are most of the other's, and no others."""
    fewer, more = sorted((one.terms, other.terms), key=len)
    return fewer <= more and len(fewer) >= _MIN_OVERLAP * len(more)


def _terms(text: str, language: str) -> frozenset[str]:
    return frozenset(term for terms in index_terms(text, language) for term in terms)
