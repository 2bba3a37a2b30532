"""From what Azure AI Search finds to passages. An index may lack any field, and a document any value."""

import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import cast

from shared.chat_types import Caption, Passage
from shared.retrieval.azure_search.fields import IndexFields

_BETWEEN_CAPTIONS = " . "
"""As azure-search-openai-demo puts the captions of a passage together."""


def passage_of(document: Mapping[str, object], fields: IndexFields, place: int) -> Passage:
    """A passage, as it is in the index.

    Args:
        document: What was found; scores and captions as `azure-search-documents` names them.
        fields: What the index calls its fields.
        place: Its place among what was found, from 0: names what has no name.
    """
    sourcefile, sourcepage = _text(document, fields.sourcefile), _text(document, fields.sourcepage)
    id_ = _text(document, fields.id) or sourcepage or f"result-{place + 1}"
    return Passage(
        id=id_,
        content=_text(document, fields.content),
        sourcepage=sourcepage or sourcefile or id_,
        sourcefile=sourcefile or sourcepage.partition("#")[0] or id_,
        category=_text(document, fields.category) or None,
        oids=_texts(document, fields.oids),
        groups=_texts(document, fields.groups),
        score=_number(document, "@search.score"),
        reranker_score=_number(document, "@search.reranker_score"),
        captions=_captions(document.get("@search.captions")),
    )


def readable(passages: Sequence[Passage], advice: str) -> tuple[list[Passage], str | None]:
    """The passages that have a text, and a note with the advice if not all have one."""
    with_text = [passage for passage in passages if passage.content]
    missing = len(passages) - len(with_text)
    return with_text, f"{missing} passages without a text were left out: {advice}" if missing else None


def with_captions(passage: Passage) -> Passage:
    """The passage with its captions in place of its text, if it has any."""
    if not passage.captions:
        return passage
    return replace(passage, content=_BETWEEN_CAPTIONS.join(caption.text for caption in passage.captions))


def _captions(found: object) -> tuple[Caption, ...]:
    """Those that have a text; of the SDK each is a mapping."""
    mappings = [cast("Mapping[str, object]", one) for one in _items(found) if isinstance(one, Mapping)]
    captions = [Caption(_text(one, "text"), _text(one, "highlights")) for one in mappings]
    return tuple(caption for caption in captions if caption.text)


def _items(value: object) -> list[object]:
    return cast("list[object]", value) if isinstance(value, list) else []


def _text(document: Mapping[str, object], field: str) -> str:
    value = document.get(field)
    return _sendable(value) if isinstance(value, str) else ""


def _texts(document: Mapping[str, object], field: str) -> tuple[str, ...]:
    return tuple(_sendable(value) for value in _items(document.get(field)) if isinstance(value, str))


def _sendable(text: str) -> str:
    """The text with `?` for each half of a character: JSON can hold one, and nothing that is sent can."""
    return text.encode(errors="replace").decode()


def _number(document: Mapping[str, object], field: str) -> float | None:
    """A number that can be compared: JSON can hold others, too large for any."""
    value = document.get(field)
    return float(value) if isinstance(value, int | float) and abs(value) <= sys.float_info.max else None
