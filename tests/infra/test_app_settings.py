"""In Azure the app has every setting that it needs, and they make a whole configuration."""

import json
import re

import pytest

from shared.settings import Settings
from shared.settings.fields import variable
from tests.infra.compiler import INFRA, TENANT
from tests.infra.deployed import THEIR_BLOBS, app_settings, main_parameters, outputs
from tests.infra.snapshots import parameters
from tests.infra.ways import WAYS

DEFAULT_IS_RIGHT = {
    "DOCUMENTS_WRITERS": "documents come through the container: nobody uploads",
    "AUTH_ID_TOKENS": "front ends send access tokens; moreSettings",
    "BOT_OPENID_METADATA": "the public cloud's",
    "APPROVERS": "who asked decides; others by moreSettings",
    "USER_UPLOADS": "on where callers sign in",
    "USER_UPLOADS_DAYS": "moreSettings",
    "HISTORY_DAYS": "how long chats are kept is the company's choice; moreSettings",
    "AUDIT": "off unless somebody decides otherwise, moreSettings",
    "AUDIT_ON_ERROR": "safe as it is",
    "LIMIT_CALLER_DOCUMENTS": "moreSettings",
    "OPERATORS": "nobody sees to others' runs; others by moreSettings",
    "FEEDBACK_READERS": "nobody reads over HTTP; `make feedback` reads the table",
    "OPENAI_BASE_URL": "the model is Azure OpenAI's",
    "OPENAI_API_KEY": "the model is Azure OpenAI's",
    "OPENAI_CHAT_MODEL": "the model is Azure OpenAI's",
    "OPENAI_EMBEDDING_MODEL": "the model is Azure OpenAI's",
    "OPENAI_EMBEDDING_BASE_URL": "the model is Azure OpenAI's",
    "OPENAI_EMBEDDING_API_KEY": "the model is Azure OpenAI's",
    "AZURE_OPENAI_API_KEY": "no keys",
    "AZURE_SEARCH_API_KEY": "no keys",
    "AZURE_VISION_API_KEY": "no keys",
    "DOCUMENT_INTELLIGENCE_API_KEY": "no keys",
    "OCR": "Document Intelligence is deployed where scans are read",
    "CONTENT_SAFETY_API_KEY": "no keys",
    "CONTENT_STORAGE": "a connection string has a key",
    "AzureWebJobsStorage": "a connection string has a key",
    "CHAT_DEFAULT_PROTOCOL": "callers' choice, moreSettings",
    "CHAT_VISION": "the models that are deployed see",
    "CHAT_DEADLINE_SECONDS": "made for Azure's own limit",
    "CHAT_MAX_TOKENS": "moreSettings",
    "CHAT_SOURCE_TOKENS": "moreSettings",
    "CHAT_ANSWER_FORMAT": "moreSettings",
    "CHAT_AGENT": "moreSettings",
    "AGENTS_FILE": "the sample team is deployed; moreSettings",
    "PAGE_FILE": "the page's own texts; moreSettings, with the file in the app's folder",
    "PUBLIC_URL": "the platform tells the app its name; a domain of one's own, moreSettings",
    "ERRORS_AS_MESSAGES": "ChatUI needs the default; for CopilotKit, moreSettings",
    "BATCH_BACKEND": "the app's own storage account is there",
    "CHAT_RUNS": "requests ask for it; moreSettings",
    "BATCH_QUEUE": "the app has a storage account of its own",
    "BATCH_DEADLINE_SECONDS": "moreSettings",
    "AGENTS_DEADLINE_SECONDS": "ChatUI's limit is the same everywhere",
    "RAI_ENDPOINT": "Content Safety is deployed; an RAI service is not ours to deploy, moreSettings",
    "RAI_TOKEN": "no keys",
    "RAI_POLICY": "moreSettings",
    "RAI_ON_ERROR": "safe as it is",
    "RAI_WITHOUT_MODEL": "safe as it is",
    "RAI_TIMEOUT_SECONDS": "moreSettings",
    "LINK_HOSTS": "moreSettings",
    "AZURE_SEARCH_FIELDS": "of an existing index, moreSettings",
    "TELEMETRY_CONTENT": "off unless somebody decides otherwise, moreSettings",
    "OTEL_EXPORTER_OTLP_ENDPOINT": "Application Insights is deployed",
    "WEBSITE_AUTH_ENABLED": "set by the platform",
    "WEBSITE_CORS_ALLOWED_ORIGINS": "set by the platform",
    "WEBSITE_SITE_NAME": "set by the platform",
    "DATA_DIR": "nothing is kept there: everything has a service",
}
"""Settings that are left alone, and why."""

PLATFORMS_OWN = {
    "AZURE_CLIENT_ID",
    "AzureWebJobsDisableHomepage",
    "AzureWebJobsStorage__credential",
    "AzureWebJobsStorage__clientId",
    "CONTENT_STORAGE__credential",
    "CONTENT_STORAGE__clientId",
}
"""Settings of the Functions host and of Azure's identity library."""

READ = {variable(field) for field in Settings.model_fields}
CHOSEN = {
    "accessControl": "ACCESS_CONTROL",
    "authMode": "AUTH_MODE",
    "chatReasoningEffort": "CHAT_REASONING_EFFORT",
    "playground": "PLAYGROUND",
    "safetyMode": "RAI_MODE",
}
"""Parameters whose values are those of a setting."""


def test_every_setting_is_set_or_left_alone_for_a_reason() -> None:
    deployed = app_settings("bearer").keys() - PLATFORMS_OWN
    assert deployed | DEFAULT_IS_RIGHT.keys() == READ
    assert not deployed & DEFAULT_IS_RIGHT.keys()


def test_no_setting_is_set_that_nothing_reads() -> None:
    assert app_settings("bearer").keys() - READ == PLATFORMS_OWN


@pytest.mark.parametrize(("parameter", "setting"), CHOSEN.items())
def test_what_can_be_chosen_is_what_the_app_takes(parameter: str, setting: str) -> None:
    (field,) = (field for name, field in Settings.model_fields.items() if variable(name) == setting)
    own = {"default", ""} if parameter == "chatReasoningEffort" else set[str]()  # both mean that nothing is set
    assert set(main_parameters()[parameter].allowed) - own == set(re.findall(r"'([^']*)'", str(field.annotation)))


@pytest.mark.parametrize("way", WAYS)
def test_every_deployment_is_a_whole_configuration(way: str) -> None:
    chosen = parameters(way)
    environment = app_settings(way)
    settings = Settings.read(environment | {"WEBSITE_AUTH_ENABLED": str(way == "easy-auth")})
    assert settings.auth_mode == chosen["authMode"]
    assert settings.rai_mode == chosen.get("safetyMode", "off")
    assert settings.shields == ("on" if chosen.get("promptShields") else "off")
    assert settings.page_images is chosen.get("pageImages", False)
    assert settings.chat_reasoning_effort == (None if way == "index-by-itself" else "none")
    assert bool(settings.document_intelligence_endpoint) is chosen.get("documentIntelligence", False)
    theirs = "existingContentStorageName" in chosen
    assert settings.content_storage_blobs == (THEIR_BLOBS if theirs else "https://st.blob.example.com/")


def test_a_deployment_with_keys_keeps_chats_and_needs_no_app_registration() -> None:
    settings = Settings.read(app_settings("api-key"))
    assert (settings.auth_mode, [*settings.api_keys]) == ("api-key", [("report", "0" * 64, ("staff",))])
    assert (settings.history_backend, settings.callers_may_prompt) == ("azure-table", True)
    assert settings.auth_client_id is settings.auth_tenant_id is None


def test_chats_are_kept_only_where_callers_sign_in() -> None:
    assert Settings.read(app_settings("none")).history_backend == "off"
    signed_in = Settings.read(app_settings("bearer"))
    assert signed_in.history_backend == "azure-table"
    assert signed_in.auth_tenant_id == TENANT


def test_every_deployment_has_limits_that_its_instances_share() -> None:
    settings = Settings.read(app_settings("none"))
    names = [name for name in Settings.model_fields if name.startswith("limit_") and name.endswith(("_day", "_minute"))]
    assert len(names) == 4
    assert all(getattr(settings, name) > 0 for name in names)
    assert settings.limit_backend == "azure-table"
    assert settings.azure_web_jobs_storage_tables == "https://st.table.example.com/"


def test_callers_bring_system_prompts_only_where_they_sign_in() -> None:
    assert not Settings.read(app_settings("none")).callers_may_prompt
    assert Settings.read(app_settings("bearer")).callers_may_prompt


def test_settings_of_ones_own_arrive_as_texts_and_win() -> None:
    deployed = app_settings("index-by-itself")
    assert (deployed["CHAT_AGENT"], deployed["CHAT_MAX_TOKENS"], deployed["TELEMETRY_CONTENT"]) == (
        *("Researcher", "800", "False"),
    )


def test_no_key_is_among_the_settings() -> None:
    secrets = {variable(name) for name, field in Settings.model_fields.items() if "SecretStr" in str(field.annotation)}
    deployed = app_settings("bearer").keys() & secrets
    assert deployed == {"APPLICATIONINSIGHTS_CONNECTION_STRING"}  # an address, where local authentication is off


@pytest.mark.parametrize("way", ["private-all-services", "existing"])
def test_what_azd_keeps_configures_make_index(way: str) -> None:
    """Its names are the settings', and none of what only the app in Azure may read comes along."""
    kept = outputs(way)
    settings = Settings.read(kept)
    assert settings.azure_search_index == "documents"
    assert settings.azure_openai_embedding_deployment == "text-embedding-3-large"
    assert bool(settings.content_storage_blobs) is (way != "existing")
    assert {name: kept[name] for name in kept.keys() & READ if kept[name]}.items() <= app_settings(way).items()
    own = {"SWITCHBOARD_URL", "SWITCHBOARD_APP", "SWITCHBOARD_IDENTITY", "SWITCHBOARD_INSIGHTS", "SWITCHBOARD_BOT"}
    own |= {"SWITCHBOARD_BOT_CLIENT"}
    assert kept.keys() - READ == {"AZURE_RESOURCE_GROUP", "AZURE_STORAGE_ACCOUNT", "DEPLOY_BUDGET_START"} | own


def test_the_month_of_a_budget_comes_back_to_the_next_deployment() -> None:
    """Azure never lets it change."""
    assert outputs("alerts")["DEPLOY_BUDGET_START"] == "2026-11-01"
    given = json.loads((INFRA / "main.parameters.json").read_text())["parameters"]["budgetStart"]
    assert given == {"value": "${DEPLOY_BUDGET_START}"}


def test_choices_of_the_deployment_are_no_settings_of_make_index() -> None:
    given = json.loads((INFRA / "main.parameters.json").read_text())["parameters"]
    names = {one["value"].removeprefix("${").removesuffix("}") for one in given.values()}
    assert all(name.startswith(("DEPLOY_", "AZURE_")) for name in names)
    assert not names & READ


def test_front_doors_own_header_names_the_caller_only_where_nothing_goes_around_it() -> None:
    settings = Settings.read(app_settings("front-door"))
    assert settings.address_header == "X-Azure-SocketIP"
    for way in ("bearer", "large"):  # the second lets others in besides
        assert Settings.read(app_settings(way) | {"WEBSITE_SITE_NAME": "func"}).address_header == "X-Forwarded-For"


@pytest.mark.parametrize("way", WAYS)
def test_the_address_without_a_path_does_not_show_the_hosts_own_page(way: str) -> None:
    assert app_settings(way)["AzureWebJobsDisableHomepage"] == "true"
