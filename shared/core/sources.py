"""The sources of an answer: how many of the passages that were found a model is given, and how it is shown them."""

import re
from collections.abc import Iterable, Mapping
from copy import replace
from itertools import accumulate, compress

from shared.chat_types import Passage, RetrievalMode, as_data
from shared.core.context_window import tokens_in
from shared.retrieval import SearchResult

SEARCHED = 50
"""Passages that a search finds where no caller says how many; some are duplicates, and some are neighbours.

Source: Azure AI Search, the most that its semantic ranker reads."""
_ALWAYS = 1_000
"""Tokens of sources that a model gets however sure the search is."""
_NEAR, _NEAR_BY_WORDS = 0.75, 0.55
"""Share of the best score that a further source has: by closeness, and by BM25 or a reranker."""
_COMPLETED = 3
"""How many of the best passages get their neighbours. If all do, fewer pages fit."""
_WHOLE, _WHOLE_SHARE = 2, 0.25
"""How many of the best passages are shown whole, and the share of the tokens after which no further one is."""
_EXCERPT = 500
"""Characters that are shown of other passages, where it is known how near their parts are."""
_PLACE = re.compile(r"(.*-page-)([0-9]{1,9})", re.DOTALL)
"""The id of a passage with its place in the file, as our ingestion and azure-search-openai-demo make it."""
_HEADING = re.compile(r"#{1,6} ")
_HEADINGS = re.compile(r"^#{1,6} .*", re.MULTILINE)
_TABLE = re.compile(r"^\|", re.MULTILINE)
_LEAST_OVERLAP = 10
"""Characters that two passages must have in common to overlap; fewer are the same by chance."""
_LONGEST_OVERLAP = 1_000
"""Characters at the end of a passage that the next one may begin with."""


def source_text(passage: Passage, text: str | None = None) -> str:
    """Write a source for a model, as its document has it; or with a `text` in place of its own."""
    about = {"Name": passage.sourcepage, "Section": " > ".join(passage.path), "Date": passage.date}
    return as_data("source", (passage.excerpt or passage.whole if text is None else text).strip(), about)


def is_sure(found: SearchResult, top: int, tokens: int) -> bool:
    """Whether the scores of a search for `top` passages fall before a prompt with so many tokens of sources is full."""
    ways = _near(found)
    near = [*compress(found.passages, ways[-1])] if ways else found.passages
    return 0 < len(near) < top and sum(tokens_in(one.whole) for one in near) <= tokens


def nearest(found: SearchResult) -> SearchResult:
    """Leave out passages that score far below the best in every way, beyond the tokens that a model always gets."""
    if not (ways := _near(found)):
        return found
    before = accumulate((tokens_in(one.whole) for one in found.passages), initial=0)
    kept = (tokens < _ALWAYS or any(near) for tokens, near in zip(before, zip(*ways, strict=True), strict=False))
    return replace(found, passages=tuple(compress(found.passages, kept)))


def _near(found: SearchResult) -> list[list[bool]]:
    """Whether each passage scores nearly as high as the best one, in each way in which they are scored, the best last.

    Fused ranks are none: what only one of two searches finds has half the best score at most.
    """
    every, is_text = found.passages, found.mode is RetrievalMode.TEXT
    if any(one.reranker_score is not None for one in every):
        ways = [(_NEAR_BY_WORDS, [one.reranker_score or 0.0 for one in every])]
    else:
        by_words = [(one.score if is_text else one.score_by_words) or 0.0 for one in every]
        ways = [(_NEAR_BY_WORDS, by_words), (_NEAR, [max(one.closeness, default=0.0) for one in every])]
    return [[score >= share * max(scores) for score in scores] for share, scores in ways if max(scores, default=0) > 0]


def fitting(found: Iterable[Passage], tokens: int, *, cuts: bool = True) -> tuple[Passage, ...]:
    """Choose the best passages that fit together, at least one, each text once.

    To the very best ones the passages before and after them are joined, if they were found too: a list with its second
    half says more than the next hit.

    Args:
        found: The passages, the best first.
        tokens: How many they may have, as `tokens_in` counts.
        cuts: Whether only the very best are shown whole, where the parts of others that are near are known.
    """
    rest = {passage.id: passage for passage in found}
    least = tokens * (1 - _WHOLE_SHARE)
    texts: set[str] = set()
    chosen: list[Passage] = []
    for one in list(rest.values()):
        if rest.pop(one.id, None) is None or one.whole in texts:
            continue
        is_cut = cuts and (len(chosen) >= _WHOLE or tokens < least)
        passage = replace(one, excerpt=_excerpt(one)) if is_cut else one
        tokens -= tokens_in(source_text(passage))
        if tokens < 0 and chosen:
            break
        texts.add(passage.whole)
        for neighbour in _neighbours(passage, rest) if len(chosen) < _COMPLETED and not passage.excerpt else ():
            if neighbour.content not in texts and (size := tokens_in(neighbour.content)) <= tokens:
                tokens -= size
                texts.add(neighbour.whole)
                first, second = sorted((passage, rest.pop(neighbour.id)), key=_place)
                text = first.content + continuation(first.content, second)
                closeness, parts = first.closeness + second.closeness, first.parts + second.parts
                passage = replace(first, content=text, score=passage.score, closeness=closeness, parts=parts)
        chosen.append(passage)
    return tuple(chosen)


def _excerpt(passage: Passage) -> str:
    """The parts of a passage that are nearest to what is asked, each with its heading; empty: all of it is shown.

    A table is not cut: a row says nothing without its head.
    """
    if len(passage.parts) < 2 or _TABLE.search(passage.whole):
        return ""
    room, kept = _EXCERPT, set[int]()
    for place in sorted(range(len(passage.parts)), key=passage.closeness.__getitem__, reverse=True):
        room -= len(passage.parts[place])
        if room < 0 and kept:
            break
        kept.add(place)
    shown, heading, is_cut = list[str](), "", False
    for place, part in enumerate(passage.parts):
        if place in kept:
            shown += filter(None, ("…" if is_cut else "", heading, part))
            heading, is_cut = "", False
        else:
            heading, is_cut = next(reversed(_HEADINGS.findall(part)), heading), True
    return "\n".join(shown) if len(kept) < len(passage.parts) else ""


def _neighbours(passage: Passage, others: Mapping[str, Passage]) -> list[Passage]:
    """The passages before and after this one, if they are in the same section of the same page."""
    place = _PLACE.fullmatch(passage.id)
    if place is None or passage.captions:
        return []
    number = int(place[2])
    after, before = others.get(f"{place[1]}{number + 1}"), others.get(f"{place[1]}{number - 1}")
    continued = [after] if after and not _HEADING.match(after.content) else []
    continued += [before] if before and not _HEADING.match(passage.content) else []
    return [one for one in continued if one.sourcepage == passage.sourcepage]


def _place(passage: Passage) -> int:
    place = _PLACE.fullmatch(passage.id)
    return int(place[2]) if place else 0


def continuation(text: str, passage: Passage) -> str:
    """What a passage adds to the text before it, which it may repeat by a few sentences."""
    begin = passage.content[:_LONGEST_OVERLAP]
    lengths = range(len(begin), _LEAST_OVERLAP - 1, -1)
    overlap = next((length for length in lengths if text.endswith(begin[:length])), 0)
    if overlap or not text:
        return passage.content[overlap:]
    return f"{'\n' if passage.table_head else '\n\n'}{passage.content}"
