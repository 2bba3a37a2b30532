"""What a caller asks, who is calling, and what was found: the plain data that every layer shares."""

import re
from base64 import b64encode
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum

type Json = bool | int | float | str | list[Json] | dict[str, Json] | None
"""Any JSON value, as parsed."""

_PAGE = re.compile(r"#page=([0-9]{1,6})$")


class Role(StrEnum):
    """Who said a message."""

    USER = "user"
    ASSISTANT = "assistant"
    SYSTEM = "system"
    TOOL = "tool"


class RetrievalMode(StrEnum):
    """How sources are searched for (rag-chat-http-protocol, `retrieval_mode`)."""

    TEXT = "text"
    VECTORS = "vectors"
    HYBRID = "hybrid"


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A function that the model wants called."""

    id: str
    """The model's id of this call; the result names it."""
    name: str
    """The function's name."""
    arguments: str
    """The arguments as the model wrote them: JSON by intention, not by guarantee."""


@dataclass(frozen=True, slots=True)
class FileText:
    """The text of a file that came with a message."""

    name: str
    """What the prompt and citations call it."""
    text: str
    """As much of its text as there was room for."""
    left_out: int = 0
    """Characters of the file that there was no room for."""

    def __str__(self) -> str:
        cut = f"\n[cut here: {self.left_out:,} more characters of the file are left out]" if self.left_out else ""
        return f"File {self.name}:\n{self.text}{cut}"


@dataclass(frozen=True, slots=True)
class ImagePart:
    """An image in a message: one that came with it, or of a source."""

    media_type: str
    """`image/png`, `image/jpeg`, `image/webp` or `image/gif`."""
    data: bytes = field(repr=False)
    """The file as it was sent."""
    name: str = ""
    """What the prompt calls it, above it, and citations; empty: nothing."""

    @property
    def data_url(self) -> str:
        """The image as a URL that holds it."""
        return f"data:{self.media_type};base64,{b64encode(self.data).decode()}"

    def __str__(self) -> str:
        size = f"{max(1, round(len(self.data) / 1000)):,} kB"
        return f"[image{f' {self.name}' if self.name else ''}: {self.media_type}, {size}]"


@dataclass(frozen=True, slots=True)
class Message:
    """One message of a conversation."""

    role: Role
    """Who said it."""
    content: str
    """What was said."""
    tool_calls: tuple[ToolCall, ...] = ()
    """On an assistant message: the calls it asked for."""
    tool_call_id: str | None = None
    """On a tool message: the call that this is the result of."""
    files: tuple[FileText, ...] = ()
    """On a user message: the files that came with it."""
    images: tuple[ImagePart, ...] = ()
    """On a user message: the images that came with it, or that show its sources."""
    author: str | None = None
    """The agent who said it, where another agent reads it; such a message has the user's role."""

    @property
    def text(self) -> str:
        """What was said, after its author's name, and above it the text of its files.

        The files come first as they stay the same, whatever follows what was said: a prompt cache can serve them.
        """
        said = f"{self.author}: {self.content}" if self.author else self.content
        return "\n\n".join([*map(str, self.files), said])


@dataclass(frozen=True, slots=True)
class Caption:
    """What the semantic ranker found to be the point of a passage."""

    text: str
    """The passage's own words."""
    highlights: str
    """The same with the words that count in `<em>`; empty where there are none."""


@dataclass(frozen=True, slots=True)
class Passage:
    """A piece of a source document, with the fields of the azure-search-openai-demo index."""

    id: str
    """Unique in the index, and the same for the same place of the same file."""
    content: str
    """The text; what was found by `semantic_captions` has its captions here, and nothing else of the text."""
    sourcepage: str
    """What an answer cites: the file, with `#page=N` where it has pages."""
    sourcefile: str
    """The file's path below the indexed folder."""
    category: str | None = None
    """What `include_category` and `exclude_category` compare with."""
    oids: tuple[str, ...] = ()
    """Users who may see it under `use_oid_security_filter`."""
    groups: tuple[str, ...] = ()
    """Groups whose members may see it under `use_groups_security_filter`."""
    score: float | None = None
    """The retriever's score for the query at hand, higher is better."""
    reranker_score: float | None = None
    """The semantic ranker's, 0 to 4."""
    captions: tuple[Caption, ...] = ()
    """The semantic ranker's, if they were asked for."""

    @property
    def page(self) -> int | None:
        """The page, from 1, that `sourcepage` names; None where there are no pages."""
        found = _PAGE.search(self.sourcepage)
        return int(found[1]) if found else None


@dataclass(frozen=True, slots=True)
class Overrides:
    """What a request may change about its turn (rag-chat-http-protocol, 'context', and those in use)."""

    temperature: float | None = None
    """0 to 2; None leaves it to the model."""
    seed: int | None = None
    """Asks the model for the same answer to the same request."""
    top: int = 3
    """How many passages to retrieve, 1 to 50."""
    retrieval_mode: RetrievalMode | None = None
    """None: hybrid where an embedding model is configured, else text."""
    include_category: str | None = None
    """Search only this category."""
    exclude_category: str | None = None
    """Leave this category out."""
    minimum_search_score: float | None = None
    """Leave out passages that score lower."""
    minimum_reranker_score: float | None = None
    """The same for the semantic ranker's score."""
    semantic_ranker: bool = False
    """Azure AI Search: rank by meaning."""
    semantic_captions: bool = False
    """Azure AI Search: captions instead of whole passages."""
    vector_fields: tuple[str, ...] = ()
    """The vector fields to search; empty means all that the index has."""
    search_text_embeddings: bool | None = None
    """Search the vectors of texts; with the next, another spelling of `vector_fields`, see `core.searching`."""
    search_image_embeddings: bool | None = None
    """Search the vectors of images."""
    use_gpt4v: bool | None = None
    """Show the pages to a model that sees."""
    gpt4v_input: str | None = None
    """What it is shown: `text`, `textAndImages` or `images`."""
    send_text_sources: bool | None = None
    """Give the model the sources' text; with the next, another spelling of those two, see `core.source_images`."""
    send_image_sources: bool | None = None
    """Show the sources' images to a model that sees."""
    suggest_followup_questions: bool = False
    """Ask for questions that the user may want to ask next."""
    use_oid_security_filter: bool = False
    """Only passages that name the caller."""
    use_groups_security_filter: bool = False
    """Only passages that name a group of the caller."""
    prompt_template: str | None = None
    """Replaces the system prompt, or is appended to it when it starts with `>>>`."""
    language: str | None = None
    """The language to answer in, a BCP 47 tag; None: the question's own."""


@dataclass(frozen=True, slots=True)
class ChatRequest:
    """A question with its conversation, as every protocol parses to."""

    messages: tuple[Message, ...]
    """Never empty; the last one is the user's."""
    overrides: Overrides = field(default_factory=Overrides)
    """How this turn differs from the default."""
    session_state: Json = None
    """The client's own memory; goes back as it came."""
    has_session_state: bool = False
    """Whether the client sent one at all, be it null."""
    conversation_id: str | None = None
    """The conversation that the client names, ours or not."""
    stream: bool = False
    """Whether the body itself asks for a stream, as only some protocols do."""
    single_turn: bool = False
    """`/ask`: the earlier messages do not count."""

    @property
    def question(self) -> str:
        """What the user asked last."""
        return self.messages[-1].content


@dataclass(frozen=True, slots=True)
class Caller:
    """Who is calling, from a source that the platform vouches for. Anonymous without an `oid`."""

    oid: str | None = None
    """The user's object id in the directory."""
    groups: tuple[str, ...] | None = ()
    """The object ids of the user's groups; None: there are more than a token has room for, so they are not known."""
    tenant: str | None = None
    """The id of the directory; None: the source did not say."""


_EVERYBODY, _NOBODY = "all", "none"
"""Names in the rights of documents that are no user's and no group's, whatever a claim says.

Source: Azure AI Search, 'Indexing document access control lists (ACLs) using the push REST APIs', 'Special ACL values'.
"""


@dataclass(frozen=True, slots=True)
class Access:
    """What a caller may see: documents that name the user or one of the groups. Both None: none at all."""

    oid: str | None = None
    """Documents whose `oids` have this user."""
    groups: tuple[str, ...] | None = None
    """Documents whose `groups` have one of these; empty: no document by its groups."""
    open_documents: bool = False
    """Documents that name nobody, and those for `all`, too."""

    @property
    def named_oids(self) -> tuple[str, ...]:
        """A document that has one of these in its `oids` may be seen."""
        return self._named((self.oid,))

    @property
    def named_groups(self) -> tuple[str, ...]:
        """A document that has one of these in its `groups` may be seen."""
        return self._named(self.groups or ())

    def _named(self, own: Iterable[str | None]) -> tuple[str, ...]:
        names = tuple(name for name in own if name and name not in (_EVERYBODY, _NOBODY))
        return (*names, _EVERYBODY) if self.open_documents else names


@dataclass(frozen=True, slots=True)
class RequestContext:
    """What belongs to one invocation; passed as an argument, since the stream runs in another task."""

    invocation_id: str
    """The platform's id, in every log line and error of this request."""
    deadline: float
    """When the answer must be complete, on the event loop's clock, in seconds."""
    caller: Caller = field(default_factory=Caller)
    """Who is calling."""
    access: Access | None = None
    """What the answer may be made from: see `identity.access`; None: everything."""
    trace_parent: str = ""
    """The `traceparent` that came with the request (W3C Trace Context), or empty."""
    protocol: str = ""
    """The name of the chat protocol that is spoken; empty where none is."""


@dataclass(frozen=True, slots=True)
class PartHealth:
    """One line of `GET /health`."""

    kind: str
    """`embedded` or the service's name."""
    ok: bool
    """Whether it can be used now."""
    detail: str
    """What it is, or what is wrong with it and what to do."""
    facts: Mapping[str, Json] = field(default_factory=dict[str, Json])
    """Counts and names worth showing."""
    needed: bool = True
    """Whether the app can answer nothing without it."""
