import pytest

from shared.errors import NotConfigured
from shared.outbound.openai_service.connection import OpenAIConnection, ServedModel
from shared.settings import Settings


def connection(**environment: str) -> OpenAIConnection:
    found = OpenAIConnection.from_settings(Settings.read(environment))
    assert found is not None
    return found


def test_no_service_in_the_settings_is_no_connection() -> None:
    assert OpenAIConnection.from_settings(Settings.read({})) is None


def test_a_key_alone_means_openai() -> None:
    found = connection(OPENAI_API_KEY="sk-1", OPENAI_CHAT_MODEL="gpt-4o-mini", OPENAI_EMBEDDING_MODEL="embed")
    assert (found.kind, found.base_url, found.host) == ("openai", "https://api.openai.com/v1", "api.openai.com")
    assert found.chat_model == ServedModel("gpt-4o-mini", "OPENAI_CHAT_MODEL")
    assert found.embedding_model == ServedModel("embed", "OPENAI_EMBEDDING_MODEL")


def test_a_base_url_means_a_compatible_service_that_may_need_no_key() -> None:
    found = connection(OPENAI_BASE_URL="http://localhost:11434/v1", OPENAI_CHAT_MODEL="llama3")
    assert (found.kind, found.host, found.api_key) == ("openai-compatible", "localhost:11434", None)
    assert found.embedding_model is None
    assert not found.uses_identity


@pytest.mark.parametrize(
    ("own", "address", "key"),
    [
        ({}, "http://localhost:11434/v1", "sk-chat"),
        ({"OPENAI_EMBEDDING_BASE_URL": "http://localhost:1234/v1"}, "http://localhost:1234/v1", None),
        ({"OPENAI_EMBEDDING_API_KEY": "sk-own"}, "https://api.openai.com/v1", "sk-own"),
    ],
)
def test_vectors_come_from_their_own_service_with_its_own_key(
    own: dict[str, str], address: str, key: str | None
) -> None:
    chat = {"OPENAI_BASE_URL": "http://localhost:11434/v1", "OPENAI_API_KEY": "sk-chat", "OPENAI_CHAT_MODEL": "llama3"}
    settings = Settings.read({**chat, "OPENAI_EMBEDDING_MODEL": "embed", **own})
    (found,) = OpenAIConnection.for_embeddings(settings)
    assert found.base_url == address
    assert (found.api_key.get_secret_value() if found.api_key else None) == key
    assert found.embedding_model == ServedModel("embed", "OPENAI_EMBEDDING_MODEL")
    assert connection(**chat).base_url == chat["OPENAI_BASE_URL"]


@pytest.mark.parametrize("ending", ["", "/", "/openai", "/openai/v1", "/openai/v1/"])
def test_an_azure_endpoint_leads_to_its_v1_api(ending: str) -> None:
    found = connection(
        AZURE_OPENAI_ENDPOINT=f"https://contoso.openai.azure.com{ending}", AZURE_OPENAI_CHAT_DEPLOYMENT="chat"
    )
    assert (found.kind, found.base_url) == ("azure-openai", "https://contoso.openai.azure.com/openai/v1/")
    assert found.chat_model == ServedModel("chat", "AZURE_OPENAI_CHAT_DEPLOYMENT")
    assert found.uses_identity
    assert "Cognitive Services OpenAI User" in found.credential_advice


def test_an_azure_key_is_used_instead_of_the_identity() -> None:
    found = connection(
        AZURE_OPENAI_ENDPOINT="https://contoso.openai.azure.com",
        AZURE_OPENAI_CHAT_DEPLOYMENT="chat",
        AZURE_OPENAI_API_KEY="azure-secret",
    )
    assert not found.uses_identity
    assert found.credential_advice == "AZURE_OPENAI_API_KEY"
    assert "azure-secret" not in f"{found!r} {found}"


@pytest.mark.parametrize("url", ["http://:8080/v1", "http://host:port/v1", "http://[::1/v1", "https:///v1"])
def test_a_url_without_a_usable_host_is_named(url: str) -> None:
    with pytest.raises(NotConfigured, match="OPENAI_BASE_URL"):
        connection(OPENAI_BASE_URL=url, OPENAI_CHAT_MODEL="llama3")
    with pytest.raises(NotConfigured, match="AZURE_OPENAI_ENDPOINT"):
        connection(AZURE_OPENAI_ENDPOINT=url, AZURE_OPENAI_CHAT_DEPLOYMENT="chat")


def test_several_endpoints_have_one_key_or_one_each_in_their_order() -> None:
    azure = {"AZURE_OPENAI_ENDPOINT": "https://a, https://b=2,https://c=1", "AZURE_OPENAI_CHAT_DEPLOYMENT": "chat"}
    for keys, found in (("", [None] * 3), ("k", ["k"] * 3), ("k, l,m", ["k", "l", "m"])):
        settings = Settings.read(azure | {"AZURE_OPENAI_API_KEY": keys})
        connections = OpenAIConnection.all_from_settings(settings)
        assert [(one.base_url, one.weight) for one in connections] == [
            ("https://a/openai/v1/", 0),
            ("https://b/openai/v1/", 2),
            ("https://c/openai/v1/", 1),
        ]
        assert [one.api_key and one.api_key.get_secret_value() for one in connections] == found
    mixed = Settings.read({"OPENAI_BASE_URL": "https://api.openai.com/v1,http://gpu/v1", "OPENAI_CHAT_MODEL": "m"})
    assert [one.kind for one in OpenAIConnection.all_from_settings(mixed)] == ["openai", "openai-compatible"]
    one = Settings.read({"OPENAI_API_KEY": "with,comma", "OPENAI_CHAT_MODEL": "m"})
    assert [c.api_key and c.api_key.get_secret_value() for c in OpenAIConnection.all_from_settings(one)] == [
        "with,comma"
    ]
