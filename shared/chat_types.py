"""Plain data that every layer shares: the conversation, passages, the caller and the health of a part."""

import re
from base64 import b64encode
from collections.abc import Iterable, Mapping
from copy import replace
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Literal, Protocol, Self

import msgspec

if TYPE_CHECKING:
    type Json = bool | int | float | str | list[Json] | dict[str, Json] | None
else:
    Json = Any  # msgspec reads no type that names itself
"""Any JSON value, as parsed."""

_PAGE = re.compile(r"#page=([0-9]{1,6})$")
_DATA_MARK = re.compile(r"<(?=\s*/?\s*(?:source|file|result)\b)", re.IGNORECASE)


class Role(StrEnum):
    """The author of a message."""

    USER = "user"
    ASSISTANT = "assistant"
    SYSTEM = "system"
    TOOL = "tool"


class RetrievalMode(StrEnum):
    """How to search for sources (rag-chat-http-protocol, `retrieval_mode`)."""

    TEXT = "text"
    VECTORS = "vectors"
    HYBRID = "hybrid"


class ToolCall(msgspec.Struct, frozen=True):
    """A function call that the model asks for."""

    id: str
    """The model's id of this call; the result refers to it."""
    name: str
    """The function's name."""
    arguments: str
    """The arguments as the model wrote them: JSON by intention, not by guarantee."""
    beside: dict[str, Json] = msgspec.field(default_factory=dict[str, "Json"])
    """What the service sent with it, such as `reasoning_content` or `extra_content`, and wants back with the call.

    `SENT_BY` is a short name of the service and its model, if there is anything; no other gets the rest."""


SENT_BY, SENDER_LENGTH = "sent_by", 8
_MOST_BESIDE_BYTES = 64 * 1024


def bounded_beside(given: Mapping[str, Json]) -> dict[str, Json]:
    """Keep what is there of what came with a call, or nothing of it if that is over 64 KiB of JSON."""
    found: dict[str, Json] = {name: value for name, value in given.items() if value}
    return found if len(msgspec.json.encode(found)) <= _MOST_BESIDE_BYTES else {}


class ToolDefinition(msgspec.Struct, frozen=True):
    """A function that the model may call."""

    name: str
    """Its name: letters, digits, underscores and hyphens."""
    description: str
    """When to call it, for the model to read."""
    parameters: dict[str, Json]
    """A JSON schema of the arguments."""
    query: str | None = None
    """Name of the argument that takes a search query; None: the tool takes none."""
    takes_queries: bool = False
    """Whether that argument is a list of queries."""
    strict: bool | None = None
    """Whether the service holds the model to the schema; None: as it does by itself."""


class ToolChoice(msgspec.Struct, frozen=True):
    """What a request says of the calls of the tools that it brings."""

    must_call: bool = False
    """Whether the model has to call one."""
    named: str | None = None
    """The one that it has to call; None: any."""
    parallel: bool | None = None
    """Whether it may make several calls at once; None: as it does by itself."""
    is_offer: bool = False
    """Whether the tools may be left out where none can be called, as the front end sends them with every question."""


def as_data(kind: Literal["source", "file", "result"], text: str, about: Mapping[str, str] | None = None) -> str:
    """Mark for a model what a document or a tool says; it cannot end the mark, or begin another.

    Args:
        kind: What it is. The instructions say that what is between such marks is data.
        text: What it says.
        about: What stands above it, by name; what is empty is left out.
    """
    head = "".join(f"{name}: {' '.join(value.split())}\n" for name, value in (about or {}).items() if value)
    inside = f"{head}\n{text}" if head else text
    return f"<{kind}>\n{_DATA_MARK.sub('&lt;', inside)}\n</{kind}>"


class FileText(msgspec.Struct, frozen=True):
    """The text of a file attached to a message."""

    name: str
    """Its name in the prompt and in citations."""
    text: str
    """The text, cut to the space in the prompt."""
    left_out: int = 0
    """Number of characters that were cut off."""

    def __str__(self) -> str:
        cut = f"\n[cut here: {self.left_out:,} more characters of the file are left out]" if self.left_out else ""
        return as_data("file", self.text + cut, {"Name": self.name})


class ImagePart(msgspec.Struct, frozen=True):
    """An image in a message: attached to it, or of a source."""

    media_type: str
    """`image/png`, `image/jpeg`, `image/webp` or `image/gif`."""
    data: bytes
    """The file as it was sent."""
    name: str = ""
    """Its name in the prompt and in citations; empty: no name."""

    @property
    def data_url(self) -> str:
        """The image as a `data:` URL."""
        return self.data_url_prefix + b64encode(self.data).decode()

    @property
    def data_url_prefix(self) -> str:
        """The `data:` URL up to the bytes of the image, which follow in base64."""
        return f"data:{self.media_type};base64,"

    @property
    def data_url_length(self) -> int:
        """The length of the `data:` URL, in bytes."""
        return len(self.data_url_prefix) + (len(self.data) + 2) // 3 * 4

    def __repr__(self) -> str:
        size = f"{max(1, round(len(self.data) / 1000)):,} kB"
        return f"[image{f' {self.name}' if self.name else ''}: {self.media_type}, {size}]"


class Message(msgspec.Struct, frozen=True):
    """One message of a conversation."""

    role: Role
    """The author."""
    content: str
    """The text."""
    tool_calls: tuple[ToolCall, ...] = ()
    """On an assistant message: the calls that it asks for."""
    tool_call_id: str | None = None
    """On a tool message: the call that this is the result of."""
    files: tuple[FileText, ...] = ()
    """On a user message: its attached files."""
    images: tuple[ImagePart, ...] = ()
    """On a user message: its attached images, and images of sources."""
    author: str | None = None
    """The agent that wrote it, in a prompt for another agent; such a message has the user's role."""

    @property
    def text(self) -> str:
        """The files' text, then the content, after its author's name if it has one.

        The files come first because they stay the same from question to question, so that a prompt cache can serve
        them.
        """
        said = f"{self.author}: {self.content}" if self.author else self.content
        return "\n\n".join([*map(str, self.files), said])


class Caption(msgspec.Struct, frozen=True):
    """The part of a passage that the semantic ranker found most relevant."""

    text: str
    """The passage's own words."""
    highlights: str
    """The same text with its key words in `<em>`; empty if there are none."""


class Extent(msgspec.Struct, frozen=True):
    """What an index has of a file."""

    passages: int
    """The number of its passages."""
    pages: int | None
    """The number of pages that they are on; None: not known."""
    left_out: str = ""
    """What of the file was not read, such as `hidden slides (3)`; empty: nothing that is known."""


class Passage(msgspec.Struct, frozen=True):
    """A piece of a source document, with the fields of the azure-search-openai-demo index."""

    id: str
    """Unique in the index; stays the same for the same place in the same file."""
    content: str
    """The text; with `semantic_captions`, only its captions."""
    sourcepage: str
    """The name that answers cite: the file, with `#page=N` if it has pages."""
    sourcefile: str
    """The file's path below the indexed folder."""
    category: str | None = None
    """The category, for `include_category` and `exclude_category`."""
    oids: tuple[str, ...] = ()
    """Users who may see it under `use_oid_security_filter`."""
    groups: tuple[str, ...] = ()
    """Groups whose members may see it under `use_groups_security_filter`."""
    score: float | None = None
    """The retriever's score for the query at hand, higher is better."""
    score_by_words: float | None = None
    """That of the search by words, where `score` is of several searches."""
    reranker_score: float | None = None
    """The semantic ranker's score, 0 to 4."""
    closeness: tuple[float, ...] = ()
    """How close the meaning of each part is to the query's: 0 as that of any other, 1 the same; empty: not known."""
    parts: tuple[str, ...] = ()
    """The texts of these parts."""
    excerpt: str = ""
    """What of the text a model is shown; empty: all of it."""
    captions: tuple[Caption, ...] = ()
    """The semantic ranker's captions, if they were asked for."""
    title: str = ""
    """The title of the document; empty: not known."""
    headings: tuple[str, ...] = ()
    """The headings above the text, the highest first."""
    table_head: str = ""
    """The first rows of the table in the middle of which the text begins, in Markdown."""
    date: str = ""
    """The day that the document states as its own, as `YYYY-MM-DD`; empty: not known."""
    sensitivity: str = ""
    """The name of the document's sensitivity label; empty: none is known."""

    @property
    def whole(self) -> str:
        """The text, with the head of its table."""
        return f"{self.table_head}{self.content}"

    @property
    def path(self) -> tuple[str, ...]:
        """The title of the document and the headings above the text, each once."""
        return tuple(dict.fromkeys(filter(None, (self.title, *self.headings))))

    @property
    def page(self) -> int | None:
        """The page in `sourcepage`, from 1; None if the file has no pages."""
        found = _PAGE.search(self.sourcepage)
        return int(found[1]) if found else None


class Overrides(msgspec.Struct, frozen=True):
    """Options of a request (rag-chat-http-protocol, 'context', and those in use)."""

    temperature: float | None = None
    """0 to 2; None leaves it to the model."""
    seed: int | None = None
    """Asks the model for the same answer to the same request."""
    top: int | None = None
    """How many passages to retrieve, 1 to 50; None: as many as the model has room for."""
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
    """The language to answer in where that of the question is not clear: a BCP 47 tag, or None."""
    resumable: bool = False
    """Keep the answer, so that it goes on when the caller leaves, and can be read again; see `shared/runs/`."""
    show_progress: bool = False
    """Report what each agent does while it works, in protocols that have a place for it."""
    team_pattern: Literal["concurrent", "sequential", "group_chat", "handoff"] | None = None
    """The pattern of the team for this request, for a try in the playground; None: the file's."""


class JsonForm(msgspec.Struct, frozen=True):
    """The form of an answer that a program reads: one JSON value, without citations in it."""

    key: str
    """The request's key that asks for it, for errors."""
    name: str = ""
    """Name of the schema."""
    schema: dict[str, Json] | None = None
    """JSON schema of the value; None: any object."""
    strict: bool | None = None
    """Whether the model's service holds the model to the schema; None: as the service does by itself."""
    description: str | None = None
    """What the value is for, for the model to read."""


MAX_CHAT_NAME = 200
"""Maximum characters of a client's name for a chat; a longer one is ignored."""


class ChatState(msgspec.Struct, frozen=True):
    """Which chat a request belongs to, and what its client is sent back of it."""

    session_state: Json = None
    """The client's own state, which is sent back unchanged."""
    has_session_state: bool = False
    """Whether the client sent a state, even null."""
    wants_session: bool = False
    """Whether it sent none, and gets the id of a new session."""
    conversation_id: str | None = None
    """The id of a conversation that the client names, which may not be one of ours."""
    regenerates: bool | None = None
    """Whether the question is one of the chat's that is to be answered again; None: the messages show it."""

    @property
    def name(self) -> str | None:
        """The name of the chat: its id here, or else the client's own; None: it has none."""
        state = self.session_state
        return self.conversation_id or (state if isinstance(state, str) and 0 < len(state) <= MAX_CHAT_NAME else None)

    @classmethod
    def kept(cls, chat_id: str) -> Self:
        """Make the state of a chat that the app keeps, of which clients send new messages only: its id is all of it."""
        return cls(chat_id, has_session_state=True, conversation_id=chat_id, regenerates=False)


class Decision(msgspec.Struct, frozen=True):
    """A person's answer to a question for consent: all that counts of what a client sends back of a call."""

    approved: bool
    """Whether the call may run."""
    approval_id: str = ""
    """The approval; empty: `code` names it."""
    code: str = ""
    """The code of a phrase such as `approve K7QX`, in capitals. If its owner has no such approval, the phrase is an
    ordinary question."""
    reason: str = ""
    """Why, for the model to read."""


class ChatRequest(msgspec.Struct, frozen=True):
    """A question with its conversation; every protocol is parsed to this."""

    messages: tuple[Message, ...]
    """The conversation; never empty, and the last message is the user's. With `decisions`, whatever came with them."""
    overrides: Overrides = msgspec.field(default_factory=Overrides)
    """Options that differ from the defaults."""
    chat: ChatState = ChatState()
    """The chat that it belongs to."""
    tools: tuple[ToolDefinition, ...] = ()
    """Functions that the model may call and the caller answers, in protocols that have them."""
    tool_choice: ToolChoice = ToolChoice()
    """Whether and how it calls them."""
    steps: tuple[Message, ...] = ()
    """What came after the question: the model's calls of the caller's tools with their results, and what it has written
    of an answer that is to go on."""
    decisions: tuple[Decision, ...] = ()
    """Answers to questions for consent: the paused turn goes on, and nothing is asked anew."""
    max_tokens: int | None = None
    """The most tokens that the caller wants in the answer; None: no limit but the app's."""
    stream: bool = False
    """Whether to stream the answer: the route says so, or the body, as it can in some protocols."""
    single_turn: bool = False
    """`/ask`: ignore the earlier messages."""
    team: bool = False
    """Whether the team of agents answers: the route or the body asks for it."""
    agent: str | None = None
    """The agent of the team that the body asks for alone, as it can in some protocols."""
    is_task: bool = False
    """Whether it is a task of the front end, such as a chat's title, that needs no sources."""
    base_url: str = ""
    """The URL below which the app's routes are, for protocols whose clients live elsewhere."""
    turn_id: str = "0"
    """The id of the turn. Where callers do not sign in, who has it can read the answer if that is kept."""
    answer_id: str = "0"
    """The id of the answer, for protocols whose records have one: known before the model gives its own."""
    created: int = 0
    """When it was asked, in Unix seconds."""
    invocation_id: str = ""
    """The platform's id of the invocation, for an error that the encoder makes itself."""
    reasoning_effort: str | None = None
    """How long a reasoning model may think, for this answer; None: as configured."""
    form: JsonForm | None = None
    """The form of the answer; None: a text with citations."""
    run_id: str | None = None
    """The id of the run, if the client names it."""
    wants_kept: bool = False
    """Whether the answer is a run where chats are kept, as its protocol has it."""
    is_kept: bool = False
    """Whether the answer is a run."""
    may_be_kept: bool = True
    """Whether a record of the answer may be kept, by which it can be judged; False: the caller has said no."""
    is_later: bool = False
    """Whether the caller asks for the answer later, and not in the response."""
    for_encoder: object = None
    """What the protocol's parser leaves for its encoder; nobody else reads it."""

    @property
    def question(self) -> str:
        """The text of the last message; empty if there is none."""
        return self.messages[-1].content if self.messages else ""

    @property
    def begun(self) -> str:
        """What is there of an answer that is to go on (*Continue*); empty: it is a new one."""
        return self.steps[-1].content if self.steps and self.steps[-1].role is Role.ASSISTANT else ""

    def in_conversation(self, conversation_id: str | None) -> Self:
        """Return the request with another id of its conversation, and the same session state."""
        return replace(self, chat=replace(self.chat, conversation_id=conversation_id))


class Caller(msgspec.Struct, frozen=True):
    """The caller, from an authenticated source: a user, or the holder of an API key. Without both anonymous."""

    oid: str | None = None
    """The user's object id in the directory."""
    groups: tuple[str, ...] | None = ()
    """The object ids of the user's groups; None: not known, since there are too many for a token."""
    tenant: str | None = None
    """The id of the directory; None: not known."""
    key: str | None = None
    """The name of the API key."""

    @property
    def id(self) -> str | None:
        """What no other caller has; None: anonymous."""
        if self.oid:
            return f"user:{self.tenant or ''}/{self.oid}"
        return f"key:{self.key}" if self.key else None


_EVERYBODY, _NOBODY = "all", "none"
"""Special values in the rights of documents; a user or group id with such a value in a claim is ignored.

Source: Azure AI Search, 'Indexing document access control lists (ACLs) using the push REST APIs', 'Special ACL values'.
"""


class Access(msgspec.Struct, frozen=True):
    """The documents that a caller may see: those that name the user or one of the groups. Both None: no document."""

    oid: str | None = None
    """Documents whose `oids` have this user."""
    groups: tuple[str, ...] | None = None
    """Documents whose `groups` have one of these; empty: no document by its groups."""
    open_documents: bool = False
    """Whether documents that name nobody, and those for `all`, may be seen as well."""
    all_shared: bool = False
    """Whether all documents may be seen but those of other people's own."""
    own: str = ""
    """The folder of the caller's own documents, which may be seen in any case (`documents.own`); empty: none."""

    @property
    def named_oids(self) -> tuple[str, ...]:
        """A document that has one of these in its `oids` may be seen."""
        return self._named((self.oid, self.own))

    @property
    def named_groups(self) -> tuple[str, ...]:
        """A document that has one of these in its `groups` may be seen."""
        return self._named(self.groups or ())

    def _named(self, own: Iterable[str | None]) -> tuple[str, ...]:
        names = tuple(name for name in own if name and name not in (_EVERYBODY, _NOBODY))
        return (*names, _EVERYBODY) if self.open_documents else names


class TokenMeter(Protocol):
    """Counts the tokens of model calls, and calls of servers' tools, in the budgets of a request."""

    def reserve(self, tokens: int) -> None:
        """Count what a call may take, before it begins.

        Raises:
            RateLimited: no tokens are left; nothing is counted.
        """
        ...

    def correct(self, difference: int) -> None:
        """Count the difference to what a call took; negative if it took less than was reserved."""
        ...

    def count_call(self) -> None:
        """Count the call of a server's tool, before it begins: it is a request like the caller's own.

        Raises:
            RateLimited: the caller may make none now; nothing is counted.
        """
        ...


class RequestContext(msgspec.Struct, frozen=True):
    """Data of one invocation; passed as an argument, since the stream runs in another task than the trigger."""

    invocation_id: str
    """The platform's id; it is in every log entry and error of this request."""
    deadline: float
    """When the answer must be complete, on the event loop's clock, in seconds."""
    caller: Caller = msgspec.field(default_factory=Caller)
    """The caller."""
    access: Access | None = None
    """The documents that the answer may use, see `identity.access_of`; None: all."""
    accept_language: str = ""
    """The header `Accept-Language` of the request, or empty."""
    trace_parent: str = ""
    """The `traceparent` that came with the request (W3C Trace Context), or empty."""
    protocol: str = ""
    """Name of the chat protocol; empty for other requests."""
    meter: TokenMeter | None = None
    """Counts the tokens of each model call; None: nobody counts them."""
    status_due: float | None = None
    """When the status of a stream is sent at the latest, on the same clock; None: it waits for the whole answer."""
    is_whole: bool = False
    """Whether nobody sees a part of the answer before all of it is there: one that breaks off can begin again."""
    chat: str = ""
    """What all turns of a chat have in common, its id or its first question; empty: there is no chat."""
    run_id: str | None = None
    """The run that this turn is, so that one that takes it over records no message twice; None: it is not kept."""
    link_hosts: frozenset[str] = frozenset()
    """Hosts to which any answer may link; `*.` in front stands for all hosts below one."""


class PartHealth(msgspec.Struct, frozen=True):
    """One line of `GET /health`."""

    kind: str
    """`embedded` or the service's name."""
    ok: bool
    """Whether the part can be used now."""
    detail: str
    """A description of the part, or what is wrong and what to do."""
    facts: Mapping[str, Json] = msgspec.field(default_factory=dict[str, Json])
    """More counts and names to show."""
    needed: bool = True
    """Whether the app cannot answer without it."""
