"""Finds the statements of the sources that answer a question: those that contain enough of its subject words.

Words are compared by the same terms as in retrieval (`shared.words.terms`), so a spelling that finds a passage also
matches its statements.
"""

import math
from collections.abc import Sequence
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
_MIN_COVERAGE = 0.55
"""Share of the question's words (by weight) that a statement must contain: more than one word of two."""
_MANY_WORDS = 2.5
"""Total weight of shared words from which `_MIN_COVERAGE_OF_MANY` is enough."""
_MIN_COVERAGE_OF_MANY = 0.35
"""Lower share for statements with many words of the question: long questions also contain words beside the subject."""
_MIN_RELATIVE_SCORE = 0.8
"""Share of the best statement's score that each further statement must reach."""
_MIN_OVERLAP = 0.6
"""A statement is a duplicate if its terms are a subset of another's and at least this share of them.

Passages overlap, so the same sentence can be found twice."""
_LOW_WEIGHT = 0.5
"""Weight of a word with many meanings, and of a German word in lower case (German nouns carry the subject)."""
_CONTEXT_FACTOR = 0.7
"""Factor for a word that is only in the heading or the lead of a statement."""
_COMPOUND_FACTOR = 0.8
"""Factor for a word of which the statement has only a compound, or only a part of the compound."""


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
    return [
        read_statement(statement, source.sourcepage, language)
        for source in sources
        for language in [likely_language(source.content)]
        for statement in statements_of(source.content)
    ]


def read_statement(statement: Statement, sourcepage: str, language: str) -> Scored:
    """Return a statement of a source with its terms, without a score."""
    context = f"{statement.topic or ''}\n{statement.lead}"
    return Scored(statement, sourcepage, language, _terms(statement.text, language), _terms(context, language))


def best_statements(question: str, statements: Sequence[Scored], known: Sequence[Scored] = ()) -> list[Scored]:
    """Choose the statements that answer the question, best first; empty if none has enough of its words.

    Args:
        question: The user's question.
        statements: The statements to choose from.
        known: Statements that were already made and are not repeated.
    """
    asked = _question_words(question, statements)
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

    exact: frozenset[str]
    """The index terms of the word."""
    compounds: frozenset[str]
    """Terms of the statements that are compounds of the word, or parts of it if it is a compound."""
    weight: float
    """1, or less for a word that says little about the subject."""
    rarity: float
    """Higher if fewer statements have the word, as inverse document frequency."""

    def match(self, terms: frozenset[str]) -> float:
        """Return how well `terms` contain the word, 0 to 1."""
        if not terms.isdisjoint(self.exact):
            return 1.0
        return 0.0 if terms.isdisjoint(self.compounds) else _COMPOUND_FACTOR


def _question_words(question: str, statements: Sequence[Scored]) -> list[_QuestionWord]:
    vocabulary = frozenset[str]().union(*(one.terms | one.context for one in statements))
    is_german = language_of(question[:_LONGEST_QUESTION]) == "de"
    languages = tuple(dict.fromkeys(one.language for one in statements))
    long_enough = [term for term in vocabulary if prefix_of((term,))]
    found: list[_QuestionWord] = []
    for spelling, (text, terms) in subject_words(question, languages).items():
        stem = terms[0] if is_character(terms[0]) else prefix_of(terms)
        others = vocabulary if is_character(terms[0]) else long_enough
        compounds = {term for term in others if stem and _is_compound(term, stem)}
        if stem and not vocabulary.isdisjoint(terms):  # the exact word occurs: do not match its parts alone
            compounds = {term for term in compounds if len(term) > len(stem)}
        every = compounds.union(terms)
        count = sum(not (one.terms.isdisjoint(every) and one.context.isdisjoint(every)) for one in statements)
        weight = _LOW_WEIGHT if spelling in LIGHT or (is_german and text[0].islower()) else 1.0
        rarity = math.log(1 + len(statements) / max(count, 1))
        found.append(_QuestionWord(frozenset(terms), frozenset(compounds), weight, rarity))
    return found


def _is_compound(one: str, other: str) -> bool:
    """Whether one term begins or ends with the other, as `Urlaubstage` and `Resturlaub` with `Urlaub`."""
    shorter, longer = sorted((one, other), key=len)
    return longer.startswith(shorter) or longer.endswith(shorter)


def _score(one: Scored, asked: Sequence[_QuestionWord]) -> Scored | None:
    """Return the statement with its score; None if it has too few of the question's words."""
    matches = [max(word.match(one.terms), _CONTEXT_FACTOR * word.match(one.context)) for word in asked]
    shared = sum(word.weight for word, match in zip(asked, matches, strict=True) if match)
    coverage = shared / sum(word.weight for word in asked)
    if coverage < (_MIN_COVERAGE_OF_MANY if shared >= _MANY_WORDS else _MIN_COVERAGE):
        return None
    weights = [word.weight * word.rarity for word in asked]
    return replace(one, score=math.sumprod(matches, weights) / sum(weights))


def is_duplicate(one: Scored, other: Scored) -> bool:
    """Whether two statements say the same: the terms of one are most of the other's, and no others."""
    fewer, more = sorted((one.terms, other.terms), key=len)
    return fewer <= more and len(fewer) >= _MIN_OVERLAP * len(more)


def _terms(text: str, language: str) -> frozenset[str]:
    return frozenset(term for terms in index_terms(text, language) for term in terms)
