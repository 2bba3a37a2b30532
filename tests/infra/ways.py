"""The ways to deploy, each with its parameters: `snapshots/` has what Azure would get for each."""

from collections.abc import Mapping
from typing import Any

CLIENT = "33333333-3333-3333-3333-333333333333"
GROUP = "/subscriptions/11111111-1111-1111-1111-111111111111/resourceGroups/rg-network"
BEARER = {"authMode": "bearer", "authClientId": CLIENT, "principalId": "44444444-4444-4444-4444-444444444444"}
"""Parameters of what is recommended; the other ways add theirs."""
EXISTING = {
    "existingOpenAiName": "their-models",
    "existingOpenAiResourceGroup": "rg-models",
    "existingSearchName": "their-search",
    "existingSearchResourceGroup": "rg-search",
    "existingContentStorageName": "theirdocuments",
    "existingContentStorageResourceGroup": "rg-documents",
}
SERVICES = {"documentIntelligence": True, "vision": True, "pageImages": True, "safetyMode": "enforce"}

WAYS: Mapping[str, Mapping[str, Any]] = {
    "bearer": BEARER,
    "none": {"authMode": "none", "principalId": ""},
    "easy-auth": {
        "authMode": "easy-auth",
        "authAllowedApplications": f"{CLIENT}, 55555555-5555-5555-5555-555555555555,",
        "corsOrigins": "https://chat.contoso.com, http://localhost:5173,",
    },
    "api-key": {"authMode": "api-key", "apiKeys": f"report:{'0' * 64}:staff", "authClientId": ""},
    "private": {"privateNetwork": True, "addressSpace": "10.20.0.0/24"},
    "private-all-services": {"privateNetwork": True, **SERVICES, "searchVectorizer": True, "openAiKind": "OpenAI"},
    "own-network": {
        "privateNetwork": True,
        "subnetId": f"{GROUP}/providers/Microsoft.Network/virtualNetworks/hub/subnets/switchboard",
        "endpointsSubnetId": f"{GROUP}/providers/Microsoft.Network/virtualNetworks/hub/subnets/private-endpoints",
        "dnsZonesGroup": "/subscriptions/66666666-6666-6666-6666-666666666666/resourceGroups/rg-dns",
        "appPrivate": True,
    },
    "existing": EXISTING,
    "existing-private": {**EXISTING, "privateNetwork": True, "endpointsForExisting": True, "searchVectorizer": True},
    "queues": {"chatQueues": True, "existingEventTopicName": "storage-antimalware"},
    "alerts": {
        "alertEmails": "ops@contoso.com, second@contoso.com,",
        "alertOwner": "Chat team",
        "alertPage": "https://wiki.contoso.com/switchboard",
        "monthlyBudget": 500,
        "budgetStart": "2026-11-01",
        "logDays": 90,
        "logGigabytesPerDay": 5,
        "memoryAlertPercent": 70,
    },
    "index-by-itself": {
        "appMakesIndex": True,
        "searchVectorizer": True,
        "chatReasoningEffort": "default",
        "moreSettings": {"CHAT_AGENT": "Researcher", "CHAT_MAX_TOKENS": 800, "TELEMETRY_CONTENT": False},
    },
    "shields": {"promptShields": True},
    "bot": {"bot": "F0", "botName": "Contoso chat", "botSignIn": True, "authClientId": CLIENT},
    "people": {"people": 2000},
    "serverless": {"searchSku": "serverless"},
    "front-door": {
        "allowedAddresses": "AzureFrontDoor.Backend",
        "frontDoorId": "77777777-7777-7777-7777-777777777777",
        "instanceMemory": 512,
    },
    "large": {
        "resourceGroupName": "rg-of-the-company",
        "instanceMemory": 4096,
        "resourceGroupExists": True,
        "moreTags": {"cost-center": 4711},
        "names": {"plan": "plan-contoso"},
        "searchSku": "standard",
        "searchReplicas": 3,
        "searchPartitions": 2,
        "storageRedundancy": "Standard_ZRS",
        "zoneRedundant": True,
        "alwaysReadyInstances": 2,
        "updateStrategy": "RollingUpdate",
        "allowedAddresses": "AzureFrontDoor.Backend, 203.0.113.7, 198.51.100.0/24",
        "frontDoorId": "77777777-7777-7777-7777-777777777777",
        "chatSku": "DataZoneProvisionedManaged",
        "chatCapacity": 50,
        "contentFilter": "strict",
    },
}
