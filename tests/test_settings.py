"""Settings: complete, or a sentence that names what is missing."""

import json
from pathlib import Path
from typing import get_args

import pytest

from shared.errors import NotConfigured
from shared.settings import Settings, variable
from shared.wire.table import NAMES

SAMPLE = Path(__file__).parent.parent / "local.settings.sample.json"


def test_nothing_configured_is_complete() -> None:
    settings = Settings.read({})
    assert settings.chat_default_protocol == "ai-chat"
    assert settings.openai_base_url is None


@pytest.mark.parametrize(
    ("environment", "says"),
    [
        ({"OPENAI_API_KEY": "sk-secret"}, "OPENAI_CHAT_MODEL is missing"),
        ({"OPENAI_BASE_URL": "http://localhost:11434/v1"}, "OPENAI_CHAT_MODEL is missing"),
        ({"OPENAI_CHAT_MODEL": "m"}, "OPENAI_API_KEY or OPENAI_BASE_URL is missing"),
        ({"OPENAI_EMBEDDING_MODEL": "m"}, "OPENAI_API_KEY or OPENAI_BASE_URL is missing"),
        ({"AZURE_OPENAI_ENDPOINT": "https://x.openai.azure.com"}, "AZURE_OPENAI_CHAT_DEPLOYMENT is missing"),
        ({"AZURE_OPENAI_CHAT_DEPLOYMENT": "d"}, "AZURE_OPENAI_ENDPOINT is missing"),
        ({"AZURE_OPENAI_API_KEY": "sk-secret"}, "AZURE_OPENAI_ENDPOINT is missing"),
        (
            {"OPENAI_API_KEY": "sk-secret", "OPENAI_CHAT_MODEL": "m", "AZURE_OPENAI_ENDPOINT": "https://x"},
            "unset one of the two",
        ),
        ({"OPENAI_BASE_URL": "localhost:11434"}, "OPENAI_BASE_URL: should be a URL with its scheme"),
        ({"CHAT_DEADLINE_SECONDS": "soon"}, "CHAT_DEADLINE_SECONDS: should be a number"),
        ({"AGENTS_CONCURRENT_CALLS": "2.5"}, "AGENTS_CONCURRENT_CALLS: should be a whole number"),
        ({"CHAT_DEADLINE_SECONDS": "0"}, "CHAT_DEADLINE_SECONDS: "),
        ({"CHAT_VISION": "perhaps"}, "CHAT_VISION: should be true or false"),
        ({"CHAT_DEFAULT_PROTOCOL": "smtp"}, "CHAT_DEFAULT_PROTOCOL: .*'ai-chat'"),
        ({"RAI_MODE": "on"}, "RAI_MODE: .*'enforce'"),
        ({"RAI_MODE": "enforce"}, "RAI_ENDPOINT is missing"),
        ({"RAI_ENDPOINT": "http://rai.example"}, r"RAI_ENDPOINT: should be https://… or host:port\."),
        ({"RAI_ENDPOINT": "rai.example:50051"}, "RAI_ENDPOINT is another machine without TLS.*RAI_ALLOW_PLAINTEXT"),
        ({"RAI_ENDPOINT": "127.0.0.1.example:50051"}, "RAI_ENDPOINT is another machine"),
        ({"RAI_BACKEND": "content-safety"}, "CONTENT_SAFETY_ENDPOINT is missing"),
        ({"CONTENT_SAFETY_ENDPOINT": "https://x"}, "set RAI_BACKEND to content-safety"),
        (
            {"CONTENT_SAFETY_ENDPOINT": "http://safety.example"},
            "CONTENT_SAFETY_ENDPOINT is another machine without TLS",
        ),
        ({"CONTENT_SAFETY_ENDPOINT": "http://["}, "CONTENT_SAFETY_ENDPOINT is another machine without TLS"),
        ({"AGENTS_DEADLINE_SECONDS": "0"}, "AGENTS_DEADLINE_SECONDS: "),
        ({"AUTH_MODE": "easy-auth"}, "AUTH_MODE: "),
        ({"HISTORY_BACKEND": "cosmos"}, "HISTORY_BACKEND: .*'azure-table'"),
        ({"HISTORY_BACKEND": "azure-table"}, "HISTORY_TABLE_ENDPOINT is missing.*AzureWebJobsStorage"),
        ({"HISTORY_TABLE_ENDPOINT": "https://x.table.core.windows.net"}, "set HISTORY_BACKEND to azure-table"),
        ({"HISTORY_TABLE_ENDPOINT": "http://x"}, "HISTORY_TABLE_ENDPOINT: .*such as https://"),
        ({"AZURE_SEARCH_ENDPOINT": "https://x.search.windows.net"}, "AZURE_SEARCH_ENDPOINT is set"),
    ],
)
def test_what_is_missing_or_wrong_is_named(environment: dict[str, str], says: str) -> None:
    with pytest.raises(NotConfigured, match=says) as raised:
        Settings.read(environment)
    assert "sk-secret" not in raised.value.message


def test_every_problem_is_named_at_once() -> None:
    with pytest.raises(NotConfigured, match=r"(?s)CHAT_DEADLINE_SECONDS.*RAI_MODE.*AZURE_SEARCH_ENDPOINT"):
        Settings.read({"CHAT_DEADLINE_SECONDS": "-1", "RAI_MODE": "on", "AZURE_SEARCH_ENDPOINT": "https://x"})


def test_an_empty_variable_is_unset() -> None:
    assert Settings.read({"OPENAI_API_KEY": " ", "CHAT_DEADLINE_SECONDS": ""}) == Settings.read({})


def test_every_protocol_can_be_the_default() -> None:
    accepted = Settings.model_fields["chat_default_protocol"].annotation
    assert set(get_args(accepted)) == set(NAMES)


def test_the_platforms_own_variable_is_read_by_its_name_and_needs_no_other() -> None:
    environment = {"AzureWebJobsStorage": "AccountName=a;AccountKey=sk-secret"}
    assert Settings.read(environment).history_backend == "sqlite"
    settings = Settings.read(environment | {"HISTORY_BACKEND": "azure-table"})
    assert settings.azure_web_jobs_storage is not None
    assert "sk-secret" not in f"{settings!r} {settings}"


def test_secrets_hide() -> None:
    settings = Settings.read({"OPENAI_API_KEY": "sk-secret", "OPENAI_CHAT_MODEL": "m"})
    assert "sk-secret" not in f"{settings!r} {settings}"


def test_the_sample_file_has_every_setting_and_works_as_it_is() -> None:
    values: dict[str, str] = json.loads(SAMPLE.read_text())["Values"]
    by_hand = {variable(name) for name in Settings.model_fields} - {"WEBSITE_AUTH_ENABLED"}  # the platform's to set
    assert set(values) - {"FUNCTIONS_WORKER_RUNTIME"} == by_hand
    assert Settings.read(values) == Settings.read({})
