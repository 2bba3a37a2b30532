"""Text as sentences: Unicode's rules (UAX #29), mended where a full stop only ends an abbreviation or an ordinal."""

import re
from collections.abc import Iterator

import apsw.unicode

_LISTED = """
abb abs abt al anm approx apr art aug bzgl bzw ca cf co corp dec dept dez dipl dr eg etc evtl exkl feb fig ff fr geb
gem ggf hr incl inkl ing insb jan jul jun kap lt ltd max min mio mr mrd mrs ms nov no nr okt oct pos pp prof sec sep
sept sog st str tel usw vgl vol vs zb zzgl
"""
_ABBREVIATIONS = frozenset(_LISTED.split())
"""Before a full stop, without their own; lower case. Any single letter is one too: `z. B.`, `e. g.`, initials."""

_LAST_WORD = re.compile(r"(?<![^\W_])([^\W_]{1,8})\.\s*$")
_MAY_END_A_SENTENCE = frozenset({"etc", "usw", "co", "ltd", "corp", "no", "max", "min", "al"})
"""Abbreviations after which a sentence goes on only with a number (Unicode's rules see to small letters)."""


def sentences(text: str) -> Iterator[str]:
    """The sentences of a paragraph, without the space around them."""
    begin = 0
    for _, end, piece in apsw.unicode.sentence_iter_with_offsets(text):
        if _goes_on(piece, text[end : end + 1]):
            continue
        if sentence := text[begin:end].strip():
            yield sentence
        begin = end


def _goes_on(piece: str, following: str) -> bool:
    """Whether the full stop at the end of `piece` does not end the sentence, seeing the character after it."""
    last = _LAST_WORD.search(piece)
    if last is None or not following:
        return False
    word = last[1].lower()
    if word.isdigit():
        return len(word) <= 2  # an ordinal, as in '1. Januar'; a year ends a sentence
    if word in _MAY_END_A_SENTENCE:
        return following.isdigit()
    return word in _ABBREVIATIONS or (len(word) == 1 and word.isalpha())
