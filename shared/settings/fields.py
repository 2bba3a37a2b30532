"""Every setting of the app, with its type, its default and its meaning. `docs/settings.md` is made from this list.

A field's name in capitals is the name of its environment variable; `PLATFORMS_OWN` has the exceptions.
"""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Literal, NamedTuple

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, SecretStr
from pydantic_core import PydanticCustomError

type _Url = Annotated[str, Field(pattern=r"^https?://[^\s/?#@]+([/?#]\S*)?$")]
"""Without a user and a password, which would be shown where the address is."""
type _Uuid = Annotated[str, Field(pattern=r"^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$")]
type _PublicUrl = Annotated[
    str,
    Field(pattern=r"^https?://([A-Za-z0-9.-]{1,253}|\[[0-9A-Fa-f:.]{2,45}\])(:[0-9]{1,5})?(/[A-Za-z0-9._~%-]+)*/?$"),
]
type _StorageName = Annotated[str, Field(pattern=r"^[a-z0-9](-?[a-z0-9]){2,56}$")]
type _ContainerName = Annotated[str, Field(pattern=r"^[a-z0-9](-?[a-z0-9]){2,48}$")]
"""So long that the name of its queue of events, and of that queue's poison queue, are names of queues too."""


_ORIGIN = re.compile(r"\*|[a-z]+://[^\s,\"\]/]+")


def _read_names(value: str) -> Mapping[str, str]:
    """Parse `a=b, c=d` into a mapping."""
    pairs = [pair.partition("=") for pair in value.split(",") if pair.strip()]
    return {name.strip(): called.strip() for name, _, called in pairs}


def _require_ascii(key: SecretStr) -> SecretStr:
    """Refuse a key that no header can have; the errors of the HTTP clients would repeat it."""
    text = key.get_secret_value()
    if not (text.isascii() and text.isprintable()):
        raise PydanticCustomError("no_key", "should be a key: one line of ASCII characters")
    return key


class Address(NamedTuple):
    """An endpoint of a model's service."""

    url: str
    """Its URL."""
    weight: int = 0
    """Its share of new chats; 0: none."""


_ADDRESS = re.compile(r"(https?://[^\s/?#@=]+(?:[/?#][^\s=]*)?)(?:=([1-9][0-9]{0,2}))?")


def _read_addresses(value: str) -> tuple[Address, ...]:
    """Parse `https://one, https://other=2` into endpoints."""
    entries = [entry.strip() for entry in value.split(",")]
    found = [_ADDRESS.fullmatch(entry) for entry in entries]
    for number, match in enumerate(found, 1):
        if not match:
            which = {"entry": f"entry {number} " if len(found) > 1 else ""}
            raise PydanticCustomError("no_address", _NO_ADDRESS, which)
    return tuple(Address(match[1], int(match[2] or 0)) for match in found if match)


_NO_ADDRESS = (
    "{entry}should be a URL with its scheme and without a user, such as https://example.com; several with commas "
    "between, and perhaps a weight of 1 to 999 behind, such as =2"
)

type _Addresses = Annotated[tuple[Address, ...], BeforeValidator(_read_addresses)]


def split_keys(keys: SecretStr) -> list[SecretStr]:
    """The keys of several endpoints, which are set with commas between."""
    return [SecretStr(key.strip()) for key in keys.get_secret_value().split(",")]


type _Key = Annotated[SecretStr, AfterValidator(_require_ascii)]


def _read_list(value: str) -> tuple[str, ...]:
    """Parse `a, b` into a list, and `none` into an empty one."""
    return () if value == "none" else tuple(name.strip() for name in value.split(","))


type _TellingInMessages = Annotated[tuple[Literal["semantic-kernel", "ag-ui"], ...], BeforeValidator(_read_list)]


class ApiKey(NamedTuple):
    """An entry of `API_KEYS` as it is written; the rules check it."""

    name: str
    """Names the caller."""
    sha256: str
    """The key's hash, in hexadecimal digits."""
    groups: tuple[str, ...]
    """The groups whose documents the caller may see."""


def _read_keys(value: str) -> tuple[ApiKey, ...]:
    """Parse `name:hash, name:hash:group:group` into entries."""
    entries = [[part.strip() for part in entry.split(":")] for entry in value.split(",") if entry.strip()]
    return tuple(ApiKey(name, "".join(rest[:1]), tuple(rest[1:])) for name, *rest in entries)


def _read_origins(value: str) -> tuple[str, ...]:
    """Parse origins between commas, or in a JSON list, as the platform may write them."""
    return tuple(_ORIGIN.findall(value.lower()))


class _Fields(BaseModel):
    """Settings. Only what is made of all of them gets a validator, at the start of the app, which takes long."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)


class SettingsFields(_Fields):
    """Every setting. Times are in seconds."""

    openai_base_url: _Addresses = ()
    """Base URL of an OpenAI-compatible service, such as `http://localhost:11434/v1` for Ollama, or
    [several](production.md#several-models). Absent: `https://api.openai.com/v1`, if there is an `OPENAI_API_KEY`."""
    openai_api_key: _Key | None = None
    """Key of that service; for several one for all, or as many, with commas."""
    openai_chat_model: str | None = None
    """The model that answers."""
    openai_embedding_model: str | None = None
    """The model that makes vectors. Absent: no vector search, unless `EMBEDDINGS` is `local`."""
    openai_embedding_base_url: _Addresses = ()
    """Base URL of the service that makes vectors, where it is another one. Absent: OpenAI's own if the next setting is
    there, else that of the chat."""
    openai_embedding_api_key: _Key | None = None
    """API key of that service."""
    embeddings: Literal["off", "local", "index"] = "off"
    """`local`: [vectors](search.md#when-vectors-are-worth-it) are made on this machine. `index`: the index of Azure
    AI Search makes the vector of a question, and an embedding model those of passages. `off`: the embedding model of
    a service makes both, where one is named."""
    azure_openai_endpoint: _Addresses = ()
    """Azure OpenAI resource, such as `https://contoso.openai.azure.com`, or [several](production.md#several-models)."""
    azure_openai_chat_deployment: str | None = None
    """The deployment that answers."""
    azure_openai_embedding_deployment: str | None = None
    """The deployment that makes vectors. Absent: no vector search."""
    azure_openai_api_key: _Key | None = None
    """Key of the resource; of several one for all, or as many, with commas."""
    chat_default_protocol: str = "ai-chat"
    """The protocol of a request on a bare route whose body selects none."""
    errors_as_messages: _TellingInMessages = ("semantic-kernel",)
    """The protocols whose clients are told an error in a message of the assistant, since they show none:
    `semantic-kernel`, `ag-ui`, both with a comma, or `none`. Absent: `semantic-kernel`."""
    public_url: _PublicUrl | None = None
    """URL of the app's routes as its callers reach them, such as `https://chat.contoso.com/api`, for links in
    answers: behind a gateway, or with a domain of your own. Absent: the name that Azure gives the app, else the one
    that the request was sent to. If it is set, and a browser can open documents without a token (`AUTH_MODE` `none`
    or `easy-auth`), citations in `semantic-kernel` are Markdown links."""
    playground: Literal["on", "chat", "off"] | None = None
    """Whether `GET /api` is a [page](playground.md) to ask from: `chat` for readers, `on` as a workbench. Absent:
    `on`, in Azure `off`."""
    page_file: Path | None = None
    """What the organisation says on that page, as [YAML](playground.md#the-organisations-words)."""
    documents_writers: str | None = Field(default=None, pattern=r"^[A-Za-z0-9._-]{1,128}( *, *[A-Za-z0-9._-]{1,128})*$")
    """Who may upload documents into the index, and delete them (`PUT` and `DELETE /api/documents/…`): `nobody`, `all`
    callers, or ids of groups or users and names of API keys, with commas. Absent: all on the local host where nobody
    signs in, else nobody."""
    approvers: str | None = Field(default=None, pattern=r"^[A-Za-z0-9._-]{1,128}( *, *[A-Za-z0-9._-]{1,128})*$")
    """Who may decide about calls of tools that others have asked for (`/api/approvals`), as above but not `all`.
    Absent: nobody; who asked decides."""
    feedback_readers: str | None = Field(default=None, pattern=r"^[A-Za-z0-9._-]{1,128}( *, *[A-Za-z0-9._-]{1,128})*$")
    """Who may read what callers say of answers (`GET /api/feedback`), as for `DOCUMENTS_WRITERS`. Absent: nobody."""
    operators: str | None = Field(default=None, pattern=r"^[A-Za-z0-9._-]{1,128}( *, *[A-Za-z0-9._-]{1,128})*$")
    """Who may list, stop and try again the kept runs of all (`/api/runs`), as for `DOCUMENTS_WRITERS`. Absent:
    nobody."""
    user_uploads: Literal["on", "off"] | None = None
    """Whether people may add [documents that only they see](documents.md#documents-of-ones-own). Absent: `on` where
    callers sign in and the app writes the index, else `off`."""
    user_uploads_days: int = Field(default=90, ge=0, le=3650)
    """After how many days such documents are deleted. 0: never."""
    chat_vision: bool = True
    """Whether the model sees images. False: requests with images are refused with a sentence."""
    chat_deadline_seconds: float = Field(default=210, gt=0, le=1800)
    """How long an answer may take that a request waits for. Azure cuts an HTTP response that stays idle for 230
    seconds: streams say something every 15, but a whole answer that may take longer has to be told later."""
    chat_max_tokens: int = Field(default=4096, ge=1, le=1_000_000)
    """The longest answer of one model call in tokens, with what a reasoning model thinks before. What is longer is
    cut, and its finish reason is `length`. Azure OpenAI counts this number into a deployment's tokens a minute at
    each call."""
    chat_source_tokens: int | None = Field(default=None, ge=500, le=1_000_000)
    """How much of the documents the model is given with a question, in tokens, four bytes each; a request may say
    how many passages instead (`top`). Absent: 5,000, or fewer if the model's service says that its window is small,
    and 900 for a model of at most 2 billion parameters. Lower it for a model that reads slowly."""
    chat_answer_format: Literal["auto", "text", "json"] = "auto"
    """How the model writes an answer from documents. `json`: first the names of its sources, each one that was found,
    then the text, which the app takes out of the JSON as it streams; small models cite better so. `auto`: `json` if its
    service or its name says that it has at most 2 billion parameters, else `text`."""
    chat_caller_prompts: bool | None = None
    """Whether callers may bring a system prompt (`prompt_template`, messages with the role `system`), else a 403.
    Absent: true, but false in Azure with `AUTH_MODE=none`."""
    chat_reasoning_effort: Literal["none", "minimal", "low", "medium", "high", "xhigh", "max"] | None = None
    """How long a reasoning model may think. Absent: the model's own default."""
    chat_agent: str | None = None
    """The agent of `AGENTS_FILE` that answers single chat. Absent: the model answers."""
    agents_file: Path | None = None
    """The [team of agents](agents.md), as YAML, with the tool servers and APIs that they may call. Absent: the
    sample team, `samples/agents.yaml`."""
    agents_deadline_seconds: float = Field(default=25, gt=0, le=1800)
    """How long a team's answer may take, and each whole answer in `semantic-kernel`. ChatUI gives up after 30
    seconds."""
    batch_backend: Literal["folder", "queue", "off"] | None = None
    """Where answers are kept that outlive their request ([runs](protocols.md#runs)): `folder`, in this process and
    `DATA_DIR`; `queue`, by a queue and blobs of `AzureWebJobsStorage`; `off`, nowhere. Absent: `queue` if that
    storage is set, else `folder`."""
    chat_runs: Literal["asked", "always"] = "asked"
    """Which answers are [kept](protocols.md#runs): those whose request asks for it, or all."""
    batch_queue: _StorageName = "chat-batches"
    """With `queue`: the name of the queue and of the container of blobs. Two apps that share a storage account need one
    each."""
    batch_deadline_seconds: float = Field(default=900, gt=0, le=1500)
    """How long an answer may take whose caller asked to be told later (`Prefer: respond-async`, `background`), that has
    waited for a person, or that another process has taken over, from when it begins."""
    chat_requests_queue: _StorageName | None = None
    """A queue of `AzureWebJobsStorage` whose messages are requests (docs/workflows.md). Absent: none."""
    chat_answers_queue: _StorageName | None = None
    """The queue for their answers. Those over 48 KiB are in a container of the same name."""
    rai_mode: Literal["off", "annotate", "enforce"] = "off"
    """Safety checks: `off`; `annotate` reports results and holds nothing back; `enforce` sends only text that the
    service has cleared."""
    rai_backend: Literal["rai", "content-safety"] = "rai"
    """The service that checks: the RAI service, or Azure AI Content Safety."""
    rai_endpoint: str | None = Field(
        default=None, pattern=r"^(https://\S+|(http://)?([^\s/:]+|\[[0-9a-fA-F:]+\]):\d{1,5})$"
    )
    """The RAI service: `https://…` for TLS; `host:port` on this machine, without TLS; or `http://host:port` on
    another one, unencrypted."""
    rai_token: _Key | None = None
    """The token for an RAI service without Microsoft Entra ID; `none`: nothing is sent. Absent: with `https://…` a
    token of the app's identity."""
    rai_policy: str = "default"
    """The policy to check against: its name at the RAI service. Azure AI Content Safety has `default`, or takes the
    path of a JSON file (ending in `.json`)."""
    rai_on_error: Literal["block", "allow"] | None = None
    """What to do [when the safety service is at fault](safety.md#when-the-service-is-at-fault). Absent: `block` with
    `RAI_MODE=enforce`; with `annotate` nothing is ever blocked."""
    rai_without_model: Literal["block", "allow"] = "block"
    """What to do when the RAI service has no model for any task of its policy (`NoModel`): `block` makes that a
    fault of the service."""
    rai_timeout_seconds: float = Field(default=10, gt=0, le=120)
    """How long to wait for a result of the safety service."""
    shields: Literal["off", "on"] = "off"
    """Prompt Shields: whether Azure AI Content Safety looks for [orders to the model](safety.md#prompt-shields),
    whatever `RAI_MODE` and `RAI_BACKEND` are."""
    content_safety_endpoint: _Url | None = None
    """Azure AI Content Safety, such as `https://contoso.cognitiveservices.azure.com`, for
    `RAI_BACKEND=content-safety` and `SHIELDS`."""
    content_safety_api_key: _Key | None = None
    """Key of that resource."""
    link_hosts: str | None = Field(
        default=None, pattern=r"^(\*\.)?[A-Za-z0-9.-]{1,253}( *, *(\*\.)?[A-Za-z0-9.-]{1,253})*$"
    )
    """Hosts to which [every answer may link](safety.md#links-and-images-of-an-answer), such as
    `intranet.contoso.com, *.contoso.com`."""
    azure_search_endpoint: _Url | None = None
    """Azure AI Search, such as `https://contoso.search.windows.net`. Absent: the built-in index."""
    azure_search_index: str | None = None
    """The index to search and to write to."""
    azure_search_api_key: _Key | None = None
    """Key of the service: a query key is enough to search, an admin key writes too."""
    azure_search_fields: Annotated[Mapping[str, str], BeforeValidator(_read_names)] = Field(
        default_factory=dict[str, str]
    )
    """The names of the index's [fields](search.md#an-existing-index) where they differ from
    azure-search-openai-demo's: `content=chunk, sourcepage=title`."""
    azure_vision_endpoint: _Url | None = None
    """Azure AI Vision, which makes vectors of page images (`PAGE_IMAGES`) for Azure AI Search. Absent: images are not
    searched."""
    azure_vision_api_key: _Key | None = None
    """Key of that resource."""
    document_intelligence_endpoint: _Url | None = None
    """Azure AI Document Intelligence, which reads scanned pages. Absent: scanned pages have no text."""
    document_intelligence_api_key: _Key | None = None
    """Key of that resource."""
    ocr: Literal["off", "local"] = "off"
    """`local`: [scanned pages](documents.md#scans) are read on this machine. `off`: only by Document Intelligence,
    where there is one."""
    page_images: bool = False
    """Whether ingestion stores an [image of each page](documents.md#images-of-pages) of a PDF, for models that read
    images."""
    content_storage: SecretStr | None = None
    """Connection string of the storage account of the documents, such as Azurite's. If this and
    `CONTENT_STORAGE__blobServiceUri` are absent, documents are stored in `DATA_DIR`."""
    content_container: _ContainerName = "content"
    """The container of the documents. Images of their pages are in another, `…-pages`, its events in the queue
    `…-events`."""
    auth_mode: Literal["none", "easy-auth", "bearer", "api-key"] = "none"
    """How callers sign in: not at all; by App Service Authentication in front of the app; with an Entra ID token that
    the app checks; or with one of the keys of `API_KEYS`."""
    api_keys: Annotated[tuple[ApiKey, ...], BeforeValidator(_read_keys)] = Field(default=(), repr=False)
    """The keys that `api-key` accepts, with commas between: `name:hash`, with the key's SHA-256, or
    `name:hash:group:group`, with the ids of groups whose documents its caller may see."""
    auth_tenant_id: _Uuid | None = None
    """The tenant whose tokens `bearer` accepts; `easy-auth` checks it if set."""
    auth_client_id: _Uuid | None = None
    """The app registration that tokens of `bearer` must be issued for."""
    auth_id_tokens: bool = False
    """Whether `bearer` also accepts [ID tokens](security.md#id-tokens) of that registration."""
    auth_authority: _Url = "https://login.microsoftonline.com"
    """The address of the tenant's signing keys; national clouds have others."""
    bot_id: _Uuid | None = None
    """App id of a bot of Azure Bot Service, whose activities the app answers ([Teams](teams.md)): the client id of the
    app's identity. Absent: there is no bot."""
    bot_tenant_id: _Uuid | None = None
    """The only tenant whose users may talk to the bot."""
    bot_sso_resource: str | None = Field(default=None, pattern=r"^api://[^\s?#]{1,200}$")
    """Single sign-on in Teams: the Application ID URI of `AUTH_CLIENT_ID`, such as `api://botid-` and `BOT_ID`. Absent:
    the bot knows no groups of its users ([Teams](teams.md#single-sign-on))."""
    bot_openid_metadata: _Url = "https://login.botframework.com/v1/.well-known/openidconfiguration"
    """Where Azure Bot Service says with which keys it signs; in Azure Government
    `https://login.botframework.azure.us/v1/.well-known/openidconfiguration`."""
    access_control: Literal["on-request", "enforced", "enforced-or-open"] = "on-request"
    """When callers see only the documents that [name them or one of their groups](security.md#what-a-caller-sees):
    if a request asks for it with a security filter, or always; with `enforced-or-open` also documents that name
    nobody, or `all`. Both need an `AUTH_MODE` in which callers sign in."""
    limit_caller_requests_per_minute: int = Field(default=0, ge=0)
    """How many requests a caller may send in a minute. 0: no limit."""
    limit_caller_tokens_per_day: int = Field(default=0, ge=0)
    """How many tokens the model may read and write for a caller in a day (UTC). 0: no limit."""
    limit_caller_runs: int = Field(default=0, ge=0)
    """How many kept answers (runs) a caller may have in progress. 0: no limit."""
    limit_caller_kept_megabytes: int = Field(default=0, ge=0)
    """How many megabytes are [kept of a caller's runs](security.md#what-callers-may-use) in 24 hours. 0: no limit."""
    limit_caller_documents: int = Field(default=100, ge=1, le=1_000)
    """How many [documents of their own](documents.md#documents-of-ones-own) a caller may have, with at most 100 MB
    and 5,000 pages together."""
    limit_requests_per_minute: int = Field(default=0, ge=0)
    """How many requests all callers together may send in a minute. 0: no limit."""
    limit_tokens_per_day: int = Field(default=0, ge=0)
    """How many tokens the model may read and write in a day (UTC). 0: no limit."""
    limit_backend: Literal["memory", "azure-table"] = "memory"
    """Where requests and tokens are counted: by each instance for itself, or by all of them together through Azure
    Table Storage."""
    client_address_header: str | None = Field(default=None, pattern=r"^[A-Za-z0-9-]{1,100}$")
    """The header whose last entry is the address of a caller who does not sign in, such as `X-Azure-SocketIP`
    [behind Azure Front Door](production.md#a-gateway-a-domain-a-second-region). Name only one that what is in front
    of the app writes. Absent: `X-Forwarded-For` in Azure; elsewhere the other end of the connection counts."""
    telemetry_content: bool = False
    """Whether traces contain questions and answers."""
    applicationinsights_connection_string: SecretStr | None = None
    """Application Insights, for traces. If this and `OTEL_EXPORTER_OTLP_ENDPOINT` are absent, there are none."""
    otel_exporter_otlp_endpoint: _Url | None = None
    """Any OpenTelemetry collector, such as `http://localhost:4318`, for traces."""
    audit: Literal["off", "on", "texts"] = "off"
    """Whether there is an [audit record](data.md#audit), with `texts` also of questions and answers."""
    audit_on_error: Literal["block", "allow"] = "block"
    """What happens to a turn or a change that cannot be recorded: `block` refuses it, `allow` goes on with a
    warning in the log."""
    history_days: int = Field(default=0, ge=0, le=3650)
    """After how many days without a new message a chat is deleted, and after how many an answer's record with what
    was said of it. 0: never."""
    history_backend: Literal["sqlite", "azure-table", "off"] = "sqlite"
    """Where chats are stored: in a file in `DATA_DIR`, in Azure Table Storage, or nowhere."""
    azure_web_jobs_storage: SecretStr | None = None
    """Connection string of the app's own storage account, which the platform reads too: for batches and queues of
    requests, and with `azure-table` for chats and budgets. Or the addresses [below](#variables-of-the-platform)."""
    data_dir: Path = Path(".data")
    """The folder of the built-in stores: the index with its documents, and the chat history. If it may only be read
    or its disk is full, questions are answered and nothing is kept."""


class PlatformFields(_Fields):
    """Variables that Azure Functions has named, and reads or sets itself."""

    azure_web_jobs_storage_blobs: _Url | None = None
    """Address of the blobs of the app's own storage account, for the app's identity, where there is no connection
    string."""
    azure_web_jobs_storage_queues: _Url | None = None
    """Address of that account's queues, likewise."""
    azure_web_jobs_storage_tables: str | None = Field(default=None, pattern=r"^https://\S+$")
    """Address of that account's tables, likewise."""
    content_storage_blobs: _Url | None = None
    """Address of the blobs of the documents' storage account, such as `https://contoso.blob.core.windows.net`, for the
    app's identity."""
    content_storage_queues: _Url | None = None
    """Address of the queues with the events of that account. If this and `CONTENT_STORAGE` are absent, the container is
    not watched."""
    applicationinsights_authentication_string: str | None = None
    """`Authorization=AAD`, with `;ClientId=…` for a user-assigned identity: sign in to Application Insights with the
    app's identity."""
    website_auth_enabled: bool = False
    """Set where App Service Authentication is in front of the app."""
    website_cors_allowed_origins: Annotated[tuple[str, ...], BeforeValidator(_read_origins)] = ()
    """Set in Azure: the origins of the app's CORS setting. MCP takes no others."""
    website_site_name: str | None = None
    """Set in Azure: the name of the app there."""


PLATFORMS_OWN = {
    "azure_web_jobs_storage": "AzureWebJobsStorage",
    "azure_web_jobs_storage_blobs": "AzureWebJobsStorage__blobServiceUri",
    "azure_web_jobs_storage_queues": "AzureWebJobsStorage__queueServiceUri",
    "azure_web_jobs_storage_tables": "AzureWebJobsStorage__tableServiceUri",
    "content_storage_blobs": "CONTENT_STORAGE__blobServiceUri",
    "content_storage_queues": "CONTENT_STORAGE__queueServiceUri",
}
"""Variables whose names the Functions platform has fixed; its triggers read them too."""


def variable(field: str) -> str:
    """The name of a field's environment variable."""
    return PLATFORMS_OWN.get(field, field.upper())
