"""The boundary to search: `Retriever` finds passages, `PassageIndex` stores them, `Embedder` makes vectors.

`azure_search/` implements it with Azure AI Search, `sqlite/` with the built-in index. `ingestion` fills an index.
"""

import datetime as dt
import re
from collections.abc import AsyncGenerator, Mapping, Sequence
from typing import Protocol

import msgspec

from shared.chat_types import Access, Extent, Json, PartHealth, Passage, RequestContext, RetrievalMode
from shared.documents.own import PEOPLE
from shared.errors import TooLarge


class SearchQuery(msgspec.Struct, frozen=True):
    """A question to search for, and the filters and options of the search."""

    text: str
    """The question. It may be any text."""
    mode: RetrievalMode | None = None
    """The kind of search; None: the best one that the retriever supports."""
    top: int = 3
    """The most passages to return."""
    include_category: str | None = None
    """Only passages of this category."""
    exclude_category: str | None = None
    """No passages of this category."""
    minimum_score: float | None = None
    """No passages with a lower score."""
    access: Access | None = None
    """Only passages that these rights allow; None: all."""
    semantic_ranker: bool = False
    """Rank the results by meaning."""
    semantic_captions: bool = False
    """Return captions instead of whole passages."""
    minimum_reranker_score: float | None = None
    """No passages with a lower score from the semantic ranker."""
    vector_fields: tuple[str, ...] = ()
    """The vector fields to search, by their names in requests; empty: all."""
    any_vector_field: bool = False
    """Search the other vector fields if none of `vector_fields` can be searched."""


class SearchResult(msgspec.Struct, frozen=True):
    """The passages that a search found, and how it was made."""

    passages: tuple[Passage, ...]
    """Best first, each with its score."""
    mode: RetrievalMode
    """The kind of search that was made."""
    note: str | None = None
    """Why the search differs from the request; None if it does not."""
    ignored: tuple[str, ...] = ()
    """Overrides of the request that this retriever does not support."""
    rarities: Mapping[str, float] = msgspec.field(default_factory=dict[str, float])
    """Inverse document frequency of the query's words in the whole index, by `spelled`; empty: not known."""
    titles: tuple[str, ...] = ()
    """Titles of some documents of the index that the caller may see; empty: not known."""
    foreign: str | None = None
    """The language of the query (ISO 639-1) if next to no passage is in it and there are no vectors, so that its words
    can hardly be found; None also if that is not known."""
    languages: tuple[str, ...] = ()
    """Those of the index, the most frequent first, if the query's is foreign, or may be."""
    details: Mapping[str, Json] = msgspec.field(default_factory=dict[str, Json])
    """Facts about the search for a debug display. They contain no sources and no rights."""


_BETWEEN_WORDS = re.compile(r"[_/.-]+")
_WRITTEN_TOGETHER = re.compile("(?<=[a-zß-öø-ÿ])(?=[A-ZÀ-ÖØ-Þ])|(?<=[A-ZÀ-ÖØ-Þ])(?=[A-ZÀ-ÖØ-Þ][a-zß-öø-ÿ])")
_OWNER = re.compile(rf"^{re.escape(PEOPLE)}[^/]*/")


def words_in_name(sourcefile: str) -> str:
    """The words of a file's path, without the suffix: `plans/Health_Plus.pdf` is `plans Health Plus`."""
    path, _, suffix = _OWNER.sub("", sourcefile).rpartition(".")
    return _BETWEEN_WORDS.sub(" ", path or suffix)


def searched_name(sourcefile: str) -> str:
    """The words in a file's name by which it is found: `TravelPolicy` is `TravelPolicy Travel Policy`."""
    written = words_in_name(sourcefile).split()
    return " ".join((*written, *(apart for word in written if (apart := _WRITTEN_TOGETHER.sub(" ", word)) != word)))


_DAY = re.compile(r"\s{0,9}(?:D:)?([0-9]{4})(-?)([0-9]{2})\2([0-9]{2})")
"""The beginning of a time, by ISO 8601 or as PDF files have it (ISO 32000-2, 7.9.4)."""
_FIRST_YEAR = 1000
_UNSET = frozenset(("1601-01-01", "1970-01-01", "1980-01-01", "2000-01-01", "2013-01-27", "2013-12-23"))
"""Dates of programs that know none; the last three: ReportLab, and the templates of python-pptx and -docx."""


def day_in(text: str) -> str:
    """Return the day of a date that a document states, as `YYYY-MM-DD`; empty if it is none that can be its own."""
    found = _DAY.match(text)
    try:
        day = dt.date(int(found[1]), int(found[3]), int(found[4])) if found else None
    except ValueError:
        return ""
    tomorrow = dt.datetime.now(dt.UTC).date() + dt.timedelta(
        days=1
    )  # tomorrow in UTC can be today in another time zone
    is_stated = day and day.year >= _FIRST_YEAR and day <= tomorrow and str(day) not in _UNSET
    return str(day) if is_stated else ""


def parts_of(texts: Sequence[str], size: int) -> list[tuple[int, str]]:
    """Cut texts into parts of whole sentences, in order, each with the place of its text.

    `size` is the characters of a part, which has more only if a sentence has.
    """
    from apsw.unicode import sentence_iter  # only vectors in parts need it

    parts: list[tuple[int, str]] = []
    for place, text in enumerate(texts):
        part = ""
        for sentence in sentence_iter(text):
            if part.strip() and len(part) + len(sentence.rstrip()) > size:
                parts.append((place, part.strip()))
                part = ""
            part += sentence
        parts.append((place, part.strip()))
    return parts


def whole(passages: Sequence[Passage], document: str) -> Sequence[Passage]:
    """Return the passages of the page with this name, or else all passages, which are those of the file.

    Raises:
        TooLarge: there are `MOST_READ` passages or more, so that some may be missing.
    """
    if len(passages) >= MOST_READ:
        raise TooLarge(
            f"This document has {MOST_READ:,} passages or more, too many to read at once. Search it, or read a page of "
            "it by the name that the search returns."
        )
    return [passage for passage in passages if passage.sourcepage == document] or passages


def overrides_in(query: SearchQuery, *names: str) -> tuple[str, ...]:
    """Return those of these overrides, by their names in requests, that a query sets, for `SearchResult.ignored`.

    A minimum of 0 counts as not set: it excludes nothing, and front ends send it by default.
    """
    values = {
        "retrieval_mode": query.mode,
        "semantic_ranker": query.semantic_ranker,
        "semantic_captions": query.semantic_captions,
        "vector_fields": query.vector_fields,
        "minimum_search_score": max(query.minimum_score or 0, 0),
        "minimum_reranker_score": max(query.minimum_reranker_score or 0, 0),
    }
    return tuple(name for name in names if values[name])


MOST_READ = 1_000
"""Passages of a document that are read at once, at most. Source: Azure AI Search, the results of one answer."""


class Retriever(Protocol):
    """Finds passages.

    Raises:
        NotConfigured: the service refuses the app, or the index is not what the settings say.
        Unavailable, RateLimited, TooSlow: the service failed, or the deadline has passed. All methods raise these.
    """

    async def search(self, query: SearchQuery, context: RequestContext) -> SearchResult:
        """Find the passages that best match; none if there is no index yet.

        Without a mode, the search is hybrid if questions have vectors, else by text. If the embedding service fails, a
        hybrid search fails too, so that nobody gets worse results without notice.

        Raises:
            BadRequest: the mode needs something that is not configured, or a vector field is unknown.
        """
        ...

    async def may_see(self, document: str, access: Access) -> bool:
        """Check whether `access` allows a passage whose `sourcefile` or `sourcepage` is `document`."""
        ...

    async def extent(self, sourcefile: str, access: Access | None) -> Extent | None:
        """Count the passages and pages of a file that `access` allows (None: all); None: there are none."""
        ...

    async def read(self, document: str, context: RequestContext) -> Sequence[Passage]:
        """Read the passages of a `sourcepage`, or else `sourcefile`, that the caller may see, in the order of the text.

        Raises:
            TooLarge: there are `MOST_READ` passages or more.
        """
        ...

    async def check(self) -> PartHealth:
        """Check that it can be searched now."""
        ...


class PassageTerms(msgspec.Struct, frozen=True):
    """The terms of a passage, as the built-in index stores them."""

    language: str
    """The language by whose rules the words were stemmed."""
    compact: bytes
    """The terms in the form that ranking reads."""
    searched: str
    """The terms in the form that FTS5 reads, with those of the context."""
    context: bytes
    """The terms of the document's name and title and of the headings, in the form that ranking reads."""


class FileEntry(msgspec.Struct, frozen=True):
    """What an index stores of a file."""

    sourcefile: str
    """The file's name."""
    fingerprint: str
    """Identifies the state of the file that is written."""
    passages: Sequence[Passage]
    """All passages of the file in order, at least one."""
    vectors: Sequence[Sequence[float]] | None = None
    """One vector for each passage, or for each part of one; None: there is no embedder."""
    image_vectors: Sequence[Sequence[float] | None] | None = None
    """For each passage the vector of its page's image, or None if it has none; None: no images."""
    terms: Sequence[PassageTerms] | None = None
    """The terms of each passage, as `sqlite.passage_terms.terms_of_file` makes them; None: an index that stores terms
    makes them itself."""
    left_out: str = ""
    """What of the file was not read; empty: nothing that is known."""
    owners: Sequence[int] | None = None
    """For each vector the place of its passage, if passages are embedded in parts; None: one vector a passage."""


class PassageIndex(Protocol):
    """Stores the passages of documents; ingestion writes it. Errors are those of `Retriever`."""

    @property
    def stores_terms(self) -> bool:
        """Whether `replace` needs the terms of passages. Making them is most of the work of writing."""
        ...

    def fingerprints(self, sourcefile: str | None = None) -> AsyncGenerator[tuple[str, str]]:
        """Yield each indexed source file, or `sourcefile` only, with its fingerprint. A file may come twice."""
        ...

    async def replace(self, *entries: FileEntry) -> None:
        """Replace the passages of files. After an error the files have to be written again.

        Raises:
            ValueError: there is not one vector for each passage, or part of one.
        """
        ...

    async def remove(self, sourcefile: str) -> None:
        """Remove a file. It need not exist."""
        ...

    async def aclose(self) -> None:
        """Close what this index opened."""
        ...


LONGEST_TO_EMBED = 8_000
"""Characters of a question that are embedded. Embedding models refuse more than about 8,000 tokens, and the first
sentences say what a question is about."""


class Embedder(Protocol):
    """Makes vectors from texts."""

    @property
    def model(self) -> str:
        """The embedding model's name. Vectors of different models cannot be compared."""
        ...

    @property
    def part_size(self) -> int | None:
        """Characters of the parts in which passages are embedded best; None: whole."""
        ...

    async def embed(self, texts: Sequence[str], *, questions: bool = False) -> list[list[float]]:
        """Make one vector for each text, in order. Some models make other vectors of `questions` than of passages.

        Raises:
            RateLimited, BadRequest, Unavailable, TooSlow: the service failed, or refused a text.
        """
        ...

    async def aclose(self) -> None:
        """Close what this embedder opened."""
        ...
