// All of Switchboard in Azure, for `azd up`. docs/deploy.md says what each part is for and what it costs.
// No part has a key: everything signs in with an identity, and modules/roles.bicep is the list of who may do what.
targetScope = 'subscription'

// --- Where, and who deploys ------------------------------------------------------------------------------------------

@minLength(1)
@maxLength(50)
@description('Name of the azd environment; the resource group is named after it.')
param environmentName string

@minLength(1)
@description('Region of everything that is not placed elsewhere below.')
param location string

@description('Object id of who deploys: may fill the index and the container. Empty: nobody is given roles.')
param principalId string = ''

@allowed(['User', 'ServicePrincipal', 'Group'])
@description('What the deployer is.')
param principalType string = 'User'

// --- Who may call ----------------------------------------------------------------------------------------------------

@allowed(['none', 'easy-auth', 'bearer', 'api-key'])
@description('How callers sign in. none: everyone who knows the address can use, and spend, what is deployed here.')
param authMode string

@description('API keys of callers for api-key, as `make api-key` writes them: names and hashes, no keys.')
param apiKeys string = ''

@description('Client id of the app registration that callers sign in to, for easy-auth and bearer.')
param authClientId string = ''

@description('Client ids of the front ends whose tokens easy-auth takes, with commas between. Empty: authClientId alone.')
param authAllowedApplications string = ''

@description('Tenant whose users may sign in. Empty: the one of the subscription.')
param authTenantId string = ''

@allowed(['on-request', 'enforced', 'enforced-or-open'])
@description('Whether callers see only documents that name them: where a request asks for it, always, or always and open ones too.')
param accessControl string = 'on-request'

@allowed(['on', 'off'])
@description('Whether the app serves the playground, a page to ask from, at /api. Callers sign in there as everywhere.')
param playground string = 'off'

@description('Origins of web pages that may call, with commas: https://chat.contoso.com,https://localhost:5173')
param corsOrigins string = ''

// --- What callers may use --------------------------------------------------------------------------------------------

@minValue(0)
@description('How many requests a caller, a user or an address, may send in a minute. 0: no limit.')
param callerRequestsPerMinute int = 30

@minValue(0)
@description('How many tokens the model may read and write for a caller in a day (UTC). 0: no limit.')
param callerTokensPerDay int = 250000

@minValue(0)
@description('How many requests all callers together may send in a minute. 0: no limit.')
param requestsPerMinute int = 600

@minValue(0)
@description('How many tokens the model may read and write for all callers together in a day (UTC). 0: no limit.')
param tokensPerDay int = 5000000

// --- The model -------------------------------------------------------------------------------------------------------

@description('An Azure OpenAI resource that exists, with its deployments, instead of a new one.')
param existingOpenAiName string = ''

@description('Its resource group.')
param existingOpenAiResourceGroup string = ''

@description('Region of Azure OpenAI. Empty: the same as the rest.')
param openAiLocation string = ''

@description('Name of the deployment that answers.')
param chatDeployment string = 'gpt-5.6-luna'

@description('Its model, if it is made here.')
param chatModel string = 'gpt-5.6-luna'

@description('Version of that model.')
param chatModelVersion string = '2026-07-09'

@allowed(['OnceCurrentVersionExpired', 'OnceNewDefaultVersionAvailable', 'NoAutoUpgrade'])
@description('When Azure replaces that version by another: once it has retired, once there is a newer default, or never.')
param chatModelUpgrade string = 'OnceCurrentVersionExpired'

@description('Kind of that deployment: GlobalStandard, DataZoneStandard, Standard or a provisioned one.')
param chatSku string = 'GlobalStandard'

@description('Its capacity, in thousands of tokens a minute.')
param chatCapacity int = 30

@allowed(['', 'none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max'])
@description('How long a reasoning model may think. Empty: as the model does by itself.')
param chatReasoningEffort string = 'none'

@description('Name of the deployment that makes vectors.')
param embeddingDeployment string = 'text-embedding-3-large'

@description('Its model, if it is made here.')
param embeddingModel string = 'text-embedding-3-large'

@description('Version of that model.')
param embeddingModelVersion string = '1'

@allowed(['OnceCurrentVersionExpired', 'OnceNewDefaultVersionAvailable', 'NoAutoUpgrade'])
@description('When Azure replaces that version. Never, as vectors of another version do not fit the index.')
param embeddingModelUpgrade string = 'NoAutoUpgrade'

@description('Kind of that deployment.')
param embeddingSku string = 'GlobalStandard'

@description('Its capacity, in thousands of tokens a minute.')
param embeddingCapacity int = 30

// --- Search and documents --------------------------------------------------------------------------------------------

@description('An Azure AI Search service that exists, instead of a new one. It has to take Entra ID tokens.')
param existingSearchName string = ''

@description('Its resource group.')
param existingSearchResourceGroup string = ''

@description('Region of AI Search; some are full at times. Empty: the same as the rest.')
param searchLocation string = ''

@allowed(['basic', 'standard', 'standard2', 'standard3'])
@description('Size of the search service.')
param searchSku string = 'basic'

@allowed(['disabled', 'free', 'standard'])
@description('Plan of the semantic ranker: none, the free requests of each month, or as many as are paid for.')
param semanticRanker string = 'free'

@description('Name of the index.')
param searchIndex string = 'documents'

@description('Whether the app makes the index when the first document comes, so that nobody has to run make index.')
param appMakesIndex bool = false

@description('Whether the index makes the vectors of queries itself, with Azure OpenAI.')
param searchVectorizer bool = false

@description('A storage account that exists, with the documents of an existing index: they are read, never changed.')
param existingContentStorageName string = ''

@description('Its resource group.')
param existingContentStorageResourceGroup string = ''

@minLength(3)
@maxLength(49)
@description('Container of the documents.')
param contentContainer string = 'content'

@description('Whether ingestion keeps an image of each page of a PDF.')
param pageImages bool = false

@description('Whether to deploy Document Intelligence, which reads scanned pages.')
param documentIntelligence bool = false

@description('Whether to deploy AI Vision, which makes vectors of page images.')
param vision bool = false

@description('Region of AI Vision; not all regions have its image vectors. Empty: the same as the rest.')
param visionLocation string = ''

// --- Safety checks ---------------------------------------------------------------------------------------------------

@allowed(['off', 'annotate', 'enforce'])
@description('Safety checks by Azure AI Content Safety, which is deployed unless this is off.')
param safetyMode string = 'off'

// --- The app ---------------------------------------------------------------------------------------------------------

@description('Whether storage, search and the models are in a virtual network, closed to the internet.')
param privateNetwork bool = false

@minValue(1)
@maxValue(500)
@description('How many requests one instance takes at once. Azure would give each open stream an instance of its own.')
param httpConcurrency int = 100

@description('Which packages are deployed beside those for chat: readers, agents, built-in, rai, with commas; or none of them.')
param features string = 'readers,agents'

@allowed([512, 2048, 4096])
@description('Memory of an instance in MB, and with it its share of a core: a quarter, one, or two.')
param instanceMemory int = 2048

@minValue(1)
@maxValue(1000)
@description('How many instances there may be, at most: for HTTP, and as many again for the queue.')
param maximumInstances int = 40

@minValue(0)
@description('How many instances are kept warm, and paid for, at all times.')
param alwaysReadyInstances int = 0

@description('Whether messages of the queue chat-requests are answered into the queue chat-answers.')
param chatQueues bool = false

@description('E-mail addresses that alerts and the budget go to, with commas. Empty: alerts show in the portal only.')
param alertEmails string = ''

@minValue(0)
@description('US dollars a month for the resource group: at 80 % of them, and when more is expected, an e-mail warns. 0: no budget.')
param monthlyBudget int = 0

@description('Other settings of the app, as docs/settings.md has them, by name.')
param moreSettings object = {}

// ---------------------------------------------------------------------------------------------------------------------

var token = toLower(uniqueString(subscription().id, environmentName, location))
var tags = { 'azd-env-name': environmentName }
var openAiIsNew = empty(existingOpenAiName)
var searchIsNew = empty(existingSearchName)
var contentIsOurs = empty(existingContentStorageName)
var safetyChecks = safetyMode != 'off'
var groupName = 'rg-${environmentName}'
var openAiGroup = openAiIsNew ? groupName : existingOpenAiResourceGroup
var searchGroup = searchIsNew ? groupName : existingSearchResourceGroup
var contentGroup = contentIsOurs ? groupName : existingContentStorageResourceGroup
var openAiName = openAiIsNew ? 'oai-${token}' : existingOpenAiName
var searchName = searchIsNew ? 'srch-${token}' : existingSearchName
var storageName = 'st${token}'
var contentStorageName = contentIsOurs ? storageName : existingContentStorageName
var documentIntelligenceName = 'di-${token}'
var visionName = 'cv-${token}'
var contentSafetyName = 'cs-${token}'

resource group 'Microsoft.Resources/resourceGroups@2024-03-01' = {
  name: groupName
  location: location
  tags: tags
}

module identity 'modules/identity.bicep' = {
  scope: group
  name: 'identity'
  params: { name: 'id-${token}', location: location, tags: tags }
}

module monitoring 'modules/monitoring.bicep' = {
  scope: group
  name: 'monitoring'
  params: {
    workspaceName: 'log-${token}'
    insightsName: 'appi-${token}'
    location: location
    tags: tags
  }
}

module storage 'modules/storage.bicep' = {
  scope: group
  name: 'storage'
  params: {
    name: storageName
    location: location
    tags: tags
    contentContainer: contentContainer
    privateNetwork: privateNetwork
    workspaceId: monitoring.outputs.workspaceId
    chatQueues: chatQueues
  }
}

module events 'modules/event-grid.bicep' = if (contentIsOurs) {
  scope: group
  name: 'events'
  params: {
    topicName: 'evgt-${token}'
    location: location
    tags: tags
    storageName: storage.outputs.name
    queueName: storage.outputs.eventsQueue
    contentContainer: contentContainer
  }
}

module openAi 'modules/ai-service.bicep' = if (openAiIsNew) {
  scope: group
  name: 'openai'
  params: {
    name: openAiName
    kind: 'OpenAI'
    sku: 'S0'
    location: empty(openAiLocation) ? location : openAiLocation
    tags: tags
    privateNetwork: privateNetwork
    workspaceId: monitoring.outputs.workspaceId
    deployments: [
      {
        name: chatDeployment
        model: chatModel
        version: chatModelVersion
        upgrade: chatModelUpgrade
        sku: chatSku
        capacity: chatCapacity
      }
      {
        name: embeddingDeployment
        model: embeddingModel
        version: embeddingModelVersion
        upgrade: embeddingModelUpgrade
        sku: embeddingSku
        capacity: embeddingCapacity
      }
    ]
  }
}

resource foundOpenAi 'Microsoft.CognitiveServices/accounts@2024-10-01' existing = if (!openAiIsNew) {
  name: openAiName
  scope: resourceGroup(openAiGroup)
}

module search 'modules/search.bicep' = if (searchIsNew) {
  scope: group
  name: 'search'
  params: {
    name: searchName
    location: empty(searchLocation) ? location : searchLocation
    tags: tags
    sku: searchSku
    semanticRanker: semanticRanker
    privateNetwork: privateNetwork
    workspaceId: monitoring.outputs.workspaceId
  }
}

resource foundSearch 'Microsoft.Search/searchServices@2023-11-01' existing = if (!searchIsNew) {
  name: searchName
  scope: resourceGroup(searchGroup)
}

module documentReader 'modules/ai-service.bicep' = if (documentIntelligence) {
  scope: group
  name: 'document-intelligence'
  params: {
    name: documentIntelligenceName
    kind: 'FormRecognizer'
    sku: 'S0'
    location: location
    tags: tags
    privateNetwork: privateNetwork
    workspaceId: monitoring.outputs.workspaceId
  }
}

module imageReader 'modules/ai-service.bicep' = if (vision) {
  scope: group
  name: 'vision'
  params: {
    name: visionName
    kind: 'ComputerVision'
    sku: 'S1'
    location: empty(visionLocation) ? location : visionLocation
    tags: tags
    privateNetwork: privateNetwork
    workspaceId: monitoring.outputs.workspaceId
  }
}

module contentSafety 'modules/ai-service.bicep' = if (safetyChecks) {
  scope: group
  name: 'content-safety'
  params: {
    name: contentSafetyName
    kind: 'ContentSafety'
    sku: 'S0'
    location: location
    tags: tags
    privateNetwork: privateNetwork
    workspaceId: monitoring.outputs.workspaceId
  }
}

resource foundContentStorage 'Microsoft.Storage/storageAccounts@2023-05-01' existing = if (!contentIsOurs) {
  name: contentStorageName
  scope: resourceGroup(contentGroup)
}

var searchPrincipalId = searchIsNew ? search!.outputs.principalId : foundSearch!.identity.principalId

module roles 'modules/roles.bicep' = {
  name: 'roles-${token}'
  params: {
    groupName: groupName
    appPrincipalId: identity.outputs.principalId
    deployerPrincipalId: principalId
    deployerPrincipalType: principalType
    storageName: storage.outputs.name
    contentStorageName: contentStorageName
    contentStorageGroup: contentGroup
    ingests: contentIsOurs
    makesIndex: contentIsOurs && appMakesIndex
    insightsName: monitoring.outputs.insightsName
    openAiName: openAiName
    openAiGroup: openAiGroup
    searchName: searchName
    searchGroup: searchGroup
    vectorizerPrincipalId: searchVectorizer ? searchPrincipalId : ''
    ingestionServices: concat(
      documentIntelligence ? [documentIntelligenceName] : [],
      vision ? [visionName] : []
    )
    contentSafetyName: safetyChecks ? contentSafetyName : ''
  }
  dependsOn: [openAi, search, documentReader, imageReader, contentSafety]
}

// What is private is reached through an endpoint in the network; what existed before keeps the network that it has.
var storageZones = map(['blob', 'queue', 'table'], part => 'privatelink.${part}.${environment().suffixes.storage}')
var openAiZone = 'privatelink.openai.azure.com'
var searchZone = 'privatelink.search.windows.net'
var aiZone = 'privatelink.cognitiveservices.azure.com'

module network 'modules/network.bicep' = if (privateNetwork) {
  scope: group
  name: 'network'
  params: {
    name: 'vnet-${token}'
    location: location
    tags: tags
    services: concat(
      [
        { name: 'blob', id: storage.outputs.id, group: 'blob', zone: storageZones[0] }
        { name: 'queue', id: storage.outputs.id, group: 'queue', zone: storageZones[1] }
        { name: 'table', id: storage.outputs.id, group: 'table', zone: storageZones[2] }
      ],
      openAiIsNew ? [{ name: 'openai', id: openAi!.outputs.id, group: 'account', zone: openAiZone }] : [],
      searchIsNew ? [{ name: 'search', id: search!.outputs.id, group: 'searchService', zone: searchZone }] : [],
      documentIntelligence
        ? [{ name: 'document-intelligence', id: documentReader!.outputs.id, group: 'account', zone: aiZone }]
        : [],
      vision ? [{ name: 'vision', id: imageReader!.outputs.id, group: 'account', zone: aiZone }] : [],
      safetyChecks ? [{ name: 'content-safety', id: contentSafety!.outputs.id, group: 'account', zone: aiZone }] : []
    )
  }
}

// ---------------------------------------------------------------------------------------------------------------------

var openAiEndpoint = openAiIsNew ? openAi!.outputs.endpoint : foundOpenAi!.properties.endpoint
var searchEndpoint = 'https://${searchName}.search.windows.net'
var contentBlobs = contentIsOurs ? storage.outputs.blobEndpoint : foundContentStorage!.properties.primaryEndpoints.blob
var documentIntelligenceEndpoint = documentIntelligence ? documentReader!.outputs.endpoint : ''
var visionEndpoint = vision ? imageReader!.outputs.endpoint : ''
var tenantId = empty(authTenantId) ? tenant().tenantId : authTenantId
var signIn = authMode != 'none'
var byToken = authMode == 'api-key' ? false : signIn
var missingClientId = 'Callers sign in to an app registration: azd env set DEPLOY_AUTH_CLIENT_ID CLIENT-ID'
var allowedApplications = empty(authAllowedApplications) ? [authClientId] : split(authAllowedApplications, ',')
var missingApiKeys = 'Callers need a key: make api-key NAME=NAME, then azd env set DEPLOY_API_KEYS NAME:HASH'
var callerKeys = authMode != 'api-key' ? '' : empty(apiKeys) ? fail(missingApiKeys) : apiKeys
var clientId = !byToken ? '' : empty(authClientId) ? fail(missingClientId) : authClientId

module app 'modules/function-app.bicep' = {
  scope: group
  name: 'app'
  params: {
    planName: 'plan-${token}'
    appName: 'func-${token}'
    location: location
    tags: tags
    identityId: identity.outputs.id
    identityClientId: identity.outputs.clientId
    packagesUrl: storage.outputs.packagesUrl
    insightsName: monitoring.outputs.insightsName
    subnetId: privateNetwork ? network!.outputs.appSubnetId : ''
    corsOrigins: empty(corsOrigins) ? [] : map(split(corsOrigins, ','), origin => trim(origin))
    httpConcurrency: httpConcurrency
    instanceMemory: instanceMemory
    maximumInstances: maximumInstances
    alwaysReadyInstances: alwaysReadyInstances
    settings: union(
      {
        AzureWebJobsStorage__blobServiceUri: storage.outputs.blobEndpoint
        AzureWebJobsStorage__queueServiceUri: storage.outputs.queueEndpoint
        AzureWebJobsStorage__tableServiceUri: storage.outputs.tableEndpoint
        AZURE_OPENAI_ENDPOINT: openAiEndpoint
        AZURE_OPENAI_CHAT_DEPLOYMENT: chatDeployment
        AZURE_OPENAI_EMBEDDING_DEPLOYMENT: embeddingDeployment
        CHAT_REASONING_EFFORT: chatReasoningEffort
        AZURE_SEARCH_ENDPOINT: searchEndpoint
        AZURE_SEARCH_INDEX: searchIndex
        EMBEDDINGS: searchVectorizer ? 'index' : 'off'
        AZURE_VISION_ENDPOINT: visionEndpoint
        DOCUMENT_INTELLIGENCE_ENDPOINT: documentIntelligenceEndpoint
        PAGE_IMAGES: string(pageImages)
        CONTENT_STORAGE__blobServiceUri: contentBlobs
        // Events are in our own account, wherever the documents are.
        CONTENT_STORAGE__queueServiceUri: contains(features, 'readers') ? storage.outputs.queueEndpoint : ''
        CONTENT_CONTAINER: contentContainer
        CHAT_REQUESTS_QUEUE: storage.outputs.requestsQueue
        CHAT_ANSWERS_QUEUE: storage.outputs.answersQueue
        RAI_MODE: safetyMode
        RAI_BACKEND: safetyChecks ? 'content-safety' : 'rai'
        CONTENT_SAFETY_ENDPOINT: safetyChecks ? contentSafety!.outputs.endpoint : ''
        CHAT_CALLER_PROMPTS: string(signIn)
        PLAYGROUND: playground
        AUTH_MODE: authMode
        API_KEYS: callerKeys
        AUTH_TENANT_ID: byToken ? tenantId : ''
        AUTH_CLIENT_ID: clientId
        AUTH_AUTHORITY: environment().authentication.loginEndpoint
        LIMIT_CALLER_REQUESTS_PER_MINUTE: string(callerRequestsPerMinute)
        LIMIT_CALLER_TOKENS_PER_DAY: string(callerTokensPerDay)
        LIMIT_CALLER_RUNS: '20'
        LIMIT_CALLER_KEPT_MEGABYTES: '500'
        LIMIT_REQUESTS_PER_MINUTE: string(requestsPerMinute)
        LIMIT_TOKENS_PER_DAY: string(tokensPerDay)
        LIMIT_BACKEND: 'azure-table'
        ACCESS_CONTROL: accessControl
        // Those who do not sign in would share their chats with everyone.
        HISTORY_BACKEND: signIn ? 'azure-table' : 'off'
      },
      moreSettings
    )
  }
  // The host cannot start before it may use its storage.
  dependsOn: [roles]
}

module watch 'modules/watch.bicep' = {
  scope: group
  name: 'watch'
  params: {
    environmentName: environmentName
    token: token
    location: location
    tags: tags
    insightsId: monitoring.outputs.insightsId
    appId: app.outputs.id
    instanceMemory: instanceMemory
    emails: empty(alertEmails) ? [] : map(split(alertEmails, ','), email => trim(email))
    monthlyBudget: monthlyBudget
  }
}

module easyAuth 'modules/easy-auth.bicep' = {
  scope: group
  name: 'easy-auth'
  params: {
    appName: app.outputs.name
    enabled: authMode == 'easy-auth'
    clientId: clientId
    allowedApplications: allowedApplications
    tenantId: tenantId
  }
}

// --- What azd keeps: the app's address, and what `make index` reads --------------------------------------------------

output AZURE_RESOURCE_GROUP string = group.name
// The Azure CLI reads it too, for uploads.
output AZURE_STORAGE_ACCOUNT string = contentIsOurs ? storage.outputs.name : ''
output SWITCHBOARD_URL string = '${app.outputs.url}/api'
output AZURE_OPENAI_ENDPOINT string = openAiEndpoint
output AZURE_OPENAI_CHAT_DEPLOYMENT string = chatDeployment
output AZURE_OPENAI_EMBEDDING_DEPLOYMENT string = embeddingDeployment
output AZURE_SEARCH_ENDPOINT string = searchEndpoint
output AZURE_SEARCH_INDEX string = searchIndex
output EMBEDDINGS string = searchVectorizer ? 'index' : 'off'
output AZURE_VISION_ENDPOINT string = visionEndpoint
output DOCUMENT_INTELLIGENCE_ENDPOINT string = documentIntelligenceEndpoint
output PAGE_IMAGES string = string(pageImages)
output CONTENT_STORAGE__blobServiceUri string = contentIsOurs ? contentBlobs : ''
output CONTENT_CONTAINER string = contentContainer
