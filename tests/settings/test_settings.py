"""Settings: complete, or a sentence that names what is missing."""

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from shared.app import get_settings
from shared.errors import NotConfigured
from shared.settings import Settings, misspelt
from shared.settings.fields import variable
from shared.wire.table import NAMES

SAMPLE = Path(__file__).parents[2] / "local.settings.sample.json"
UUID = "11111111-2222-3333-4444-555555555555"
BOT = {"BOT_ID": UUID, "BOT_TENANT_ID": UUID}
INSIGHTS = {
    "APPLICATIONINSIGHTS_CONNECTION_STRING": f"InstrumentationKey={UUID};IngestionEndpoint=https://westeurope.example/"
}
AAD = f"Authorization=AAD;ClientId={UUID}"
HASH = "0123456789abcdef" * 4
OTHER_HASH = "f" * 64
SEARCH = {"AZURE_SEARCH_ENDPOINT": "https://x.search.windows.net", "AZURE_SEARCH_INDEX": "i"}


def test_nothing_configured_is_complete() -> None:
    settings = Settings.read({})
    assert settings.chat_default_protocol == "ai-chat"
    assert settings.openai_base_url == ()


@pytest.mark.parametrize(
    ("environment", "says"),
    [
        ({"OPENAI_API_KEY": "sk-secret"}, "OPENAI_CHAT_MODEL is missing"),
        *(
            ({"OPENAI_CHAT_MODEL": "m", "OPENAI_API_KEY": f"sk-secret{odd}1"}, "OPENAI_API_KEY: should be a key")
            for odd in ("é", "\n", "\x7f")
        ),
        ({"OPENAI_BASE_URL": "http://localhost:11434/v1"}, "OPENAI_CHAT_MODEL is missing"),
        ({"OPENAI_CHAT_MODEL": "m"}, "OPENAI_API_KEY or OPENAI_BASE_URL is missing"),
        ({"OPENAI_EMBEDDING_MODEL": "m"}, "OPENAI_API_KEY or OPENAI_BASE_URL is missing"),
        ({"OPENAI_EMBEDDING_BASE_URL": "http://localhost:1234/v1"}, "OPENAI_EMBEDDING_MODEL is missing"),
        ({"OPENAI_EMBEDDING_API_KEY": "sk-secret"}, "OPENAI_EMBEDDING_MODEL is missing"),
        ({"OPENAI_EMBEDDING_BASE_URL": "localhost:1234"}, "OPENAI_EMBEDDING_BASE_URL: should be a URL"),
        ({"EMBEDDINGS": "yes"}, "EMBEDDINGS: "),
        ({"EMBEDDINGS": "index"}, "AZURE_SEARCH_ENDPOINT is missing: EMBEDDINGS=index needs"),
        (
            {"EMBEDDINGS": "local", "OPENAI_EMBEDDING_MODEL": "m", "OPENAI_EMBEDDING_API_KEY": "sk-secret"},
            "EMBEDDINGS is local and OPENAI_EMBEDDING_MODEL is set",
        ),
        ({"AZURE_OPENAI_ENDPOINT": "https://x.openai.azure.com"}, "AZURE_OPENAI_CHAT_DEPLOYMENT is missing"),
        (
            {"AZURE_OPENAI_ENDPOINT": "http://127.0.0.1.example", "AZURE_OPENAI_CHAT_DEPLOYMENT": "d"},
            "AZURE_OPENAI_ENDPOINT is another machine without TLS",
        ),
        ({"AZURE_OPENAI_CHAT_DEPLOYMENT": "d"}, "AZURE_OPENAI_ENDPOINT is missing"),
        ({"AZURE_OPENAI_API_KEY": "sk-secret"}, "AZURE_OPENAI_ENDPOINT is missing"),
        (
            {"OPENAI_API_KEY": "sk-secret", "OPENAI_CHAT_MODEL": "m", "AZURE_OPENAI_ENDPOINT": "https://x"},
            "unset one of the two",
        ),
        ({"CHAT_REASONING_EFFORT": "low"}, "CHAT_REASONING_EFFORT is set: name a model"),
        ({"OPENAI_BASE_URL": "localhost:11434"}, "OPENAI_BASE_URL: should be a URL with its scheme"),
        *(
            ({"OPENAI_CHAT_MODEL": "m", "OPENAI_BASE_URL": urls, "OPENAI_API_KEY": keys}, says)
            for urls, keys, says in (
                ("http://a/v1,", "", "OPENAI_BASE_URL: entry 2 should be a URL"),
                ("http://a/v1, b/v1", "", "OPENAI_BASE_URL: entry 2 should be a URL"),
                ("http://a/v1=0", "", "OPENAI_BASE_URL: should be a URL.*weight"),
                ("http://a/v1=2,http://b/v1=x", "", "OPENAI_BASE_URL: entry 2 .*weight"),
                ("http://a/v1,http://u:p@b/v1", "", "OPENAI_BASE_URL: entry 2 should be a URL.*without a user"),
                ("http://a/v1, http://a/v1/=2", "", "OPENAI_BASE_URL has the same endpoint twice"),
                ("http://a,http://b,http://c", "k,l", "OPENAI_API_KEY has 2 keys for the 3 endpoints"),
                ("http://a,http://b", "k,", "OPENAI_API_KEY, entry 2: the key is missing"),
            )
        ),
        (
            {"AZURE_OPENAI_ENDPOINT": "https://a, http://b.example", "AZURE_OPENAI_CHAT_DEPLOYMENT": "d"},
            "AZURE_OPENAI_ENDPOINT is another machine without TLS",
        ),
        ({"CHAT_DEADLINE_SECONDS": "soon"}, "CHAT_DEADLINE_SECONDS: should be a number"),
        ({"CHAT_DEADLINE_SECONDS": "0"}, "CHAT_DEADLINE_SECONDS: "),
        ({"CHAT_VISION": "perhaps"}, "CHAT_VISION: should be true or false"),
        ({"RAI_MODE": "on"}, "RAI_MODE: should be 'off', 'annotate' or 'enforce'"),
        ({"RAI_MODE": "enforce"}, "RAI_ENDPOINT is missing"),
        ({"RAI_ENDPOINT": "http://rai.example"}, r"RAI_ENDPOINT: should be https://…, host:port or http://host:port\."),
        ({"RAI_ENDPOINT": "rai.example:50051"}, "RAI_ENDPOINT is another machine without TLS.*or http://host:port"),
        ({"RAI_ENDPOINT": "127.0.0.1.example:50051"}, "RAI_ENDPOINT is another machine"),
        ({"RAI_ENDPOINT": "http://rai.example:50051", "RAI_TOKEN": "t"}, "RAI_ENDPOINT is another machine without TLS"),
        ({"RAI_TOKEN": "t"}, "RAI_ENDPOINT is missing, though RAI_TOKEN is set"),
        ({"RAI_BACKEND": "content-safety"}, "CONTENT_SAFETY_ENDPOINT is missing"),
        ({"CONTENT_SAFETY_ENDPOINT": "https://x"}, "set RAI_BACKEND to content-safety"),
        ({"AGENTS_DEADLINE_SECONDS": "0"}, "AGENTS_DEADLINE_SECONDS: "),
        ({"AUTH_MODE": "open"}, "AUTH_MODE: .*'easy-auth'"),
        ({"AUTH_MODE": "easy-auth"}, "AUTH_MODE is easy-auth.*WEBSITE_AUTH_ENABLED"),
        ({"AUTH_MODE": "easy-auth", "WEBSITE_AUTH_ENABLED": "False"}, "AUTH_MODE is easy-auth"),
        ({"AUTH_MODE": "bearer", "AUTH_CLIENT_ID": UUID}, "AUTH_TENANT_ID is missing"),
        ({"AUTH_MODE": "bearer", "AUTH_TENANT_ID": UUID}, "AUTH_CLIENT_ID is missing"),
        ({"AUTH_TENANT_ID": UUID}, "AUTH_TENANT_ID is set: set AUTH_MODE to bearer"),
        ({"AUTH_CLIENT_ID": UUID}, "AUTH_CLIENT_ID is set: set AUTH_MODE to bearer"),
        (BOT | {"BOT_SSO_RESOURCE": "api://a"}, "AUTH_CLIENT_ID is missing, though BOT_SSO_RESOURCE is set"),
        ({"BOT_SSO_RESOURCE": "api://a", "AUTH_CLIENT_ID": UUID}, "BOT_ID is missing, though BOT_SSO_RESOURCE is set"),
        (BOT | {"BOT_SSO_RESOURCE": UUID, "AUTH_CLIENT_ID": UUID}, "BOT_SSO_RESOURCE: should be the Application ID"),
        (BOT | {"APPROVERS": "boss"}, "APPROVERS names callers, and nobody signs in"),
        ({"AUTH_ID_TOKENS": "true"}, "AUTH_ID_TOKENS is set: set AUTH_MODE to bearer"),
        ({"AUTH_TENANT_ID": "common"}, "AUTH_TENANT_ID: should be a UUID"),
        ({"AUTH_CLIENT_ID": "api://" + UUID}, "AUTH_CLIENT_ID: should be a UUID"),
        ({"AUTH_MODE": "api-key"}, "API_KEYS is missing: AUTH_MODE=api-key needs it. `make api-key NAME=…`"),
        ({"AUTH_MODE": "api-key", "API_KEYS": " , "}, "API_KEYS is missing"),
        ({"API_KEYS": f"a:{HASH}"}, "API_KEYS is set: set AUTH_MODE to api-key, or unset it"),
        ({"AUTH_MODE": "bearer", "API_KEYS": f"a:{HASH}"}, "API_KEYS is set"),
        ({"AUTH_MODE": "api-key", "AUTH_CLIENT_ID": UUID, "API_KEYS": f"a:{HASH}"}, "AUTH_CLIENT_ID is set"),
        ({"AUTH_AUTHORITY": "login.microsoftonline.us"}, "AUTH_AUTHORITY: should be a URL"),
        ({"AUTH_AUTHORITY": "http://login.example"}, "AUTH_AUTHORITY is another machine without TLS"),
        ({"ACCESS_CONTROL": "off"}, "ACCESS_CONTROL: .*'enforced'"),
        ({"ACCESS_CONTROL": "enforced"}, "AUTH_MODE is none: ACCESS_CONTROL=enforced needs callers who sign in"),
        ({"ACCESS_CONTROL": "enforced-or-open"}, "ACCESS_CONTROL=enforced-or-open needs callers who sign in"),
        ({"HISTORY_BACKEND": "cosmos"}, "HISTORY_BACKEND: .*'azure-table'"),
        *(
            ({name: "azure-table"}, f"AzureWebJobsStorage is missing: {name}=azure-table.*__tableServiceUri")
            for name in ("HISTORY_BACKEND", "LIMIT_BACKEND")
        ),
        ({"AzureWebJobsStorage__tableServiceUri": "http://x"}, "__tableServiceUri: .*such as https://"),
        ({"AZURE_SEARCH_ENDPOINT": "https://x.search.windows.net"}, "AZURE_SEARCH_INDEX is missing: name the index"),
        *(
            ({name: value}, f"AZURE_SEARCH_ENDPOINT is missing, though {name} is set")
            for name, value in {
                "AZURE_SEARCH_INDEX": "i",
                "AZURE_SEARCH_FIELDS": "content=chunk",
                "AZURE_VISION_ENDPOINT": "https://x.cognitiveservices.azure.com",
            }.items()
        ),
        *(
            (SEARCH | {"AZURE_SEARCH_FIELDS": fields}, "AZURE_SEARCH_FIELDS: should be field=name.*sourcepage")
            for fields in (
                *("contents=chunk", "content", "content=", "content=chunk, nothing", "=chunk"),
                *("oids=oids/any() or true or oids", "content=my text", "content=a=b", "content=1st"),
                "semanticConfiguration=my configuration",
            )
        ),
        (SEARCH | {"AZURE_SEARCH_ENDPOINT": "http://127.0.0.1.example"}, "AZURE_SEARCH_ENDPOINT is another machine"),
        *(
            (environment, says)
            for service in ("CONTENT_SAFETY", "AZURE_SEARCH", "AZURE_VISION", "DOCUMENT_INTELLIGENCE")
            for environment, says in (
                ({f"{service}_API_KEY": "sk-secret"}, f"{service}_ENDPOINT is missing, though {service}_API_KEY"),
                ({f"{service}_ENDPOINT": "http://["}, f"{service}_ENDPOINT: should be a URL"),
                ({f"{service}_ENDPOINT": "https://:1"}, f"{service}_ENDPOINT: should be a URL"),
                ({f"{service}_ENDPOINT": "https://host:port"}, f"{service}_ENDPOINT: should be a URL"),
                ({f"{service}_ENDPOINT": "http://127.0.0.1:1"}, f"without {service}_API_KEY it has to be https"),
                ({f"{service}_ENDPOINT": "http://x.example"}, f"{service}_ENDPOINT is another machine without TLS"),
            )
        ),
        (
            {"CONTENT_STORAGE": "AccountName=a;AccountKey=sk-secret", "CONTENT_STORAGE__blobServiceUri": "https://x"},
            "CONTENT_STORAGE and CONTENT_STORAGE__blobServiceUri are set: unset one",
        ),
        ({"CONTENT_STORAGE": "sk-secret"}, "CONTENT_STORAGE: should be the connection string of a storage account"),
        ({"CONTENT_STORAGE__queueServiceUri": "https://x"}, "CONTENT_STORAGE__blobServiceUri is missing"),
        ({"CHAT_REQUESTS_QUEUE": "asked", "BATCH_BACKEND": "off"}, "the answers of CHAT_REQUESTS_QUEUE are kept until"),
        ({"CONTENT_STORAGE__blobServiceUri": "http://blobs.example"}, "CONTENT_STORAGE__blobServiceUri is another"),
        (
            {
                "CONTENT_STORAGE__blobServiceUri": "https://x",
                "CONTENT_STORAGE__queueServiceUri": "http://queues.example",
            },
            "CONTENT_STORAGE__queueServiceUri is another machine",
        ),
        ({"CONTENT_STORAGE__blobServiceUri": "contoso"}, "CONTENT_STORAGE__blobServiceUri: should be a URL"),
        *(
            ({name: "Not_A_Name"}, f"{name}: should be a {kind}'s name")
            for name, kind in {"CONTENT_CONTAINER": "container", "BATCH_QUEUE": "queue"}.items()
        ),
        ({"CONTENT_CONTAINER": "x" * 50}, "CONTENT_CONTAINER: should be a container's name"),
        ({"APPLICATIONINSIGHTS_CONNECTION_STRING": "sk-secret"}, "APPLICATIONINSIGHTS_CONNECTION_STRING: should be"),
        ({"APPLICATIONINSIGHTS_AUTHENTICATION_STRING": AAD}, "APPLICATIONINSIGHTS_CONNECTION_STRING is missing"),
        (INSIGHTS | {"APPLICATIONINSIGHTS_AUTHENTICATION_STRING": "AAD"}, "should be Authorization=AAD"),
        ({"OTEL_EXPORTER_OTLP_ENDPOINT": "localhost:4318"}, "OTEL_EXPORTER_OTLP_ENDPOINT: should be a URL"),
        ({"TELEMETRY_CONTENT": "true"}, "TELEMETRY_CONTENT is true: set APPLICATIONINSIGHTS_CONNECTION_STRING or"),
        (
            {"TELEMETRY_CONTENT": "true", "OTEL_EXPORTER_OTLP_ENDPOINT": "http://collector:4318"},
            "OTEL_EXPORTER_OTLP_ENDPOINT is another machine without TLS",
        ),
    ],
)
def test_what_is_missing_or_wrong_is_named(environment: dict[str, str], says: str) -> None:
    with pytest.raises(NotConfigured, match=says) as raised:
        Settings.read(environment)
    assert "sk-secret" not in raised.value.message


@pytest.mark.parametrize(
    "name", ["CHAT_MAX_QUESTION_TOKENS", "CHAT_MAX_WORDS", "LIMIT_CALLER_DOCUMENT_PAGES", "limit_everybody"]
)
def test_a_limit_that_the_app_does_not_have_is_never_ignored(name: str) -> None:
    with pytest.raises(NotConfigured, match=f"^{name} is no setting: unset it. docs/settings.md has the limits"):
        Settings.read({name: "10"})


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("RAI_MOD", "RAI_MODE"),
        ("RAI_MDOE", "RAI_MODE"),
        ("RAIMODE", "RAI_MODE"),
        ("rai_mode", "RAI_MODE"),
        ("DATA_DIRS", "DATA_DIR"),
        ("OPENAI_APIKEY", "OPENAI_API_KEY"),
        ("AZURE_OPENAI_ENDPIONT", "AZURE_OPENAI_ENDPOINT"),
        ("ACCES_CONTROLL", "ACCESS_CONTROL"),
        ("CONTENT_STORAGE__blobServiceURL", "CONTENT_STORAGE__blobServiceUri"),
        ("AzureWebjobsStorage", "AzureWebJobsStorage"),
    ],
)
def test_a_misspelt_setting_is_an_error_that_names_the_one_that_is_meant(written: str, meant: str) -> None:
    with pytest.raises(NotConfigured, match=f"^{written} is no setting: did you mean {meant}[?]$") as refused:
        Settings.read({written: "secret"})
    assert "secret" not in str(refused.value)


PLATFORM = """
AzureWebJobsStorage__accountName AzureWebJobsStorage__credential AzureWebJobsSecretStorageType AzureWebJobsFeatureFlags
FUNCTIONS_EXTENSION_VERSION FUNCTIONS_WORKER_RUNTIME FUNCTIONS_WORKER_RUNTIME_VERSION FUNCTIONS_WORKER_PROCESS_COUNT
WEBSITE_SITE_NAME WEBSITE_HOSTNAME WEBSITE_INSTANCE_ID WEBSITE_AUTH_ENABLED WEBSITE_AUTH_ENCRYPTION_KEY
WEBSITE_RUN_FROM_PACKAGE WEBSITE_SKU WEBSITE_OWNER_NAME WEBSITE_CLOUD_NAME APPSETTING_RAI_MODE APPSETTING_DATA_DIR
CONTENT_STORAGE__credential CONTENT_STORAGE__clientId CONTENT_STORAGE__accountName CONTENT_STORAGE__tableServiceUri
APPLICATIONINSIGHTS_STATSBEAT_DISABLED_ALL APPINSIGHTS_INSTRUMENTATIONKEY APPLICATIONINSIGHTS_SAMPLING_PERCENTAGE
AZURE_CLIENT_ID AZURE_TENANT_ID AZURE_CLIENT_SECRET AZURE_SUBSCRIPTION_ID AZURE_ENV_NAME AZURE_LOCATION
AZURE_RESOURCE_GROUP AZURE_PRINCIPAL_ID AZURE_SEARCH_SERVICE AZURE_OPENAI_SERVICE AZURE_AUTHORITY_HOST
AZURE_STORAGE_ACCOUNT AZURE_STORAGE_CONTAINER AZURE_OPENAI_CHATGPT_DEPLOYMENT AZURE_OPENAI_CHATGPT_MODEL
AZURE_OPENAI_EMB_DEPLOYMENT AZURE_OPENAI_AD_TOKEN AZURE_OPENAI_API_VERSION AZURE_AI_SEARCH_ENDPOINT
AZURE_AI_SEARCH_API_KEY AZURE_AI_SEARCH_INDEX AZURE_AI_SEARCH_INDEX_NAME AZURE_OPENAI_CHAT_DEPLOYMENT_NAME
OPENAI_ORG_ID OPENAI_PROJECT_ID OPENAI_API_BASE OPENAI_API_TYPE OPENAI_API_VERSION OPENAI_MODEL OPENAI_CHAT_MODEL_ID
OPENAI_API_KEY_2 OPENAI_API_KEY2 AI_ENDPOINT XDG_DATA_DIRS XDG_DATA_HOME _RAI_MODE
PATH HOME HOSTNAME LANG PWD PORT CORS HOST SHELL TERM USER TMPDIR VIRTUAL_ENV CHROMIUM
RAI_REFERENCE_POLICY RAI_REFERENCE_FAULTS SWITCHBOARD_URL
API_KEY RAG_MODE
"""
"""Names that the platform, its tools and other programs set."""
LIBRARIES = ("agent_framework", "azure", "grpc", "msal", "openai", "opentelemetry", "azure_functions_runtime")


def names_in_libraries() -> Iterator[str]:
    """Every text in capitals in the code of libraries that read variables."""
    packages = Path(pytest.__file__).parents[1]
    for library in LIBRARIES:
        for file in (packages / library).rglob("*.py"):
            yield from re.findall(r"[\"']([A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+)[\"']", file.read_text(encoding="utf-8"))


def test_what_the_platform_and_libraries_read_is_never_taken_for_a_misspelling() -> None:
    found = set(names_in_libraries())
    assert {"AZURE_CLIENT_ID", "OPENAI_ORG_ID", "OTEL_EXPORTER_OTLP_HEADERS"} <= found
    ours = {variable(field) for field in Settings.model_fields}
    wrong = [name for name in sorted({*found, *PLATFORM.split()} - ours) if list(misspelt({name: "x"}))]
    assert wrong == []


@pytest.mark.parametrize(
    ("environment", "says"),
    [
        ({"DOCUMENTS_WRITERS": "everyone"}, "DOCUMENTS_WRITERS names callers, and nobody signs in: set it to all or"),
        (
            {"DOCUMENTS_WRITERS": "writer, everyone", "AUTH_MODE": "api-key", "API_KEYS": f"writer:{HASH}"},
            "DOCUMENTS_WRITERS has a name that is no key of API_KEYS and no group of one. For everybody it is all.",
        ),
        (
            {"DOCUMENTS_WRITERS": "Everyone", "AUTH_MODE": "easy-auth", "WEBSITE_AUTH_ENABLED": "True"},
            "DOCUMENTS_WRITERS should have ids of groups. For everybody who is signed in it is all, else nobody.",
        ),
        (
            {"APPROVERS": "boss"},
            "APPROVERS names callers, and nobody signs in: set it to all or nobody, or set AUTH_MODE.",
        ),
        ({"CHAT_MAX_TOKENS": "4k"}, "CHAT_MAX_TOKENS: should be a whole number."),
        (
            {"RAI_MODE": "annotate", "RAI_ON_ERROR": "block", "RAI_ENDPOINT": "localhost:50051"},
            "RAI_ON_ERROR is block, and RAI_MODE=annotate never blocks: set RAI_MODE to enforce, or unset it.",
        ),
    ],
)
def test_a_value_that_would_do_something_else_than_it_says_gets_one_sentence(
    environment: dict[str, str], says: str
) -> None:
    with pytest.raises(NotConfigured, match=f"^{re.escape(says)}"):
        Settings.read(environment)


def test_an_empty_variable_with_a_misspelt_name_changes_nothing() -> None:
    assert Settings.read({"RAI_MOD": ""}) == Settings.read({})


def test_every_problem_is_named_at_once() -> None:
    with pytest.raises(NotConfigured, match=r"(?s)CHAT_DEADLINE_SECONDS.*RAI_MODE.*AUTH_MODE"):
        Settings.read({"CHAT_DEADLINE_SECONDS": "-1", "RAI_MODE": "on", "AUTH_MODE": "open"})
    with pytest.raises(NotConfigured, match=r"(?s)RAI_ENDPOINT.*AZURE_SEARCH_INDEX.*AUTH_CLIENT_ID"):
        Settings.read(
            {"RAI_MODE": "enforce", "AZURE_SEARCH_ENDPOINT": "https://x", "AUTH_MODE": "bearer", "AUTH_TENANT_ID": UUID}
        )


@pytest.mark.parametrize(
    "environment",
    [
        {"AUTH_MODE": "bearer", "AUTH_TENANT_ID": UUID, "AUTH_CLIENT_ID": UUID, "ACCESS_CONTROL": "enforced"},
        {"AUTH_MODE": "easy-auth", "WEBSITE_AUTH_ENABLED": "True", "ACCESS_CONTROL": "enforced"},
        {"AUTH_MODE": "easy-auth", "WEBSITE_AUTH_ENABLED": "True", "AUTH_TENANT_ID": UUID},
        {"WEBSITE_AUTH_ENABLED": "True"},
        {
            "AUTH_MODE": "api-key",
            "API_KEYS": f" a:{HASH} ,\n b-2 : {OTHER_HASH} : {UUID}:staff,",
            "ACCESS_CONTROL": "enforced",
        },
        {"AUTH_AUTHORITY": "http://127.0.0.1:8080"},
        BOT | {"BOT_SSO_RESOURCE": "api://chat.contoso.com/botid-1", "AUTH_CLIENT_ID": UUID, "APPROVERS": UUID},
        SEARCH | {"AZURE_SEARCH_API_KEY": "k"},
        SEARCH | {"AZURE_SEARCH_ENDPOINT": "http://localhost:8080", "AZURE_SEARCH_API_KEY": "k"},
        SEARCH | {"EMBEDDINGS": "index", "AZURE_SEARCH_FIELDS": "semanticConfiguration=rag-1-configuration"},
        {"RAI_ENDPOINT": "http://rai.example:50051"},
        {"RAI_ENDPOINT": "http://[2001:db8::1]:50051"},
        {"AzureWebJobsStorage__tableServiceUri": "https://t", "HISTORY_BACKEND": "azure-table"},
        {"CONTENT_STORAGE": "UseDevelopmentStorage=true"},
        {"CONTENT_STORAGE__blobServiceUri": "https://b", "CONTENT_STORAGE__queueServiceUri": "https://q"},
        SEARCH | {"DOCUMENT_INTELLIGENCE_ENDPOINT": "https://d", "AZURE_VISION_ENDPOINT": "https://v"},
        INSIGHTS | {"APPLICATIONINSIGHTS_AUTHENTICATION_STRING": AAD},
        INSIGHTS | {"APPLICATIONINSIGHTS_AUTHENTICATION_STRING": f"ClientId={UUID};Authorization=AAD"},
        INSIGHTS | {"TELEMETRY_CONTENT": "true"},
        {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://collector:4318"},
    ],
)
def test_what_is_complete_is_taken(environment: dict[str, str]) -> None:
    assert Settings.read(environment) != Settings.read({})


def test_the_fields_of_an_index_are_read_by_name() -> None:
    settings = Settings.read(SEARCH | {"AZURE_SEARCH_FIELDS": " content=chunk, sourcepage = title ,"})
    assert settings.azure_search_fields == {"content": "chunk", "sourcepage": "title"}


def test_the_longest_prompt_grows_with_the_sources() -> None:
    assert [Settings.read({"CHAT_SOURCE_TOKENS": n}).longest_prompt for n in ("", "500", "112000")] == [
        100_000,
        100_000,
        200_000,
    ]


@pytest.mark.parametrize(
    ("more", "links"),
    [
        ({}, "https://chat.example/api/content"),
        ({"AUTH_MODE": "easy-auth", "WEBSITE_AUTH_ENABLED": "True"}, "https://chat.example/api/content"),
        ({"AUTH_MODE": "api-key", "API_KEYS": f"a:{HASH}"}, None),
        ({"PUBLIC_URL": ""}, None),
    ],
)
def test_citations_are_links_where_a_browser_can_open_them(more: dict[str, str], links: str | None) -> None:
    assert Settings.read({"PUBLIC_URL": "https://chat.example/api/", **more}).citation_links == links


def test_an_empty_variable_is_unset() -> None:
    assert Settings.read({"OPENAI_API_KEY": " ", "CHAT_DEADLINE_SECONDS": ""}) == Settings.read({})


@pytest.fixture
def settings_unread() -> Iterator[None]:
    """The settings of this process are read again, before the test and after it."""
    get_settings.cache_clear()
    yield
    get_settings.cache_clear()


@pytest.mark.usefixtures("settings_unread")
@pytest.mark.parametrize("name", NAMES)
def test_every_protocol_can_be_the_default(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CHAT_DEFAULT_PROTOCOL", name)
    assert get_settings().chat_default_protocol == name


@pytest.mark.usefixtures("settings_unread")
def test_a_default_protocol_that_does_not_exist_is_refused_with_those_that_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CHAT_DEFAULT_PROTOCOL", "smtp")
    with pytest.raises(NotConfigured, match=r"CHAT_DEFAULT_PROTOCOL: should be 'ai-chat', .* or '[a-z-]+'\."):
        get_settings()


def test_the_platforms_own_variable_is_read_by_its_name_and_needs_no_other() -> None:
    environment = {"AzureWebJobsStorage": "AccountName=a;AccountKey=sk-secret"}
    assert Settings.read(environment).history_backend == "sqlite"
    settings = Settings.read(environment | {"HISTORY_BACKEND": "azure-table"})
    assert settings.azure_web_jobs_storage is not None
    assert "sk-secret" not in f"{settings!r} {settings}"


def test_the_sample_file_has_every_setting_and_works_as_it_is() -> None:
    values: dict[str, str] = json.loads(SAMPLE.read_text())["Values"]
    by_hand = {variable(name) for name in Settings.model_fields} - {
        "WEBSITE_AUTH_ENABLED",
        "WEBSITE_CORS_ALLOWED_ORIGINS",
        "WEBSITE_SITE_NAME",
    }  # the platform's
    assert set(values) - {"FUNCTIONS_WORKER_RUNTIME"} == by_hand
    assert Settings.read(values) == Settings.read({})


@pytest.mark.parametrize(
    ("written", "origins"),
    [
        ("https://a.example,https://B.example:8443", ("https://a.example", "https://b.example:8443")),
        ('["https://a.example", "http://localhost:3000"]', ("https://a.example", "http://localhost:3000")),
        ("*", ("*",)),
        ("[]", ()),
        ("", ()),
    ],
)
def test_the_platforms_origins_are_read_however_it_lists_them(written: str, origins: tuple[str, ...]) -> None:
    assert Settings.read({"WEBSITE_CORS_ALLOWED_ORIGINS": written}).website_cors_allowed_origins == origins
