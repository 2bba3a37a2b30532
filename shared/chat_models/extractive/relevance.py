"""Which statements of the sources answer a question: those that share enough of its telling words.

Words are compared as retrieval does (`retrieval.terms`), so what was found for a spelling is also recognised by it.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import NamedTuple

from shared.chat_models.extractive.statements import Statement, statements_of
from shared.chat_types import Passage
from shared.words.stop_words import ASKING, LIGHT, Language, languages_of, stop_words
from shared.words.terms import fold, index_terms, prefix_of, query_terms, words

MOST_STATEMENTS, _MOST_ADDED = 4, 2
"""In an answer, and in one that adds to others."""
_LONGEST_QUESTION = 10_000
"""Characters that are read of a question."""
_MOST_QUESTION_WORDS = 64
_ENOUGH = 0.55
"""The part of the question that a statement must have to be taken for an answer: more than one word of two."""
_MANY, _ENOUGH_OF_MANY = 2.5, 0.35
"""The same when it has so many words of it, as long questions tell a story around their point."""
_NEARLY_AS_GOOD = 0.8
"""A further statement must reach this part of the best one's score."""
_SAME = 0.6
"""A statement with this part of another's words, and no others, says the same; passages overlap."""
_LIGHT = 0.5
"""What a word of many uses weighs, and a German word without a capital: there the nouns carry the subject."""
_FROM_CONTEXT = 0.7
"""What a word counts when only the heading or the lead of a statement has it."""
_FROM_COMPOUND = 0.8
"""What a word counts when the statement has a compound of it, or a part of the compound that it is."""


@dataclass(frozen=True, slots=True)
class Scored:
    """A statement, where it is from, and how well it answers."""

    statement: Statement
    sourcepage: str
    """What to cite."""
    terms: frozenset[str]
    """The terms of its own text."""
    context: frozenset[str]
    """The terms of its heading and lead."""
    score: float = 0.0
    """0 to 1: the part of the question's words that it has, by weight."""


def language_of(text: str) -> Language:
    """The language to answer in: German or English, which is also the answer where it is neither."""
    languages = languages_of(fold(word) for word in words(text[:_LONGEST_QUESTION]))
    if len(languages) == 1:
        return languages[0]
    return "de" if set("äöüß") & set(text.lower()) else "en"


class TellingWord(NamedTuple):
    """A word that carries a text's subject."""

    text: str
    """As it stands there."""
    terms: tuple[str, ...]
    """The terms that stand for it."""


def telling_words(text: str) -> dict[str, TellingWord]:
    """The words of a text that carry its subject, in order, each once, by their folded form."""
    found: dict[str, TellingWord] = {}
    for word, terms in query_terms(text[:_LONGEST_QUESTION]):
        found.setdefault(fold(word) if len(word) > 1 else terms[0], TellingWord(word, terms))
    dropped = stop_words(languages_of(found) or ("en", "de")) | ASKING
    kept = ((folded, word) for folded, word in found.items() if folded not in dropped)
    return dict(islice(kept, _MOST_QUESTION_WORDS))


def read_sources(sources: Sequence[Passage]) -> list[Scored]:
    """All statements of the sources, in reading order, not scored yet."""
    return [
        read_statement(statement, source.sourcepage)
        for source in sources
        for statement in statements_of(source.content)
    ]


def read_statement(statement: Statement, sourcepage: str) -> Scored:
    """A statement of a source, not scored yet."""
    context = f"{statement.topic or ''}\n{statement.lead}"
    return Scored(statement, sourcepage, _terms(statement.text), _terms(context))


def best_statements(question: str, statements: Sequence[Scored], known: Sequence[Scored] = ()) -> list[Scored]:
    """The few statements that answer the question, best first; none when none has enough of its words.

    Args:
        question: What was asked.
        statements: Those to choose from.
        known: What need not be said again.
    """
    asked = _asked(question, statements)
    if not asked:
        return []
    new = [one for one in statements if not any(says_the_same(one, other) for other in known)]
    relevant = [scored for one in new if (scored := _score(one, asked))]
    relevant.sort(key=lambda one: -one.score)
    most = _MOST_ADDED if known else MOST_STATEMENTS
    chosen: list[Scored] = []
    for scored in relevant:
        if len(chosen) == most or scored.score < relevant[0].score * _NEARLY_AS_GOOD:
            break
        if not any(says_the_same(scored, other) for other in chosen):
            chosen.append(scored)
    return chosen


@dataclass(frozen=True, slots=True)
class _Asked:
    """A word of the question."""

    exact: frozenset[str]
    """The terms that stand for it."""
    compounds: frozenset[str]
    """Terms of the statements that are a compound of it, or a part of the compound that it is."""
    share: float
    """Its part in what the question is about: 1, and less for a word that says little."""
    rarity: float
    """How much it tells statements apart: the fewer have it, the more."""

    def match(self, terms: frozenset[str]) -> float:
        """How well it is among `terms`, 0 to 1."""
        if not terms.isdisjoint(self.exact):
            return 1.0
        return 0.0 if terms.isdisjoint(self.compounds) else _FROM_COMPOUND


def _asked(question: str, statements: Sequence[Scored]) -> list[_Asked]:
    vocabulary = frozenset[str]().union(*(one.terms | one.context for one in statements))
    is_german = languages_of(fold(word) for word in words(question[:_LONGEST_QUESTION])) == ("de",)
    long_enough = [term for term in vocabulary if prefix_of((term,))]
    found: list[_Asked] = []
    for folded, (text, terms) in telling_words(question).items():
        begins = prefix_of(terms)
        compounds = {term for term in long_enough if begins and _is_compound(term, begins)}
        if begins and not vocabulary.isdisjoint(terms):  # the very word is there: its parts alone are something else
            compounds = {term for term in compounds if len(term) > len(begins)}
        every = compounds.union(terms)
        count = sum(not (one.terms.isdisjoint(every) and one.context.isdisjoint(every)) for one in statements)
        share = _LIGHT if folded in LIGHT or (is_german and text[0].islower()) else 1.0
        rarity = math.log(1 + len(statements) / max(count, 1))
        found.append(_Asked(frozenset(terms), frozenset(compounds), share, rarity))
    return found


def _is_compound(one: str, other: str) -> bool:
    """Whether one of the terms begins or ends with the other, as `Urlaubstage` and `Resturlaub` do with `Urlaub`."""
    shorter, longer = sorted((one, other), key=len)
    return longer.startswith(shorter) or longer.endswith(shorter)


def _score(one: Scored, asked: Sequence[_Asked]) -> Scored | None:
    """The statement with its score; None when it has too little of the question to be an answer."""
    matches = [max(word.match(one.terms), _FROM_CONTEXT * word.match(one.context)) for word in asked]
    shared = sum(word.share for word, match in zip(asked, matches, strict=True) if match)
    coverage = shared / sum(word.share for word in asked)
    if coverage < (_ENOUGH_OF_MANY if shared >= _MANY else _ENOUGH):
        return None
    weights = [word.share * word.rarity for word in asked]
    return replace(one, score=math.sumprod(matches, weights) / sum(weights))


def says_the_same(one: Scored, other: Scored) -> bool:
    """Whether one of two statements makes the other needless."""
    fewer, more = sorted((one.terms, other.terms), key=len)
    return fewer <= more and len(fewer) >= _SAME * len(more)


def _terms(text: str) -> frozenset[str]:
    return frozenset(term for terms in index_terms(text) for term in terms)
