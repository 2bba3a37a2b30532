"""Wrong parameters end before anything is deployed, with a sentence that names the variable."""

from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from shared.chat_types import Json
from tests.infra.compiler import MISSING, Bicep, Refused, compiler
from tests.infra.ways import BEARER, GROUP

SUBNET = f"{GROUP}/providers/Microsoft.Network/virtualNetworks/hub/subnets/switchboard"


@pytest.fixture(scope="session")
def bicep() -> Iterator[Bicep]:
    command = compiler()
    if command is None:
        pytest.skip(MISSING)
    with Bicep(command) as running:
        yield running


WRONG: list[tuple[Mapping[str, Any], str]] = [
    ({"environmentName": "demo."}, "environmentName"),
    ({"environmentName": "my/demo"}, "environmentName"),
    ({"resourceGroupName": "rg#1"}, "DEPLOY_RESOURCE_GROUP"),
    ({"location": "sweden,central"}, "AZURE_LOCATION"),
    ({"openAiLocation": "east-us"}, "DEPLOY_OPENAI_LOCATION"),
    ({"searchLocation": "east-us"}, "DEPLOY_SEARCH_LOCATION"),
    ({"documentIntelligenceLocation": "east-us"}, "DEPLOY_DOCUMENT_INTELLIGENCE_LOCATION"),
    ({"visionLocation": "east-us"}, "DEPLOY_VISION_LOCATION"),
    ({"contentSafetyLocation": "east-us"}, "DEPLOY_CONTENT_SAFETY_LOCATION"),
    ({"principalId": "me"}, "AZURE_PRINCIPAL_ID"),
    ({"names": {"storage": "Our-Store"}}, "storage Our-Store"),
    ({"names": {"app": "our_app"}}, "app our_app"),
    ({"names": {"plan": "p/q"}}, "plan p/q"),
    ({"moreTags": {"cost/center": 1}}, "DEPLOY_TAGS"),
    ({"moreTags": {"owner": "x" * 257}}, "owner"),
    ({"resourceGroupExists": True}, "azd env set DEPLOY_RESOURCE_GROUP"),
    ({"names": {"webapp": "x"}}, "DEPLOY_NAMES has webapp: there are app, "),
    ({"authClientId": ""}, "azd env set DEPLOY_AUTH_CLIENT_ID"),
    ({"authMode": "easy-auth", "authClientId": ""}, "azd env set DEPLOY_AUTH_CLIENT_ID"),
    ({"authClientId": "my-app"}, "DEPLOY_AUTH_CLIENT_ID"),
    ({"authTenantId": "contoso"}, "DEPLOY_AUTH_TENANT_ID"),
    ({"authAllowedApplications": "my-page"}, "DEPLOY_AUTH_ALLOWED_APPLICATIONS has what is no client ID: my-page"),
    ({"authMode": "api-key"}, "azd env set DEPLOY_API_KEYS"),
    ({"authMode": "api-key", "apiKeys": "report:secret"}, "DEPLOY_API_KEYS"),
    ({"authMode": "api-key", "apiKeys": f"Report:{'0' * 64}"}, "DEPLOY_API_KEYS"),
    ({"authMode": "api-key", "apiKeys": f"report:{'x' * 64}"}, "DEPLOY_API_KEYS"),
    ({"authMode": "none", "accessControl": "enforced"}, "DEPLOY_ACCESS_CONTROL enforced needs callers"),
    ({"corsOrigins": "httpx://chat.contoso.com"}, "DEPLOY_CORS_ORIGINS"),
    ({"corsOrigins": "https://"}, "DEPLOY_CORS_ORIGINS"),
    ({"corsOrigins": "chat.contoso.com"}, "DEPLOY_CORS_ORIGINS"),
    ({"corsOrigins": "https://chat.contoso.com/"}, "DEPLOY_CORS_ORIGINS"),
    ({"existingOpenAiName": "x"}, "DEPLOY_EXISTING_OPENAI_RESOURCE_GROUP"),
    ({"existingSearchResourceGroup": "x"}, "DEPLOY_EXISTING_SEARCH_NAME"),
    ({"existingContentStorageName": "x"}, "DEPLOY_EXISTING_CONTENT_STORAGE_RESOURCE_GROUP"),
    ({"existingOpenAiName": "their/models", "existingOpenAiResourceGroup": "x"}, "DEPLOY_EXISTING_OPENAI_NAME"),
    ({"existingSearchName": "s", "existingSearchResourceGroup": "a/b"}, "DEPLOY_EXISTING_SEARCH_RESOURCE_GROUP"),
    ({"existingEventTopicName": "a b"}, "DEPLOY_EXISTING_EVENT_TOPIC"),
    ({"chatModelVersion": ""}, "DEPLOY_CHAT_MODEL_VERSION"),
    ({"chatModel": "gpt 5"}, "DEPLOY_CHAT_MODEL"),
    ({"embeddingModel": ""}, "DEPLOY_EMBEDDING_MODEL"),
    ({"contentFilter": "strict/2"}, "DEPLOY_CONTENT_FILTER"),
    ({"chatDeployment": "my/model"}, "DEPLOY_CHAT_DEPLOYMENT"),
    ({"chatDeployment": "Model", "embeddingDeployment": "model"}, "DEPLOY_EMBEDDING_DEPLOYMENT"),
    ({"chatSku": "ProvisionedManaged"}, "DEPLOY_CHAT_CAPACITY"),
    ({"embeddingSku": "GlobalProvisionedManaged"}, "DEPLOY_EMBEDDING_CAPACITY"),
    ({"searchSku": "serverless", "searchReplicas": 2}, "DEPLOY_SEARCH_REPLICAS"),
    ({"searchSku": "serverless", "searchVectorizer": True}, "DEPLOY_SEARCH_VECTORIZER"),
    ({"searchReplicas": 4}, "DEPLOY_SEARCH_REPLICAS"),
    ({"searchSku": "standard", "searchReplicas": 12, "searchPartitions": 4}, "DEPLOY_SEARCH_PARTITIONS"),
    ({"searchIndex": "My_Index"}, "DEPLOY_SEARCH_INDEX"),
    ({"contentContainer": "Content"}, "DEPLOY_CONTENT_CONTAINER"),
    ({"contentContainer": "my_documents"}, "DEPLOY_CONTENT_CONTAINER"),
    ({"contentContainer": "deployments"}, "DEPLOY_CONTENT_CONTAINER deployments"),
    ({"contentContainer": "chat-answers"}, "DEPLOY_CONTENT_CONTAINER chat-answers"),
    ({"bot": "S1", "appPrivate": True}, "DEPLOY_BOT: Azure Bot Service calls the app"),
    ({"bot": "S1", "botSignIn": True}, "DEPLOY_BOT_SIGN_IN"),
    ({"subnetId": "hub/app"}, "DEPLOY_SUBNET_ID"),
    ({"endpointsSubnetId": SUBNET}, "DEPLOY_ENDPOINTS_SUBNET_ID"),
    ({"privateNetwork": True, "subnetId": SUBNET, "endpointsSubnetId": SUBNET}, "are one subnet"),
    ({"addressSpace": "10.0.0.0"}, "DEPLOY_ADDRESS_SPACE"),
    ({"addressSpace": "300.0.0.0/16"}, "DEPLOY_ADDRESS_SPACE"),
    ({"addressSpace": "10.0.0.0/28"}, "DEPLOY_ADDRESS_SPACE"),
    ({"addressSpace": "10.0.0.0/16/2"}, "DEPLOY_ADDRESS_SPACE"),
    ({"dnsZonesGroup": "rg-dns"}, "DEPLOY_DNS_ZONES_GROUP"),
    ({"privateNetwork": True, "dnsZonesGroup": "/subscriptions/x"}, "DEPLOY_DNS_ZONES_GROUP"),
    ({"appPrivate": True}, "DEPLOY_APP_PRIVATE"),
    ({"endpointsForExisting": True}, "DEPLOY_ENDPOINTS_FOR_EXISTING"),
    ({"privateNetwork": True, "appPrivate": True, "allowedAddresses": "10.0.0.0/8"}, "DEPLOY_ALLOWED_ADDRESSES"),
    ({"allowedAddresses": "10.0.0"}, "DEPLOY_ALLOWED_ADDRESSES"),
    ({"allowedAddresses": "10.0.0.0/33"}, "DEPLOY_ALLOWED_ADDRESSES"),
    ({"allowedAddresses": "10.0.0.256"}, "DEPLOY_ALLOWED_ADDRESSES"),
    ({"allowedAddresses": "Azure Front Door"}, "DEPLOY_ALLOWED_ADDRESSES"),
    ({"allowedAddresses": "2001:db8::1"}, "DEPLOY_ALLOWED_ADDRESSES"),
    ({"allowedAddresses": "/subscriptions/x"}, "DEPLOY_ALLOWED_ADDRESSES"),
    ({"frontDoorId": "x"}, "DEPLOY_FRONT_DOOR_ID"),
    ({"features": "readers,graphs"}, "DEPLOY_FEATURES"),
    ({"maximumInstances": 2, "alwaysReadyInstances": 3}, "DEPLOY_ALWAYS_READY_INSTANCES"),
    ({"zoneRedundant": True}, "DEPLOY_STORAGE_REDUNDANCY"),
    ({"alertEmails": "ops"}, "DEPLOY_ALERT_EMAILS has what is no e-mail address: ops"),
    ({"monthlyBudget": 100}, "DEPLOY_ALERT_EMAILS"),
    ({"budgetStart": "2026-11-27"}, "DEPLOY_BUDGET_START"),
    ({"budgetStart": "2026-13-01"}, "DEPLOY_BUDGET_START"),
    ({"alertPage": "wiki"}, "DEPLOY_ALERT_PAGE"),
    ({"moreSettings": {"AUTH_MODE": "none"}}, "AUTH_MODE, which is DEPLOY_AUTH_MODE"),
    ({"moreSettings": {"azure_client_id": "x"}}, "DEPLOY_MORE_SETTINGS has azure_client_id"),
    ({"moreSettings": {"chat_reasoning_effort": "low"}}, "DEPLOY_MORE_SETTINGS has chat_reasoning_effort"),
    ({"moreSettings": {"CHAT-AGENT": "x"}}, "DEPLOY_MORE_SETTINGS has a name"),
    ({"moreSettings": {"OPENAI_API_KEY": "sk-1"}}, "OPENAI_API_KEY"),
    ({"moreSettings": {"CONTENT_STORAGE": "AccountName=a;AccountKey=b"}}, "DEPLOY_MORE_SETTINGS has CONTENT_STORAGE"),
    ({"moreSettings": {"FUNCTIONS_WORKER_RUNTIME": "python"}}, "FUNCTIONS_WORKER_RUNTIME"),
]


WRONG_BY_TYPE: list[tuple[Mapping[str, Any], str]] = [
    ({"authMode": "entra"}, "authMode"),
    ({"chatSku": "GlobalStandart"}, "chatSku"),
    ({"searchReplicas": 13}, "searchReplicas"),
    ({"bot": "on"}, "bot"),
    ({"logDays": 7}, "logDays"),
    ({"contentContainer": "c" * 57}, "contentContainer"),
]
"""What the compiler refuses before the template is asked, as Azure does."""

ASSUMED: Mapping[str, Any] = {
    "authMode": "bearer",
    "privateNetwork": False,
    "searchSku": "basic",
    "subnetId": "",
    "resourceGroupName": "",
    "storageRedundancy": "Standard_LRS",
    "allowedAddresses": "",
    "alertEmails": "",
    "apiKeys": "",
    "existingOpenAiName": "",
    "existingContentStorageName": "",
}
"""Parameters on which it depends whether others are wrong: each case has these where it has no others."""


def together(cases: list[tuple[Mapping[str, Any], str]]) -> list[tuple[dict[str, Any], list[str]]]:
    """Put cases together that do not contradict each other, since the template says all that is wrong at once."""
    groups: list[tuple[dict[str, Any], list[str]]] = []
    for parameters, named in cases:
        whole = {**ASSUMED, **parameters}
        for given, names in groups:
            if not any(contradict(given[name], value) for name, value in whole.items() if name in given):
                given |= {name: joined(given.get(name), value) for name, value in whole.items()}
                names.append(named)
                break
        else:
            groups.append((whole, [named]))
    return groups


def contradict(one: Json, other: Json) -> bool:
    """Say whether two values of a parameter cannot be one; two objects can, unless they have a name in common."""
    if isinstance(one, dict) and isinstance(other, dict):
        return bool(one.keys() & other.keys())
    return one != other


def joined(one: Json, other: Json) -> Json:
    return one | other if isinstance(one, dict) and isinstance(other, dict) else other


@pytest.mark.parametrize(("parameters", "named"), [*together(WRONG), *together(WRONG_BY_TYPE)])
def test_all_that_cannot_be_is_named_at_once(bicep: Bicep, parameters: Mapping[str, Any], named: list[str]) -> None:
    with pytest.raises(Refused) as refused:
        bicep.snapshot({**BEARER, **parameters})
    assert [one for one in named if one not in str(refused.value)] == []
