"""Ranks passages by the words of a question: BM25 of the whole passage, and the share of its best sentence.

FTS5 finds the candidates, and ranks them without their lengths, which takes a quarter of the time. The candidates are
then scored by Lucene's BM25, in which a word counts even if most passages have it. What a single sentence says
counts on top of that.
"""

import math
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from typing import NamedTuple

from shared.words.stop_words import STOP_WORDS, language_of
from shared.words.terms import index_terms, is_character, prefix_of, query_terms, spelled

MOST_CANDIDATES = 30
"""Passages that are scored, or more if a query asks for more."""
_MOST_BY_SENTENCE = 20
"""Best passages that are ranked by their best sentence as well."""
_SENTENCE_WEIGHT = 0.3
"""Weight of the best sentence, as a share of the score of the best passage."""
_K1, _B = 1.2, 0.75
"""BM25's parameters: how soon a repeated word counts no more, and how much the length of a passage counts.

Source: Lucene's `BM25Similarity`; FTS5 has the same.
"""
_MOST_WORDS = 64
"""Different words of a question that are searched for. The first words of a pasted page show its subject."""
_LONGEST_TEXT = 20_000
"""Characters of a question that are read for these words."""
_MOST_LANGUAGES = 4
"""Languages by whose rules a question is stemmed if its own is not clear: the most frequent ones of the index."""
_COMPOUNDING = frozenset({"da", "de", "et", "fi", "hu", "nl", "no", "sv", "tr"})
"""Languages in which a word begins others: they write compounds as one word, or append to it what others write before
it. Not English: `cover` must not find `coverlet`."""


@dataclass(frozen=True, slots=True)
class AskedWord:
    """A word of a question."""

    terms: tuple[str, ...]
    """The terms that stand for the word in the index."""
    prefix: str | None
    """The beginning of terms that count as well; None: there are none."""


def asked_words(text: str, languages: Sequence[str]) -> list[AskedWord]:
    """The words of a question to search for, without those that appear twice.

    Stop words are left out unless there are no other words: in a small collection they can be rare, and BM25 would give
    them a high weight.

    Args:
        text: The question.
        languages: The languages of the index, the most frequent one first.
    """
    text = text[:_LONGEST_TEXT]
    own = language_of(text, languages)
    stemmed_by = (own,) if own else tuple(languages[:_MOST_LANGUAGES])
    found: dict[tuple[str, ...], str] = {}
    for word, terms in query_terms(text, stemmed_by):
        found.setdefault(terms, spelled(word))
    stop_words: Collection[str] = STOP_WORDS[own] if own else ()
    kept = [terms for terms, word in found.items() if word not in stop_words] or list(found)
    has_compounds = not _COMPOUNDING.isdisjoint(stemmed_by)
    return [AskedWord(terms, _prefix(terms, has_compounds=has_compounds)) for terms in islice(kept, _MOST_WORDS)]


def _prefix(terms: tuple[str, ...], *, has_compounds: bool) -> str | None:
    if is_character(terms[0]):
        return terms[0]
    return prefix_of(terms) if has_compounds else None


def match_expression(asked: Iterable[AskedWord]) -> str:
    """Make the FTS5 query for passages that have any of the words. A word itself counts more than a compound."""
    phrases: dict[str, None] = {}
    for word in asked:
        phrases |= dict.fromkeys(map(_quoted, word.terms))
        if word.prefix:
            phrases[f"{_quoted(word.prefix)} *"] = None
    return " OR ".join(phrases)


def _quoted(term: str) -> str:
    """A term as a string of FTS5's query language, in which no character is an operator."""
    return '"' + term.replace('"', '""') + '"'


def stemmed(sentences: Iterable[str], language: str) -> str:
    """The terms of a text in the form that `ranked` reads: each between spaces, a sentence a line."""
    lines = (" ".join(term for terms in index_terms(one, language) for term in terms) for one in sentences)
    return "\n".join(f" {line} " for line in lines if line)


def ranked(
    passages: Mapping[int, str], asked: Sequence[AskedWord], counts: Mapping[str, int], total: int, length: float
) -> list[tuple[int, float]]:
    """Rank passages, the best first, with scores above 0.

    Args:
        passages: Row ids with the passages as `stemmed` makes them.
        asked: The words of the question.
        counts: The number of passages in the index that have a term; a prefix ends in `*`.
        total: The number of passages in the index.
        length: Their mean length in characters.
    """
    words = [_weighed(word, counts, total) for word in asked]
    terms = {term for word in asked for term in word.terms}
    prefixes = {word.prefix for word in asked if word.prefix}
    sentences = {rowid: _terms_by_sentence(text, terms, prefixes) for rowid, text in passages.items()}
    found = {rowid: _bm25(sentences[rowid], words, len(text) / length) for rowid, text in passages.items()}
    ranking = _best_first(found)
    if not ranking:
        return ranking
    best, everything = ranking[0][1], sum(word.rarity for word in words)
    for rowid, _ in ranking[:_MOST_BY_SENTENCE]:
        found[rowid] += _SENTENCE_WEIGHT * best * _best_sentence(sentences[rowid], words) / everything
    return _best_first(found)


class _Weighed(NamedTuple):
    """A word of a question with inverse document frequencies."""

    rarity: float
    """That of the word itself."""
    terms: Mapping[str, float]
    """The terms that stand for the word in the index, each with its own; a prefix ends in `*`."""


def _weighed(word: AskedWord, counts: Mapping[str, int], total: int) -> _Weighed:
    found = {term: _rarity(counts[term], total) for term in word.terms if counts[term]}
    if word.prefix:
        prefix = f"{word.prefix}*"
        found[prefix] = _rarity(counts[prefix], total)
    return _Weighed(next(iter(found.values()), _rarity(0, total)), found)


def _rarity(count: int, total: int) -> float:
    return math.log(1 + max(total - count + 0.5, 0.5) / (count + 0.5))


def _terms_by_sentence(text: str, terms: Collection[str], prefixes: Iterable[str]) -> list[list[str]]:
    """For each sentence, what of a question is in it, as often as it is there; a prefix ends in `*`.

    It reads the text once, not once a term: a question in Thai has 40 terms, and its passages are long.
    """
    found: list[list[str]] = []
    for sentence in text.split("\n"):
        here = [term for term in sentence.split() if term in terms]
        for prefix in prefixes:
            here += [f"{prefix}*"] * sentence.count(f" {prefix}")
        if here:
            found.append(here)
    return found


def _bm25(sentences: Iterable[Iterable[str]], words: Iterable[_Weighed], length: float) -> float:
    score, usual = 0.0, _K1 * (1 - _B + _B * length)
    found = Counter(chain.from_iterable(sentences))
    for word in words:
        for term, rarity in word.terms.items():
            if times := found.get(term):
                score += rarity * (_K1 + 1) * times / (times + usual)
    return score


def _best_sentence(sentences: Iterable[Iterable[str]], words: Sequence[_Weighed]) -> float:
    """The rarity of the words in the sentence that has most of it."""
    by_sentence = map(frozenset, sentences)
    shares = (sum(word.rarity for word in words if not found.isdisjoint(word.terms)) for found in by_sentence)
    return max(shares, default=0.0)


def _best_first(scores: Mapping[int, float]) -> list[tuple[int, float]]:
    return sorted(scores.items(), key=lambda scored: (-scored[1], scored[0]))
