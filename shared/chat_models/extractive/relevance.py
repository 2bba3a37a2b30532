"""Tells how far the statements of the sources answer a question: by how many of its words they hold.

Words are compared by the same terms as in retrieval (`shared.words.terms`), so a spelling that finds a passage also
matches its statements.
"""

import math
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from copy import replace
from itertools import islice
from typing import NamedTuple

from shared.chat_models.extractive.statements import Statement, plain, statements_of
from shared.chat_types import Passage
from shared.retrieval import words_in_name
from shared.words.stop_words import ASKING, LIGHT, STOP_WORDS, is_abbreviation, language_of, likely_language
from shared.words.terms import MOST_MISSPELT, head_of, index_terms, is_character, one_letter_off, query_terms, spelled

ENOUGH = 0.5
"""Relevance from which a statement is an answer."""
ALMOST = 0.45
"""The most relevance of a statement that lacks what matters most, and of any where too many are as relevant."""
_MOST_SECTIONS, _AS_RELEVANT = 3, 0.97
"""Sections that the best statements of an answer are from, at most, and the share of the best one's relevance that
counts as the same: what more of them say is their subject, and not an answer."""
_LONGEST_QUESTION = 10_000
"""Characters of a question that are read."""
_MOST_QUESTION_WORDS = 64
"""Maximum number of subject words that are used of a question."""
_LOW_WEIGHT = 0.5
"""Factor for a word with many meanings."""
_HEAD_FACTOR = 0.6
"""Factor for a word of which only the first letters are there, as of an inflection or a compound."""
_PASSAGE_FACTOR = 0.4
"""Factor for a word that is only elsewhere in the passage, which may name what the statement calls `it`."""
_HEAVIER = 1.4
"""How much heavier than any that it has is a word that its passage lacks, if a statement is about something else."""
_UNSEEN = 80
"""Passages without the word that are counted beside the sources, as the built-in index does."""
WHOLE = 0.95
"""Share of the question from which a statement counts as having all of it, which is always enough."""
_OF_ALL, _OF_A_PART = (0.15, 0.5), (0.6, 0.8)
"""What the share of the question counts beside closeness, and the sum of both that is an answer: to the question that
closeness is known for, and to a part of it."""
_MIN_OVERLAP = 0.6
"""Share of another's terms that a duplicate's are, at least. Passages overlap, so a sentence can be found twice."""
_GRAMMAR = re.compile("[\u3040-\u309f]+")
"""Hiragana: Japanese writes with it what asks, and endings."""


class SubjectWord(NamedTuple):
    """A word as a text has it, neither a stop word nor a question word, with its index terms."""

    text: str
    terms: tuple[str, ...]


def subject_words(text: str, languages: Sequence[str] = ()) -> dict[str, SubjectWord]:
    """Return a text's subject words in order and without duplicates, keyed by their spelling without case.

    `languages` are those of the statements that the words are compared with; none: that of the text.
    """
    text = text[:_LONGEST_QUESTION]
    own = language_of(text)
    dropped = ASKING | (STOP_WORDS[own] if own else STOP_WORDS["en"] | STOP_WORDS["de"])
    found: dict[str, SubjectWord] = {}
    for word, terms in query_terms(text, languages or (own or "en",)):
        key = spelled(word) if len(word) > 1 else terms[0]
        if (key not in dropped or is_abbreviation(word, text)) and not _GRAMMAR.fullmatch(key):
            found.setdefault(key, SubjectWord(word, terms))
    return dict(islice(found.items(), _MOST_QUESTION_WORDS))


def read_sources(sources: Iterable[Passage]) -> list[Statement]:
    """Return the statements of the sources in reading order, without scores."""
    found: list[Statement] = []
    for number, source in enumerate(sources):
        language = likely_language(source.content)
        around = _terms(" ".join(map(plain, source.path)), language)
        heading = plain(source.headings[-1]) if source.headings else None
        split = (replace(one, topic=one.topic or heading, source=number) for one in statements_of(source.whole))
        read = [read_statement(one, source.sourcepage, language, around) for one in split]
        name = _terms(words_in_name(source.sourcefile), language)
        passage = name.union(*(one.terms | one.context for one in read))
        parts = [(_terms(part, language), close) for part, close in zip(source.parts, source.closeness, strict=False)]
        found += [replace(one, passage=passage, closeness=_closeness(one, parts)) for one in read]
    return found


def _closeness(one: Statement, parts: Sequence[tuple[frozenset[str], float]]) -> float:
    """How close the part is that has the statement, or most of it."""
    return max((close * len(one.terms & terms) / max(len(one.terms), 1) for terms, close in parts), default=0.0)


def read_statement(one: Statement, sourcepage: str, language: str, around: frozenset[str] = frozenset()) -> Statement:
    """Return a statement of a source with its terms, and those of what is around it."""
    context = around | _terms(f"{one.topic or ''}\n{one.lead}", language)
    terms = _terms(one.text, language)
    return replace(one, sourcepage=sourcepage, language=language, terms=terms, context=context)


def scored(
    question: str,
    statements: Sequence[Statement],
    rarities: Mapping[str, float],
    light: Collection[str] = LIGHT,
    *,
    is_part: bool = False,
) -> list[Statement]:
    """Give statements their relevance to a question: the share of its words that they hold, by rarity.

    `rarities` are the inverse document frequencies of words in the index, by `spelled`; that of another word is made of
    the passages that have it. Words in `light` say less of the question's subject than others.
    """
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
        weight = rarity * (_LOW_WEIGHT if spelled(word.text) in light else 1)
        asked.append((SubjectWord(word.text, terms), weight))
    total = sum(weight for _, weight in asked)
    is_exact = any(word.text[0] == "§" for word, _ in asked)
    if not total:
        return list(statements)
    said = frozenset[str]().union(*(_terms(question, language) for language in languages))
    found: list[Statement] = []
    for one in statements:
        held = [(_presence(word, one), weight) for word, weight in asked]
        share = sum(there * weight for there, weight in held) / total
        lacked = max((weight for there, weight in held if not there), default=0.0)
        heaviest = max((weight for there, weight in held if there == 1), default=0.0)
        score = min(share, ALMOST) if lacked > _HEAVIER * heaviest else share
        # A statement that says nothing that the question does not is a heading, or a question itself.
        if one.closeness and not is_exact:
            by_words, enough = _OF_A_PART if is_part else _OF_ALL
            score = (one.closeness + by_words * share) * ENOUGH / enough
        found.append(replace(one, share=share, score=0.0 if one.terms <= said else score))
    top = max((one.score for one in found), default=0.0)
    sections = {(one.source, one.topic) for one in found if one.score >= _AS_RELEVANT * top}
    if top > ALMOST and len(sections) > _MOST_SECTIONS:
        return [replace(one, score=one.score * ALMOST / top) for one in found]
    return found


def _presence(word: SubjectWord, one: Statement) -> float:
    if not one.context.isdisjoint(word.terms):
        return 1.0
    if not one.terms.isdisjoint(word.terms):  # a section that a text refers to is not the one that it stands in
        return _HEAD_FACTOR if word.text[0] == "§" else 1.0
    if not is_character(word.text[0]) and head_of(word.text) in one.terms | one.context:
        return _HEAD_FACTOR
    return 0.0 if one.passage.isdisjoint(word.terms) else _PASSAGE_FACTOR


def is_duplicate(one: Statement, other: Statement) -> bool:
    """Whether two statements say the same: the terms of one are most of the other's, and no others."""
    fewer, more = sorted((one.terms, other.terms), key=len)
    return fewer <= more and len(fewer) >= _MIN_OVERLAP * len(more)


def _terms(text: str, language: str) -> frozenset[str]:
    return frozenset(term for terms in index_terms(text, language, heads=True) for term in terms)
