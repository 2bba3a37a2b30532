"""Ranks passages by the words of a question: BM25 of the whole passage, and the share of its best sentence.

FTS5 says which passages have a term, and nothing else. The passages with the rarest words are the candidates, and only
these are read and scored: by Lucene's BM25, in which a word counts even if most passages have it, and by what a single
sentence says. For that, the index keeps each passage in a form in which a term is one character, so that counting a
term is counting a character.
"""

import codecs
import math
import zlib
from bisect import insort
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

import msgspec

from shared.words.stop_words import LIGHT, STOP_WORDS, is_abbreviation, language_of
from shared.words.terms import ends_of, head_of, index_terms, query_terms, spelled

LEAST_CANDIDATES = 20
"""Passages to find for ranking, or more if a query asks for more."""
CANDIDATES_EACH = 4
"""Passages to find for ranking, for each that a query asks for. With 1, the page that answers a question of
FinanceBench is among the best 50 in .46 of cases, with 4 in .52, with 10 in .56."""
_MOST_CANDIDATES = 100
"""Passages to read at most, unless a query asks for more: the next word is looked up before more are read."""
_LIKELY_SHARE = 0.5
"""The share of the terms not yet looked up, by rarity, that a good passage has at most. With 1 the search would be
exact. It finds no better passages, and looks up more of the frequent terms."""
_MOST_BY_SENTENCE = 20
"""Best passages that are ranked by their best sentence as well."""
_SENTENCE_WEIGHT = 0.3
"""Weight of the best sentence, as a share of the score of the best passage."""
_CONTEXT_WEIGHT = 2
"""How often a word counts that is in the name or the title of the document, or in a heading above the passage."""
_NAME_WEIGHT = 1.5
"""What a word in the document's name adds, as a multiple of its rarity. With less, a question that names one of two
similar handbooks finds passages of both; with more, it finds the right handbook's passages on other subjects."""
_K1, _B = 1.2, 0.75
"""BM25's parameters: how soon a repeated word counts no more, and how much the length of a passage counts.

Source: Lucene's `BM25Similarity`; FTS5 has the same.
"""
_MOST_WORDS = 64
"""Different words of a question that are searched for. The first words of a pasted page show its subject."""
LONGEST_TEXT = 20_000
"""Characters of a question that are read for these words."""
_MOST_LANGUAGES = 4
"""Languages by whose rules a question is stemmed if its own is not clear: the most frequent ones of the index."""
_ENCODING = codecs.lookup("utf-16-le").name  # looked up here, so that the first search imports nothing
"""Of the passages to rank: two bytes a term."""
_FIRST_CHARACTER, _CHARACTERS = 0x100, 0xD600
"""The characters that stand for terms: those of two bytes between the line feed and the surrogates."""
_MAX_CACHED_CHARACTERS = 16_384
"""Terms whose characters are cached."""
_FINE = 1 << 10
"""Steps into which a rarity is divided to compare candidates."""
_LIGHT_WEIGHT = 0.2
"""Weight of a word that says little of a subject, as a share of its rarity: 'dauert' may be rarer than 'Elternzeit'."""
_HEAD_WEIGHT = 0.75
"""Weight of a word's head, as a share of its rarity. It counts beside the word itself, which has to count more."""


class AskedWord(msgspec.Struct, frozen=True):
    """A word of a question."""

    spelling: str
    """The word without case, as `spelled` makes it."""
    terms: tuple[str, ...]
    """The terms that stand for the word in the index."""
    head: str | None
    """The term for all words that begin like it; None: it has none."""

    @property
    def every(self) -> Sequence[str]:
        """All terms that count."""
        return (*self.terms, self.head) if self.head else self.terms


def asked_words(text: str, languages: Sequence[str]) -> list[AskedWord]:
    """The words of a question to search for, without those that appear twice.

    Stop words are left out unless there are no other words: in a small collection they can be rare, and BM25 would give
    them a high weight.

    Args:
        text: The question.
        languages: The languages of the index, the most frequent one first.
    """
    text = ends_of(text, LONGEST_TEXT)
    own = languages[0] if len(languages) == 1 else language_of(text, languages)
    stemmed_by = (own,) if own else tuple(languages[:_MOST_LANGUAGES])
    stop_words: Collection[str] = STOP_WORDS[own] if own else ()
    found: dict[tuple[str, ...], str] = {}
    kept: dict[tuple[str, ...], str] = {}
    for word, terms in query_terms(text, stemmed_by):
        spelling = found.setdefault(terms, spelled(word))
        if spelling not in stop_words or is_abbreviation(word, text):
            kept[terms] = spelling
    asked = kept or found
    return [AskedWord(asked[terms], terms, head_of(asked[terms])) for terms in ends_of([*asked], _MOST_WORDS)]


class Found(NamedTuple):
    """A term of a question's word that the index has."""

    rarity: float
    """The inverse document frequency."""
    phrase: str
    """The FTS5 query that finds the passages."""
    character: str
    """The character that stands for it in a passage that `compact` made."""
    word: int
    """The place of the word among those of the question."""


class Weighed(NamedTuple):
    """A question as it is searched for."""

    found: Sequence[Found]
    """The terms of its words that the index has, the rarest first."""
    rarities: Sequence[float]
    """The inverse document frequency of each word."""


def weighed(asked: Iterable[AskedWord], counts: Mapping[str, int], total: int) -> Weighed:
    """Combine the words of a question with how many of the index's passages have each of their terms, if any has."""
    found: list[Found] = []
    rarities: list[float] = []
    for place, word in enumerate(asked):
        weight = _LIGHT_WEIGHT if word.spelling in LIGHT else 1
        known = [
            Found(weight * _rarity(counts[term], total), _quoted(term), _character(term), place)
            for term in word.terms
            if term in counts
        ]
        if word.head and word.head in counts:
            rarity = weight * _HEAD_WEIGHT * _rarity(counts[word.head], total)
            known.append(Found(rarity, _quoted(word.head), _character(word.head), place))
        rarities.append(known[0].rarity if known else weight * _rarity(0, total))
        found += known
    return Weighed(sorted(found, reverse=True), rarities)


def _quoted(term: str) -> str:
    """A term as a string of FTS5's query language, in which no character is an operator."""
    return '"' + term.replace('"', '""') + '"'


def rarity_of(word: AskedWord, counts: Mapping[str, int], total: int) -> float:
    """Inverse document frequency of a word among `total` passages: that of its most frequent term."""
    return _rarity(max(counts.get(term, 0) for term in word.terms), total)


def _rarity(count: int, total: int) -> float:
    return math.log(1 + max(total - count + 0.5, 0.5) / (count + 0.5))


def terms_of(sentences: Iterable[str], language: str) -> list[list[str]]:
    """The terms of a text, sentence by sentence."""
    return [[term for terms in index_terms(one, language, heads=True) for term in terms] for one in sentences]


def compact(sentences: Iterable[Iterable[str]]) -> bytes:
    """The terms of a passage in the form that `ranked` reads: a character a term, a line a sentence."""
    return "\n".join("".join(map(_character, terms)) for terms in sentences).encode(_ENCODING)


@lru_cache(maxsize=_MAX_CACHED_CHARACTERS)
def _character(term: str) -> str:
    """The character that stands for a term, and for one in 55,000 others."""
    return chr(_FIRST_CHARACTER + zlib.crc32(term.encode()) % _CHARACTERS)


class Candidates(NamedTuple):
    """Passages that can be among the best."""

    scores: Mapping[int, int]
    """By row id: the rarities of the looked-up terms that the passage has, added up. The lowest bits, one for each of
    `Weighed.found`, say which terms these are."""
    looked_up: int
    """How many of `Weighed.found` were looked up. For the others, the passages have to be read."""


def candidates(asked: Weighed, holders: Callable[[str], Iterable[int]], least: float) -> Candidates:
    """Find the passages that can be among the best.

    The rarest words are looked up first. Frequent ones, which take longest, are looked up only until passages with
    none of the words so far can no longer be among the best, and few others can.

    Args:
        asked: The question.
        holders: Finds the row ids of the passages that an FTS5 query finds.
        least: The number of passages that are wanted; infinity: all that have any of the words.
    """
    scores: dict[int, int] = {}
    bits = len(asked.found)
    # One addition a passage does both: it adds the rarity, and sets the bit.
    steps = [round(one.rarity * _FINE) << bits | 1 << place for place, one in enumerate(asked.found)]
    done, rest, is_closed = 0, sum(steps), False
    for place, (one, step) in enumerate(zip(asked.found, steps, strict=True)):
        added = dict.fromkeys(holders(one.phrase), step)  # few of them are known, so the loop is short
        known = scores.keys() & added.keys()
        if not is_closed:
            added.update({rowid: scores[rowid] + step for rowid in known})
            scores.update(added)
        else:
            for rowid in known:
                scores[rowid] += step
        done, rest = done + step, rest - step
        likely = rest * _LIKELY_SHARE
        if done > likely and len(scores) >= least:
            bar = sorted(scores.values(), reverse=True)[int(least) - 1]
            if bar > likely:
                is_closed, least_score = True, bar - likely
                scores = {rowid: score for rowid, score in scores.items() if score >= least_score}
                if len(scores) <= max(least, _MOST_CANDIDATES):
                    return Candidates(scores, place + 1)
    return Candidates(scores, bits)


def ranked(
    passages: Iterable[tuple[int, bytes, bytes]], found: Candidates, asked: Weighed, length: float, limit: int
) -> list[tuple[int, float]]:
    """Rank passages, the best `limit` first, with scores above 0.

    Args:
        passages: Row ids of candidates, with the text and the context of the passages as `compact` makes them.
        found: The candidates.
        asked: The question.
        length: The mean length of all passages, in characters of that form.
        limit: The number of passages to return.
    """
    every = 1 << len(asked.found)
    unknown = every - (1 << found.looked_up)
    held: dict[int, list[Found]] = {}
    texts: dict[int, tuple[str, list[tuple[str, int]]]] = {}
    scores: dict[int, float] = {}
    for rowid, encoded, around in passages:
        bits = found.scores[rowid] % every | unknown
        if bits not in held:
            held[bits] = [one for place, one in enumerate(asked.found) if bits >> place & 1]
        text = encoded.decode(_ENCODING)
        context = around.decode(_ENCODING)
        scores[rowid], present = _bm25(text, context, held[bits], len(text) / length)
        texts[rowid] = text, present
    ranking = _best_first(scores)
    if not ranking or limit < 1:
        return []
    weight = _SENTENCE_WEIGHT * ranking[0][1] / sum(asked.rarities)
    best: list[float] = []
    for rowid, score in ranking[:_MOST_BY_SENTENCE]:
        text, present = texts[rowid]
        # A passage that would not come among the best with all its words in one sentence need not be taken apart.
        most = score + weight * sum(map(asked.rarities.__getitem__, {word for _, word in present}))
        if len(best) < limit or most >= best[-limit]:
            scores[rowid] += weight * _best_sentence(text, present, asked.rarities)
            insort(best, scores[rowid])
    return _best_first(scores)[:limit]


def _bm25(text: str, context: str, held: Iterable[Found], length: float) -> tuple[float, list[tuple[str, int]]]:
    """The score of a passage, and its characters that stand for words of the question, with the places of these."""
    score, usual = 0.0, _K1 * (1 - _B + _B * length)
    name = context.partition("\n")[0]
    present: list[tuple[str, int]] = []
    for one in held:
        if times := text.count(one.character):
            present.append((one.character, one.word))
        times += _CONTEXT_WEIGHT * context.count(one.character)
        named = _NAME_WEIGHT if one.character in name else 0.0
        score += one.rarity * ((_K1 + 1) * times / (times + usual) + named)
    return score, present


def _best_sentence(text: str, present: Sequence[tuple[str, int]], rarities: Sequence[float]) -> float:
    """The rarity of the words in the sentence that has most of it."""
    most = 0.0
    for sentence in text.split("\n"):
        words = {word for character, word in present if character in sentence}
        most = max(most, sum(map(rarities.__getitem__, words)))
    return most


def _best_first(scores: Mapping[int, float]) -> list[tuple[int, float]]:
    return sorted(scores.items(), key=lambda scored: (-scored[1], scored[0]))
