// All of Switchboard in Azure, for `azd up`. docs/deploy.md says what each part is for and what it costs.
// No part has a key: everything signs in with an identity, and modules/roles.bicep is the list of who may do what.
targetScope = 'subscription'

import { hasOnly, isGuid, isName, isRange, isSubnetId, isWrittenWith, listOf, partOfId } from 'modules/texts.bicep'

// --- Where, and who deploys ------------------------------------------------------------------------------------------

@minLength(1)
@maxLength(64)
@description('Name of the azd environment; the resource group is named after it.')
param environmentName string

@minLength(1)
@description('Region of everything that is not placed elsewhere below.')
param location string

@maxLength(90)
@description('Name of the resource group. Empty: rg- and the name of the environment.')
param resourceGroupName string = ''

@description('Whether that group exists already, and is left as it is: its region and its tags do not change.')
param resourceGroupExists bool = false

@description('More tags of the group and of each resource, by name.')
param moreTags object = {}

@description('Own names of resources instead of made-up ones, such as app or storage.')
param names object = {}

@description('Object ID of who deploys: may fill the index and the container. Empty: nobody is given roles.')
param principalId string = ''

@allowed(['User', 'ServicePrincipal', 'Group'])
@description('What the deployer is.')
param principalType string = 'User'

// --- Who may call ----------------------------------------------------------------------------------------------------

@allowed(['none', 'easy-auth', 'bearer', 'api-key'])
@description('How callers sign in. none: everyone who knows the address can use, and spend, what is deployed here.')
param authMode string

@description('API keys of callers, as `make api-key` writes them: names and hashes. Or a Key Vault reference.')
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

@allowed(['on', 'chat', 'off'])
@description('Whether the app serves a page to ask from at /api: chat for readers, on for the workbench.')
param playground string = 'off'

@description('Origins of web pages that may call, with commas: https://chat.contoso.com,https://localhost:5173')
param corsOrigins string = ''

// --- How many people, and what callers may use -----------------------------------------------------------------------

@minValue(0)
@maxValue(100000)
@description('How many people the app is for: sets what is not chosen of limits, capacities, replicas and instances. 0: a trial.')
param people int = 0

@minValue(-1)
@description('How many requests a caller, a user or an address, may send in a minute. 0: no limit. -1: 30.')
param callerRequestsPerMinute int = -1

@minValue(-1)
@description('How many tokens the model may read and write for a caller in a day (UTC). 0: no limit. -1: 250,000, or by DEPLOY_PEOPLE.')
param callerTokensPerDay int = -1

@minValue(-1)
@description('How many requests all callers may send in a minute. 0: no limit. -1: 600, or by DEPLOY_PEOPLE.')
param requestsPerMinute int = -1

@minValue(-1)
@description('How many tokens the model may read and write in a day (UTC). 0: no limit. -1: 5,000,000, or by DEPLOY_PEOPLE.')
param tokensPerDay int = -1

// --- The model -------------------------------------------------------------------------------------------------------

@description('An Azure OpenAI resource that exists, with its deployments, instead of a new one.')
param existingOpenAiName string = ''

@description('Its resource group.')
param existingOpenAiResourceGroup string = ''

@description('Region of Azure OpenAI. Empty: the same as the rest.')
param openAiLocation string = ''

@allowed(['AIServices', 'OpenAI'])
@description('Kind of a new resource: Microsoft Foundry, or the earlier kind, where Azure refuses to change one that exists.')
param openAiKind string = 'AIServices'

@description('Name of the deployment that answers.')
param chatDeployment string = 'gpt-5.6-luna'

@description('Its model, if it is made here.')
param chatModel string = 'gpt-5.6-luna'

@description('Version of that model.')
param chatModelVersion string = '2026-07-09'

@allowed(['OnceCurrentVersionExpired', 'OnceNewDefaultVersionAvailable', 'NoAutoUpgrade'])
@description('When Azure replaces that version by another: once it has retired, once there is a newer default, or never.')
param chatModelUpgrade string = 'OnceCurrentVersionExpired'

@allowed([
  'GlobalStandard'
  'DataZoneStandard'
  'Standard'
  'GlobalProvisionedManaged'
  'DataZoneProvisionedManaged'
  'ProvisionedManaged'
])
@description('Kind of that deployment: where its tokens are processed (anywhere, in a zone such as the EU, in the region), paid by use or provisioned.')
param chatSku string = 'GlobalStandard'

@minValue(0)
@description('Its capacity: thousands of tokens a minute, or units (PTU) of a provisioned kind, which need a number. 0: 30 or by DEPLOY_PEOPLE.')
param chatCapacity int = 0

@allowed(['', 'default', 'none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max'])
@description('How long a reasoning model may think. default: as the model does by itself.')
param chatReasoningEffort string = 'none'

@description('Name of a content filter of the resource for that deployment. One that was set in the portal is lost otherwise.')
param contentFilter string = ''

@description('Name of the deployment that makes vectors.')
param embeddingDeployment string = 'text-embedding-3-large'

@description('Its model, if it is made here.')
param embeddingModel string = 'text-embedding-3-large'

@description('Version of that model.')
param embeddingModelVersion string = '1'

@allowed(['OnceCurrentVersionExpired', 'OnceNewDefaultVersionAvailable', 'NoAutoUpgrade'])
@description('When Azure replaces that version. Never, as vectors of another version do not fit the index.')
param embeddingModelUpgrade string = 'NoAutoUpgrade'

@allowed([
  'GlobalStandard'
  'DataZoneStandard'
  'Standard'
  'GlobalProvisionedManaged'
  'DataZoneProvisionedManaged'
  'ProvisionedManaged'
])
@description('Kind of that deployment.')
param embeddingSku string = 'GlobalStandard'

@minValue(0)
@description('Its capacity, as above. 0: 30 or by DEPLOY_PEOPLE, and for a provisioned kind an error.')
param embeddingCapacity int = 0

// --- Search and documents --------------------------------------------------------------------------------------------

@description('An Azure AI Search service that exists, instead of a new one.')
param existingSearchName string = ''

@description('Its resource group.')
param existingSearchResourceGroup string = ''

@description('Region of AI Search; some are full at times. Empty: the same as the rest.')
param searchLocation string = ''

@allowed(['basic', 'standard', 'standard2', 'standard3', 'serverless'])
@description('Size of the search service. serverless (a preview) grows by itself, without replicas and without searchVectorizer.')
param searchSku string = 'basic'

@minValue(0)
@maxValue(12)
@description('Copies of the search service: from two on Azure promises that it answers, from three on that it also indexes. 0: 1, or by DEPLOY_PEOPLE.')
param searchReplicas int = 0

@allowed([1, 2, 3, 4, 6, 12])
@description('Partitions of the search service: each adds room for the index.')
param searchPartitions int = 1

@allowed(['disabled', 'free', 'standard'])
@description('Plan of the semantic ranker: none, the free requests of each month, or as many as are paid for.')
param semanticRanker string = 'free'

@description('Name of the index.')
param searchIndex string = 'documents'

@description('Whether the app makes the index when the first document comes.')
param appMakesIndex bool = false

@description('Whether the index makes the vectors of queries itself, with Azure OpenAI.')
param searchVectorizer bool = false

@description('A storage account that exists, with the documents of an existing index.')
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

@description('Region of Document Intelligence. Empty: the same as the rest.')
param documentIntelligenceLocation string = ''

@description('Whether to deploy AI Vision, which makes vectors of page images.')
param vision bool = false

@description('Region of AI Vision; not all regions have its image vectors. Empty: the same as the rest.')
param visionLocation string = ''

// --- Safety checks ---------------------------------------------------------------------------------------------------

@allowed(['off', 'annotate', 'enforce'])
@description('Safety checks by Azure AI Content Safety, which is deployed unless this is off.')
param safetyMode string = 'off'

@description('Whether its Prompt Shields look for orders to the model.')
param promptShields bool = false

@description('Region of Content Safety. Empty: the same as the rest.')
param contentSafetyLocation string = ''

// --- Storage ---------------------------------------------------------------------------------------------------------

@allowed(['Standard_LRS', 'Standard_ZRS', 'Standard_GRS', 'Standard_RAGRS', 'Standard_GZRS', 'Standard_RAGZRS'])
@description('Copies of what is in the storage account: in one building, in three zones (ZRS), or in a second region too (G).')
param storageRedundancy string = 'Standard_LRS'

@description('The Event Grid system topic that the storage account has already. It needs a system-assigned identity.')
param existingEventTopicName string = ''

// --- The network -----------------------------------------------------------------------------------------------------

@description('Whether storage, search and the models are in a virtual network, closed to the internet.')
param privateNetwork bool = false

@description('ID of an existing subnet that the app calls from: empty, delegated to Microsoft.App/environments, in the region of the app. Empty: a network is made.')
param subnetId string = ''

@description('ID of an existing subnet for private endpoints. Empty: the one called endpoints in the network of DEPLOY_SUBNET_ID.')
param endpointsSubnetId string = ''

@description('Addresses of the network that is made, at least a /26.')
param addressSpace string = '10.0.0.0/16'

@description('Resource group of existing private DNS zones: its name or ID; none: a policy registers the names. Empty: zones are made.')
param dnsZonesGroup string = ''

@description('Whether existing resources, too, get a private endpoint in the network.')
param endpointsForExisting bool = false

@description('Whether the app itself answers only in the network, by a private endpoint. azd deploy then runs in there too.')
param appPrivate bool = false

@description('Who reaches the app, with commas: ranges of addresses, service tags such as AzureFrontDoor.Backend, IDs of subnets. Empty: unchanged; 0.0.0.0/0: everybody.')
param allowedAddresses string = ''

@description('ID of the Azure Front Door profile that AzureFrontDoor.Backend stands for in DEPLOY_ALLOWED_ADDRESSES.')
param frontDoorId string = ''

// --- The app ---------------------------------------------------------------------------------------------------------

@minValue(0)
@maxValue(500)
@description('How many requests one instance takes at once. 0: 30 with 512 MB, 100 with 2,048, 200 with 4,096.')
param httpConcurrency int = 0

@description('Which packages are deployed beside those for chat: readers, agents, built-in, rai, with commas; or none of them.')
param features string = 'readers,agents'

@allowed([512, 2048, 4096])
@description('Memory of an instance in MB, and with it its share of a core: a quarter, one, or two.')
param instanceMemory int = 2048

@minValue(0)
@maxValue(1000)
@description('How many instances there may be, at most: for HTTP, and as many again for each queue and the timer. 0: 40, or more by DEPLOY_PEOPLE.')
param maximumInstances int = 0

@minValue(0)
@description('How many instances are kept warm, and paid for, at all times.')
param alwaysReadyInstances int = 0

@description('Whether instances are spread over the zones of the region. It takes a storageRedundancy with zones.')
param zoneRedundant bool = false

@allowed(['', 'Recreate', 'RollingUpdate'])
@description('How a deployment replaces instances: all at once, or one after the other while open answers end, in some regions. Empty: unchanged.')
param updateStrategy string = ''

@description('Whether messages of the queue chat-requests are answered into the queue chat-answers.')
param chatQueues bool = false

// --- Teams and Microsoft 365 Copilot ---------------------------------------------------------------------------------

@allowed(['off', 'F0', 'S1'])
@description('Whether a bot of Azure Bot Service is registered (docs/teams.md), and its pricing tier: F0 is free.')
param bot string = 'off'

@minLength(1)
@maxLength(30)
@description('What people see the bot called.')
param botName string = 'Switchboard'

@description('Whether Teams signs its users in to authClientId, so that the bot knows their groups.')
param botSignIn bool = false

// --- Watching --------------------------------------------------------------------------------------------------------

@minValue(30)
@maxValue(730)
@description('How many days the workspace keeps logs and traces.')
param logDays int = 30

@minValue(0)
@description('How many gigabytes of logs a day the workspace takes, and no more. 0: no cap is set.')
param logGigabytesPerDay int = 0

@description('E-mail addresses that alerts and the budget go to, with commas. Empty: alerts show in the portal only.')
param alertEmails string = ''

@description('Who owns the alerts, such as the name of a team. It is in each alert.')
param alertOwner string = ''

@description('Address of the page that says what to do when an alert rings. Empty: docs/observability.md.')
param alertPage string = ''

@minValue(0)
@maxValue(100)
@description('At how many percent of its memory an instance rings. 0: no such alert.')
param memoryAlertPercent int = 85

@minValue(0)
@description('How much a month may cost, in the currency of the bill: at 80 %, and when more is expected, an e-mail warns. 0: no budget.')
param monthlyBudget int = 0

@description('First day of the month in which the budget was made. azd keeps it; a pipeline needs it as a variable.')
param budgetStart string = ''

@description('First day of this month, for a budget that is made now.')
param thisMonth string = utcNow('yyyy-MM-01')

// --- Other settings --------------------------------------------------------------------------------------------------

@description('Other settings of the app (docs/settings.md) by name. A key has to be a Key Vault reference.')
param moreSettings object = {}

// --- What the number of people sets, as tools/cost.py works it out too ------------------------------------------------

// How many streams an instance carries, by its memory: measured in the Functions host under the share of a core that it has.
var carried = loadJsonContent('requests-at-once.json')
var atOnce = httpConcurrency > 0 ? httpConcurrency : carried[string(instanceMemory)]
var use = loadJsonContent('people.json')
var measured = loadJsonContent('../bench/measured.json')
var read = int(measured['tokens that a question reads'][0])
var spent = read + use['tokens of an answer']
// Azure counts what calls may write into the tokens of a minute, and not what they do write.
var counted = read + int(measured['tokens that a question may write'][0])
var oneAsks = use['questions a day of who asks most'] * spent
var inAMinute = (people + use['people for a question in the busiest minute'] - 1) / use['people for a question in the busiest minute']
var open = (inAMinute * use['seconds of an answer'] + 59) / 60
var trial = use['for a trial']
var needed = people == 0
  ? trial
  : {
      chatCapacity: max(trial.chatCapacity, (inAMinute * counted + 9999) / 10000 * 10)
      embeddingCapacity: max(trial.embeddingCapacity, (inAMinute * use['tokens of a vector'] + 9999) / 10000 * 10)
      callerRequestsPerMinute: trial.callerRequestsPerMinute
      callerTokensPerDay: oneAsks
      requestsPerMinute: max(trial.requestsPerMinute, inAMinute * use['requests with a question'])
      tokensPerDay: max(oneAsks, 2 * people * use['questions a day'] * spent)
      searchReplicas: max(
        people < use['people from whom on search has two replicas'] ? 1 : 2,
        (inAMinute + use['questions a minute of a replica'] - 1) / use['questions a minute of a replica']
      )
      maximumInstances: max(trial.maximumInstances, 4 * ((open + atOnce - 1) / atOnce))
    }
var replicas = searchReplicas > 0 ? searchReplicas : (searchSku == 'serverless' ? 1 : needed.searchReplicas)
var instances = maximumInstances > 0 ? maximumInstances : needed.maximumInstances

// --- What cannot be, each with a sentence that names the variable ----------------------------------------------------

var openAiIsNew = empty(existingOpenAiName)
var searchIsNew = empty(existingSearchName)
var contentIsOurs = empty(existingContentStorageName)
var safetyChecks = safetyMode != 'off' || promptShields
var byToken = contains(['easy-auth', 'bearer'], authMode)
var keys = listOf(apiKeys)
var keysAreElsewhere = startsWith(apiKeys, '@Microsoft.KeyVault(')
var origins = listOf(corsOrigins)
var emails = listOf(alertEmails)
var frontEnds = listOf(authAllowedApplications)
var visitors = listOf(allowedAddresses)
var ourContainers = ['deployments', 'chat-answers', 'chat-batches', 'chat-batches-pages']
var ofGroups = '-_.()'
// What each text may have beside letters and digits.
var written = [
  { name: 'AZURE_LOCATION', text: location, with: ' ' }
  { name: 'environmentName', text: environmentName, with: ofGroups }
  { name: 'DEPLOY_RESOURCE_GROUP', text: resourceGroupName, with: ofGroups }
  { name: 'DEPLOY_EXISTING_OPENAI_NAME', text: existingOpenAiName, with: '-_.' }
  { name: 'DEPLOY_EXISTING_OPENAI_RESOURCE_GROUP', text: existingOpenAiResourceGroup, with: ofGroups }
  { name: 'DEPLOY_OPENAI_LOCATION', text: openAiLocation, with: ' ' }
  { name: 'DEPLOY_CHAT_DEPLOYMENT', text: chatDeployment, with: '-_.' }
  { name: 'DEPLOY_CHAT_MODEL', text: chatModel, with: '-_.' }
  { name: 'DEPLOY_CHAT_MODEL_VERSION', text: chatModelVersion, with: '-_.' }
  { name: 'DEPLOY_CONTENT_FILTER', text: contentFilter, with: '-_. ' }
  { name: 'DEPLOY_EMBEDDING_DEPLOYMENT', text: embeddingDeployment, with: '-_.' }
  { name: 'DEPLOY_EMBEDDING_MODEL', text: embeddingModel, with: '-_.' }
  { name: 'DEPLOY_EMBEDDING_MODEL_VERSION', text: embeddingModelVersion, with: '-_.' }
  { name: 'DEPLOY_EXISTING_SEARCH_NAME', text: existingSearchName, with: '-' }
  { name: 'DEPLOY_EXISTING_SEARCH_RESOURCE_GROUP', text: existingSearchResourceGroup, with: ofGroups }
  { name: 'DEPLOY_SEARCH_LOCATION', text: searchLocation, with: ' ' }
  { name: 'DEPLOY_EXISTING_CONTENT_STORAGE_NAME', text: existingContentStorageName, with: '' }
  { name: 'DEPLOY_EXISTING_CONTENT_STORAGE_RESOURCE_GROUP', text: existingContentStorageResourceGroup, with: ofGroups }
  { name: 'DEPLOY_EXISTING_EVENT_TOPIC', text: existingEventTopicName, with: '-' }
  { name: 'DEPLOY_DOCUMENT_INTELLIGENCE_LOCATION', text: documentIntelligenceLocation, with: ' ' }
  { name: 'DEPLOY_VISION_LOCATION', text: visionLocation, with: ' ' }
  { name: 'DEPLOY_CONTENT_SAFETY_LOCATION', text: contentSafetyLocation, with: ' ' }
  { name: 'DEPLOY_DNS_ZONES_GROUP', text: dnsZonesGroup, with: '${ofGroups}/' }
]
var writtenWrong = filter(written, one => !isWrittenWith(one.text, one.with))
// What a resource can be called depends on where its name is: in an address, in the account's own, or nowhere else.
var inAddresses = ['app', 'openai', 'search', 'documentIntelligence', 'vision', 'contentSafety']
var ownNamesWrong = filter(
  items(mapValues(names, name => string(name))),
  one =>
    one.key == 'storage'
      ? length(one.value) < 3 || length(one.value) > 24 || !hasOnly(one.value, 'abcdefghijklmnopqrstuvwxyz0123456789')
      : length(one.value) < 2 || length(one.value) > 60 || (contains(inAddresses, one.key)
          ? !isName(one.key == 'search' ? one.value : toLower(one.value))
          : !isWrittenWith(one.value, '-_.'))
)
var tagsWrong = filter(
  items(moreTags),
  one =>
    length(one.key) > 512 || length(string(one.value)) > 256 || length(split(
      replace(replace(replace(replace(replace(one.key, '<', '/'), '>', '/'), '%', '/'), '&', '/'), '?', '/'),
      '/'
    )) > 1
)

// Settings of a choice of their own: with one of these in moreSettings the rest would not fit.
var chosenElsewhere = {
  auth_mode: 'DEPLOY_AUTH_MODE'
  api_keys: 'DEPLOY_API_KEYS'
  auth_client_id: 'DEPLOY_AUTH_CLIENT_ID'
  auth_tenant_id: 'DEPLOY_AUTH_TENANT_ID'
  access_control: 'DEPLOY_ACCESS_CONTROL'
  rai_mode: 'DEPLOY_SAFETY_MODE'
  shields: 'DEPLOY_PROMPT_SHIELDS'
  chat_requests_queue: 'DEPLOY_CHAT_QUEUES'
  chat_answers_queue: 'DEPLOY_CHAT_QUEUES'
  content_container: 'DEPLOY_CONTENT_CONTAINER'
}
var platformsOwn = [
  'azure_client_id'
  'azurewebjobsstorage'
  'applicationinsights_'
  'functions_'
  'website_'
  'content_storage__credential'
  'content_storage__clientid'
]
var given = items(moreSettings)
var secretEnds = ['_key', '_token', '_secret', '_password']
var readable = filter(
  given,
  one =>
    !empty(string(one.value)) && !startsWith(string(one.value), '@Microsoft.KeyVault(') && (contains(
      string(one.value),
      'AccountKey='
    ) || !empty(filter(secretEnds, end => endsWith(toLower(one.key), end))))
)
var reserved = filter(given, one => !empty(filter(platformsOwn, start => startsWith(toLower(one.key), start))))
var elsewhere = filter(given, one => contains(chosenElsewhere, toLower(one.key)))
var otherwiseWritten = filter(
  given,
  one => !empty(filter(objectKeys(ownSettings), own => toLower(own) == toLower(one.key) && own != one.key))
)
var ownNamesUnknown = filter(objectKeys(names), key => !contains(objectKeys(madeUp), key))

var checks = [
  {
    wrong: endsWith(environmentName, '.') || endsWith(resourceGroupName, '.')
    says: 'environmentName and DEPLOY_RESOURCE_GROUP: a resource group cannot end with a full stop.'
  }
  {
    wrong: !empty(writtenWrong)
    says: 'A character that cannot be in such a name is in ${join(map(writtenWrong, one => one.name), ', ')}.'
  }
  {
    wrong: !empty(principalId) && !isGuid(principalId)
    says: 'AZURE_PRINCIPAL_ID is no object ID, such as 11111111-2222-3333-4444-555555555555.'
  }
  {
    wrong: !empty(ownNamesWrong)
    says: 'DEPLOY_NAMES has what no such resource can be called: ${join(map(ownNamesWrong, one => '${one.key} ${one.value}'), ', ')}.'
  }
  {
    wrong: !empty(tagsWrong) || length(items(moreTags)) > 48
    says: 'DEPLOY_TAGS has more than 48 tags, a name with one of <>%&?/, or a value of more than 256 characters: ${join(map(tagsWrong, one => one.key), ', ')}.'
  }
  {
    wrong: resourceGroupExists && empty(resourceGroupName)
    says: 'DEPLOY_RESOURCE_GROUP_EXISTS needs the name of that group: azd env set DEPLOY_RESOURCE_GROUP NAME'
  }
  {
    wrong: !empty(ownNamesUnknown)
    says: 'DEPLOY_NAMES has ${join(ownNamesUnknown, ', ')}: there are ${join(objectKeys(madeUp), ', ')}.'
  }
  {
    wrong: byToken && empty(authClientId)
    says: 'Callers sign in to an app registration: azd env set DEPLOY_AUTH_CLIENT_ID CLIENT-ID'
  }
  {
    wrong: !empty(authClientId) && !isGuid(authClientId)
    says: 'DEPLOY_AUTH_CLIENT_ID is no client ID, such as 11111111-2222-3333-4444-555555555555.'
  }
  {
    wrong: !empty(authTenantId) && !isGuid(authTenantId)
    says: 'DEPLOY_AUTH_TENANT_ID is no tenant ID, such as 11111111-2222-3333-4444-555555555555.'
  }
  {
    wrong: !empty(filter(frontEnds, one => !isGuid(one)))
    says: 'DEPLOY_AUTH_ALLOWED_APPLICATIONS has what is no client ID: ${join(filter(frontEnds, one => !isGuid(one)), ', ')}.'
  }
  {
    wrong: authMode == 'api-key' && empty(keys)
    says: 'Callers need a key: make api-key NAME=NAME, then azd env set DEPLOY_API_KEYS NAME:HASH'
  }
  {
    wrong: !keysAreElsewhere && !empty(filter(
      keys,
      one =>
        !isName(split(one, ':')[0]) || length(split('${one}:', ':')[1]) != 64 || !hasOnly(
          toLower(split('${one}:', ':')[1]),
          '0123456789abcdef'
        )
    ))
    says: 'DEPLOY_API_KEYS has an entry that is not NAME:HASH, as make api-key NAME=NAME writes it.'
  }
  {
    wrong: authMode == 'none' && accessControl != 'on-request'
    says: 'DEPLOY_ACCESS_CONTROL ${accessControl} needs callers who sign in: azd env set DEPLOY_AUTH_MODE bearer'
  }
  {
    wrong: !empty(filter(
      origins,
      one =>
        one != '*' && (length(split(one, '/')) != 3 || endsWith(one, '/') || contains(one, ' ') || !(startsWith(
          one,
          'http://'
        ) || startsWith(one, 'https://')))
    ))
    says: 'DEPLOY_CORS_ORIGINS has what is no origin, such as https://chat.contoso.com, without a path or a slash at its end.'
  }
  {
    wrong: empty(existingOpenAiName) != empty(existingOpenAiResourceGroup)
    says: 'DEPLOY_EXISTING_OPENAI_NAME needs DEPLOY_EXISTING_OPENAI_RESOURCE_GROUP, and the other way round.'
  }
  {
    wrong: empty(existingSearchName) != empty(existingSearchResourceGroup)
    says: 'DEPLOY_EXISTING_SEARCH_NAME needs DEPLOY_EXISTING_SEARCH_RESOURCE_GROUP, and the other way round.'
  }
  {
    wrong: empty(existingContentStorageName) != empty(existingContentStorageResourceGroup)
    says: 'DEPLOY_EXISTING_CONTENT_STORAGE_NAME needs DEPLOY_EXISTING_CONTENT_STORAGE_RESOURCE_GROUP, and the other way round.'
  }
  {
    wrong: empty(chatDeployment) || empty(embeddingDeployment) || toLower(chatDeployment) == toLower(embeddingDeployment)
    says: 'DEPLOY_CHAT_DEPLOYMENT and DEPLOY_EMBEDDING_DEPLOYMENT need two names: they are two deployments of one resource.'
  }
  {
    wrong: openAiIsNew && (empty(chatModel) || empty(chatModelVersion) || empty(embeddingModel) || empty(embeddingModelVersion))
    says: 'DEPLOY_CHAT_MODEL, DEPLOY_CHAT_MODEL_VERSION, DEPLOY_EMBEDDING_MODEL and DEPLOY_EMBEDDING_MODEL_VERSION cannot be empty.'
  }
  {
    wrong: openAiIsNew && contains(chatSku, 'Provisioned') && chatCapacity == 0
    says: 'DEPLOY_CHAT_SKU ${chatSku} is paid by the hour for each unit (PTU): say how many with DEPLOY_CHAT_CAPACITY.'
  }
  {
    wrong: openAiIsNew && contains(embeddingSku, 'Provisioned') && embeddingCapacity == 0
    says: 'DEPLOY_EMBEDDING_SKU ${embeddingSku} is paid by the hour for each unit (PTU): say how many with DEPLOY_EMBEDDING_CAPACITY.'
  }
  {
    wrong: searchSku == 'basic' && (searchReplicas > 3 || searchPartitions > 3)
    says: 'DEPLOY_SEARCH_SKU basic has at most 3 of DEPLOY_SEARCH_REPLICAS and of DEPLOY_SEARCH_PARTITIONS.'
  }
  {
    wrong: searchIsNew && searchReplicas == 0 && (replicas > (searchSku == 'basic' ? 3 : 12) || replicas * searchPartitions > 36)
    says: 'DEPLOY_PEOPLE ${people} needs ${replicas} replicas of AI Search: choose a larger DEPLOY_SEARCH_SKU, or DEPLOY_SEARCH_REPLICAS yourself.'
  }
  {
    wrong: searchSku == 'serverless' && (searchVectorizer || searchReplicas > 1 || searchPartitions > 1)
    says: 'DEPLOY_SEARCH_SKU serverless has no DEPLOY_SEARCH_VECTORIZER, DEPLOY_SEARCH_REPLICAS or DEPLOY_SEARCH_PARTITIONS.'
  }
  {
    wrong: searchReplicas * searchPartitions > 36
    says: 'DEPLOY_SEARCH_REPLICAS times DEPLOY_SEARCH_PARTITIONS is more than 36.'
  }
  {
    wrong: empty(searchIndex) || !isName(searchIndex) || length(searchIndex) > 128
    says: 'DEPLOY_SEARCH_INDEX is no name of an index: small letters, digits, and single hyphens inside.'
  }
  {
    wrong: !isName(contentContainer)
    says: 'DEPLOY_CONTENT_CONTAINER is no name of a container: small letters, digits, and single hyphens inside.'
  }
  {
    wrong: contentIsOurs && (contains(ourContainers, contentContainer) || startsWith(contentContainer, 'azure-webjobs'))
    says: 'DEPLOY_CONTENT_CONTAINER ${contentContainer} is a container that the app or its host uses itself: take another name.'
  }
  {
    wrong: !contentIsOurs && !empty(existingEventTopicName)
    says: 'DEPLOY_EXISTING_EVENT_TOPIC is for documents in the account that is made here, not for DEPLOY_EXISTING_CONTENT_STORAGE_NAME.'
  }
  {
    wrong: !empty(subnetId) && !isSubnetId(subnetId)
    says: 'DEPLOY_SUBNET_ID is no ID of a subnet: /subscriptions/…/virtualNetworks/NAME/subnets/NAME'
  }
  {
    wrong: !empty(endpointsSubnetId) && !isSubnetId(endpointsSubnetId)
    says: 'DEPLOY_ENDPOINTS_SUBNET_ID is no ID of a subnet: /subscriptions/…/virtualNetworks/NAME/subnets/NAME'
  }
  {
    wrong: !empty(endpointsSubnetId) && (empty(subnetId) || !privateNetwork)
    says: 'DEPLOY_ENDPOINTS_SUBNET_ID needs DEPLOY_SUBNET_ID and DEPLOY_PRIVATE_NETWORK=true.'
  }
  {
    wrong: !empty(subnetId) && toLower(subnetId) == toLower(endpointsSubnetId)
    says: 'DEPLOY_SUBNET_ID and DEPLOY_ENDPOINTS_SUBNET_ID are one subnet: one that is delegated takes no private endpoints.'
  }
  {
    wrong: !isRange(addressSpace) || !contains(
      map(range(8, 19), bits => string(bits)),
      split('${addressSpace}/', '/')[1]
    )
    says: 'DEPLOY_ADDRESS_SPACE is no range of addresses from /8 to /26, such as 10.20.0.0/24.'
  }
  {
    wrong: !privateNetwork && (appPrivate || endpointsForExisting || !empty(dnsZonesGroup))
    says: 'DEPLOY_APP_PRIVATE, DEPLOY_ENDPOINTS_FOR_EXISTING and DEPLOY_DNS_ZONES_GROUP need DEPLOY_PRIVATE_NETWORK=true.'
  }
  {
    wrong: startsWith(dnsZonesGroup, '/') && length(split(dnsZonesGroup, '/')) != 5
    says: 'DEPLOY_DNS_ZONES_GROUP is neither the name of a resource group nor its ID: /subscriptions/ID/resourceGroups/NAME'
  }
  {
    wrong: appPrivate && !empty(visitors)
    says: 'DEPLOY_ALLOWED_ADDRESSES says who comes over the internet: with DEPLOY_APP_PRIVATE nobody does.'
  }
  {
    wrong: !empty(filter(
      visitors,
      one =>
        startsWith(one, '/')
          ? !isSubnetId(one)
          : contains(one, ':')
              ? !contains(one, '/')
              : contains('0123456789', substring(one, 0, 1)) ? !isRange(one) : !isWrittenWith(one, '-_.')
    ))
    says: 'DEPLOY_ALLOWED_ADDRESSES has what is neither a range of addresses, nor a service tag, nor the ID of a subnet.'
  }
  {
    wrong: !empty(frontDoorId) && (!isGuid(frontDoorId) || !contains(visitors, 'AzureFrontDoor.Backend'))
    says: 'DEPLOY_FRONT_DOOR_ID is a GUID, and needs AzureFrontDoor.Backend in DEPLOY_ALLOWED_ADDRESSES.'
  }
  {
    wrong: !empty(filter(listOf(features), one => !contains(['readers', 'agents', 'built-in', 'rai', 'none'], one)))
    says: 'DEPLOY_FEATURES has what is no feature: there are readers, agents, built-in, rai; or none.'
  }
  {
    wrong: bot != 'off' && appPrivate
    says: 'DEPLOY_BOT: Azure Bot Service calls the app from the internet, where DEPLOY_APP_PRIVATE takes it away.'
  }
  {
    wrong: botSignIn && (bot == 'off' || empty(authClientId))
    says: 'DEPLOY_BOT_SIGN_IN needs DEPLOY_BOT and DEPLOY_AUTH_CLIENT_ID.'
  }
  {
    wrong: alwaysReadyInstances > instances
    says: 'DEPLOY_ALWAYS_READY_INSTANCES is more than DEPLOY_MAXIMUM_INSTANCES.'
  }
  {
    wrong: zoneRedundant && !contains(storageRedundancy, 'ZRS')
    says: 'DEPLOY_ZONE_REDUNDANT needs DEPLOY_STORAGE_REDUNDANCY with zones, such as Standard_ZRS.'
  }
  {
    wrong: zoneRedundant && alwaysReadyInstances == 1
    says: 'DEPLOY_ALWAYS_READY_INSTANCES is 0, or 2 and more, with DEPLOY_ZONE_REDUNDANT.'
  }
  {
    wrong: !empty(filter(emails, one => length(split(one, '@')) != 2 || contains(one, ' ')))
    says: 'DEPLOY_ALERT_EMAILS has what is no e-mail address: ${join(filter(emails, one => length(split(one, '@')) != 2 || contains(one, ' ')), ', ')}.'
  }
  {
    wrong: monthlyBudget > 0 && empty(emails)
    says: 'DEPLOY_MONTHLY_BUDGET needs somebody to warn: azd env set DEPLOY_ALERT_EMAILS ADDRESS'
  }
  {
    wrong: !empty(budgetStart) && (length(budgetStart) != 10 || !startsWith(budgetStart, '20') || !endsWith(
      budgetStart,
      '-01'
    ) || !contains(map(range(1, 12), month => padLeft(month, 2, '0')), split('${budgetStart}-', '-')[1]))
    says: 'DEPLOY_BUDGET_START is no first day of a month, such as 2026-11-01.'
  }
  {
    wrong: !empty(alertPage) && (!startsWith(alertPage, 'https://') || contains(alertPage, ' '))
    says: 'DEPLOY_ALERT_PAGE is no address of a page: https://…'
  }
  {
    wrong: !empty(reserved)
    says: 'DEPLOY_MORE_SETTINGS has ${join(map(reserved, one => one.key), ', ')}: the deployment or Azure sets it.'
  }
  {
    wrong: !empty(filter(given, one => !isWrittenWith(one.key, '_')))
    says: 'DEPLOY_MORE_SETTINGS has a name with other characters than letters, digits and underscores.'
  }
  {
    wrong: !empty(readable)
    says: 'DEPLOY_MORE_SETTINGS has ${join(map(readable, one => one.key), ', ')}, which all could read who may read deployments: give @Microsoft.KeyVault(SecretUri=https://…).'
  }
  {
    wrong: !empty(elsewhere)
    says: 'DEPLOY_MORE_SETTINGS has ${join(map(elsewhere, one => '${one.key}, which is ${chosenElsewhere[toLower(one.key)]}'), ' and ')}.'
  }
  {
    wrong: !empty(otherwiseWritten)
    says: 'DEPLOY_MORE_SETTINGS has ${join(map(otherwiseWritten, one => one.key), ', ')}: write it as docs/settings.md does.'
  }
]
var wrong = map(filter(checks, one => one.wrong), one => one.says)

// --- Names -----------------------------------------------------------------------------------------------------------

var token = toLower(uniqueString(subscription().id, environmentName, location))
var tags = union(mapValues(moreTags, value => string(value)), { 'azd-env-name': environmentName })
var madeUp = {
  app: 'func-${token}'
  plan: 'plan-${token}'
  identity: 'id-${token}'
  storage: 'st${token}'
  events: 'evgt-${token}'
  openai: 'oai-${token}'
  search: 'srch-${token}'
  documentIntelligence: 'di-${token}'
  vision: 'cv-${token}'
  contentSafety: 'cs-${token}'
  workspace: 'log-${token}'
  insights: 'appi-${token}'
  network: 'vnet-${token}'
  bot: 'bot-${token}'
}
var called = union(madeUp, mapValues(names, name => partOfId(string(name))))
var groupName = partOfId(empty(resourceGroupName) ? 'rg-${environmentName}' : resourceGroupName)
var openAiGroup = openAiIsNew ? groupName : partOfId(existingOpenAiResourceGroup)
var searchGroup = searchIsNew ? groupName : partOfId(existingSearchResourceGroup)
var contentGroup = contentIsOurs ? groupName : partOfId(existingContentStorageResourceGroup)
var openAiName = openAiIsNew ? called.openai : partOfId(existingOpenAiName)
var searchName = searchIsNew ? called.search : partOfId(existingSearchName)
var contentStorageName = contentIsOurs ? called.storage : partOfId(existingContentStorageName)

// IDs that are known before the deployment: what depends on one that is not is in no preview of it.
var subscriptionId = subscription().subscriptionId
var storageId = resourceId(subscriptionId, groupName, 'Microsoft.Storage/storageAccounts', called.storage)
var contentId = resourceId(subscriptionId, contentGroup, 'Microsoft.Storage/storageAccounts', contentStorageName)
var openAiId = resourceId(subscriptionId, openAiGroup, 'Microsoft.CognitiveServices/accounts', openAiName)
var searchId = resourceId(subscriptionId, searchGroup, 'Microsoft.Search/searchServices', searchName)
var readerId = resourceId(
  subscriptionId,
  groupName,
  'Microsoft.CognitiveServices/accounts',
  called.documentIntelligence
)
var visionId = resourceId(subscriptionId, groupName, 'Microsoft.CognitiveServices/accounts', called.vision)
var safetyId = resourceId(subscriptionId, groupName, 'Microsoft.CognitiveServices/accounts', called.contentSafety)
var appId = resourceId(subscriptionId, groupName, 'Microsoft.Web/sites', called.app)
var ourNetworkId = resourceId(subscriptionId, groupName, 'Microsoft.Network/virtualNetworks', called.network)
var networkIsOurs = privateNetwork && empty(subnetId)
var networkId = networkIsOurs ? ourNetworkId : split(subnetId, '/subnets/')[0]
var appSubnetId = networkIsOurs ? '${ourNetworkId}/subnets/app' : subnetId
var endpointsId = empty(endpointsSubnetId) ? '${networkId}/subnets/endpoints' : endpointsSubnetId

resource group 'Microsoft.Resources/resourceGroups@2025-04-01' = if (!resourceGroupExists) {
  name: groupName
  location: location
  tags: tags
}

module identity 'modules/identity.bicep' = {
  scope: resourceGroup(groupName)
  name: 'identity'
  params: { name: called.identity, location: location, tags: tags }
  dependsOn: [group]
}

module monitoring 'modules/monitoring.bicep' = {
  scope: resourceGroup(groupName)
  name: 'monitoring'
  params: {
    workspaceName: called.workspace
    insightsName: called.insights
    location: location
    tags: tags
    days: logDays
    gigabytesPerDay: logGigabytesPerDay
  }
  dependsOn: [group]
}

module storage 'modules/storage.bicep' = {
  scope: resourceGroup(groupName)
  name: 'storage'
  params: {
    name: called.storage
    location: location
    tags: tags
    redundancy: storageRedundancy
    contentContainer: contentContainer
    privateNetwork: privateNetwork
    workspaceId: monitoring.outputs.workspaceId
    chatQueues: chatQueues
  }
}

module events 'modules/event-grid.bicep' = if (contentIsOurs) {
  scope: resourceGroup(groupName)
  name: 'events'
  params: {
    topicName: empty(existingEventTopicName) ? called.events : existingEventTopicName
    topicExists: !empty(existingEventTopicName)
    location: location
    tags: tags
    storageName: called.storage
    contentContainer: contentContainer
    workspaceId: monitoring.outputs.workspaceId
  }
  dependsOn: [storage]
}

module openAi 'modules/ai-service.bicep' = if (openAiIsNew) {
  scope: resourceGroup(groupName)
  name: 'openai'
  params: {
    name: openAiName
    kind: openAiKind
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
        capacity: chatCapacity == 0 ? needed.chatCapacity : chatCapacity
        filter: contentFilter
      }
      {
        name: embeddingDeployment
        model: embeddingModel
        version: embeddingModelVersion
        upgrade: embeddingModelUpgrade
        sku: embeddingSku
        capacity: embeddingCapacity == 0 ? needed.embeddingCapacity : embeddingCapacity
        filter: ''
      }
    ]
  }
}

resource foundOpenAi 'Microsoft.CognitiveServices/accounts@2026-09-01' existing = if (!openAiIsNew) {
  name: openAiName
  scope: resourceGroup(openAiGroup)
}

module search 'modules/search.bicep' = if (searchIsNew) {
  scope: resourceGroup(groupName)
  name: 'search'
  params: {
    name: searchName
    location: empty(searchLocation) ? location : searchLocation
    tags: tags
    sku: searchSku
    replicas: replicas
    partitions: searchPartitions
    semanticRanker: semanticRanker
    privateNetwork: privateNetwork
    workspaceId: monitoring.outputs.workspaceId
  }
}

resource foundSearch 'Microsoft.Search/searchServices@2026-11-01' existing = if (!searchIsNew) {
  name: searchName
  scope: resourceGroup(searchGroup)
}

module documentReader 'modules/ai-service.bicep' = if (documentIntelligence) {
  scope: resourceGroup(groupName)
  name: 'document-intelligence'
  params: {
    name: called.documentIntelligence
    kind: 'FormRecognizer'
    sku: 'S0'
    location: empty(documentIntelligenceLocation) ? location : documentIntelligenceLocation
    tags: tags
    privateNetwork: privateNetwork
    workspaceId: monitoring.outputs.workspaceId
  }
}

module imageReader 'modules/ai-service.bicep' = if (vision) {
  scope: resourceGroup(groupName)
  name: 'vision'
  params: {
    name: called.vision
    kind: 'ComputerVision'
    sku: 'S1'
    location: empty(visionLocation) ? location : visionLocation
    tags: tags
    privateNetwork: privateNetwork
    workspaceId: monitoring.outputs.workspaceId
  }
}

module contentSafety 'modules/ai-service.bicep' = if (safetyChecks) {
  scope: resourceGroup(groupName)
  name: 'content-safety'
  params: {
    name: called.contentSafety
    kind: 'ContentSafety'
    sku: 'S0'
    location: empty(contentSafetyLocation) ? location : contentSafetyLocation
    tags: tags
    privateNetwork: privateNetwork
    workspaceId: monitoring.outputs.workspaceId
  }
}

resource foundContentStorage 'Microsoft.Storage/storageAccounts@2026-09-01' existing = if (!contentIsOurs) {
  name: contentStorageName
  scope: resourceGroup(contentGroup)
}

var searchPrincipalId = searchIsNew ? search!.outputs.principalId : foundSearch!.identity.principalId

module roles 'modules/roles.bicep' = {
  name: 'roles-${token}'
  params: {
    token: token
    groupName: groupName
    appPrincipalId: identity.outputs.principalId
    deployerPrincipalId: principalId
    deployerPrincipalType: principalType
    storageName: called.storage
    contentStorageName: contentStorageName
    contentStorageGroup: contentGroup
    contentContainers: pageImages ? [contentContainer, '${contentContainer}-pages'] : [contentContainer]
    ingests: contentIsOurs
    makesIndex: contentIsOurs && appMakesIndex
    insightsName: called.insights
    openAiName: openAiName
    openAiGroup: openAiGroup
    searchName: searchName
    searchGroup: searchGroup
    vectorizes: searchVectorizer
    vectorizerPrincipalId: searchVectorizer ? searchPrincipalId : ''
    ingestionServices: concat(documentIntelligence ? [called.documentIntelligence] : [], vision ? [called.vision] : [])
    contentSafetyName: safetyChecks ? called.contentSafety : ''
  }
  dependsOn: [storage, openAi, documentReader, imageReader, contentSafety]
}

// --- The network: what is private is reached through an endpoint, what existed before keeps its own network ----------

module network 'modules/network.bicep' = if (networkIsOurs) {
  scope: resourceGroup(groupName)
  name: 'network'
  params: { name: called.network, location: location, tags: tags, addressSpace: addressSpace }
  dependsOn: [group]
}

var openAiZones = openAiIsNew && openAiKind == 'OpenAI' ? ['openai'] : ['openai', 'foundry', 'ai']

module endpoints 'modules/endpoints.bicep' = if (privateNetwork) {
  scope: resourceGroup(groupName)
  name: 'endpoints'
  params: {
    location: location
    tags: tags
    networkId: networkId
    subnetId: endpointsId
    zonesGroup: dnsZonesGroup
    services: concat(
      [
        { name: 'blob', id: storageId, group: 'blob', zones: ['blob'] }
        { name: 'queue', id: storageId, group: 'queue', zones: ['queue'] }
        { name: 'table', id: storageId, group: 'table', zones: ['table'] }
      ],
      openAiIsNew || endpointsForExisting
        ? [{ name: 'openai', id: openAiId, group: 'account', zones: openAiZones }]
        : [],
      searchIsNew || endpointsForExisting
        ? [{ name: 'search', id: searchId, group: 'searchService', zones: ['search'] }]
        : [],
      !contentIsOurs && endpointsForExisting
        ? [{ name: 'documents', id: contentId, group: 'blob', zones: ['blob'] }]
        : [],
      documentIntelligence ? [{ name: 'document-intelligence', id: readerId, group: 'account', zones: ['ai'] }] : [],
      vision ? [{ name: 'vision', id: visionId, group: 'account', zones: ['ai'] }] : [],
      safetyChecks ? [{ name: 'content-safety', id: safetyId, group: 'account', zones: ['ai'] }] : []
    )
  }
  dependsOn: [network, storage, openAi, search, documentReader, imageReader, contentSafety]
}

module appEndpoint 'modules/endpoints.bicep' = if (appPrivate) {
  scope: resourceGroup(groupName)
  name: 'endpoint-of-the-app'
  params: {
    location: location
    tags: tags
    networkId: networkId
    subnetId: endpointsId
    zonesGroup: dnsZonesGroup
    services: [{ name: 'app', id: appId, group: 'sites', zones: ['app'] }]
  }
  dependsOn: [app, endpoints]
}

// --- The app ---------------------------------------------------------------------------------------------------------

// The names that clients of Azure OpenAI and AI Search know; a Foundry resource has them beside its own.
var openAiEndpoint = openAiIsNew ? 'https://${openAiName}.openai.azure.com/' : foundOpenAi!.properties.endpoint
var searchEndpoint = 'https://${searchName}.search.windows.net'
var contentBlobs = contentIsOurs ? storage.outputs.blobEndpoint : foundContentStorage!.properties.primaryEndpoints.blob
var documentIntelligenceEndpoint = documentIntelligence ? documentReader!.outputs.endpoint : ''
var visionEndpoint = vision ? imageReader!.outputs.endpoint : ''
var contentSafetyEndpoint = safetyChecks ? contentSafety!.outputs.endpoint : ''
var tenantId = empty(authTenantId) ? tenant().tenantId : authTenantId
var firstMonth = empty(budgetStart) ? thisMonth : budgetStart
var signIn = authMode != 'none'
var clientId = byToken || botSignIn ? authClientId : ''

// By name; those that only Azure knows are empty here and added below, so that these names can be checked.
var ownSettings = {
  // Front Door's other header, X-Azure-ClientIP, may be written by callers. Where it can be gone around, neither counts.
  CLIENT_ADDRESS_HEADER: !empty(frontDoorId) && length(visitors) == 1 ? 'X-Azure-SocketIP' : ''
  AzureWebJobsStorage__blobServiceUri: ''
  AzureWebJobsStorage__queueServiceUri: ''
  AzureWebJobsStorage__tableServiceUri: ''
  AZURE_OPENAI_ENDPOINT: ''
  AZURE_OPENAI_CHAT_DEPLOYMENT: chatDeployment
  AZURE_OPENAI_EMBEDDING_DEPLOYMENT: embeddingDeployment
  CHAT_REASONING_EFFORT: chatReasoningEffort == 'default' ? '' : chatReasoningEffort
  AZURE_SEARCH_ENDPOINT: searchEndpoint
  AZURE_SEARCH_INDEX: searchIndex
  EMBEDDINGS: searchVectorizer ? 'index' : 'off'
  AZURE_VISION_ENDPOINT: ''
  DOCUMENT_INTELLIGENCE_ENDPOINT: ''
  PAGE_IMAGES: string(pageImages)
  CONTENT_STORAGE__blobServiceUri: ''
  CONTENT_STORAGE__queueServiceUri: ''
  CONTENT_CONTAINER: contentContainer
  CHAT_REQUESTS_QUEUE: chatQueues ? 'chat-requests' : ''
  CHAT_ANSWERS_QUEUE: chatQueues ? 'chat-answers' : ''
  RAI_MODE: safetyMode
  RAI_BACKEND: safetyMode == 'off' ? 'rai' : 'content-safety'
  SHIELDS: promptShields ? 'on' : 'off'
  CONTENT_SAFETY_ENDPOINT: ''
  CHAT_CALLER_PROMPTS: string(signIn)
  PLAYGROUND: playground
  AUTH_MODE: authMode
  API_KEYS: authMode == 'api-key' ? apiKeys : ''
  AUTH_TENANT_ID: byToken ? tenantId : ''
  AUTH_CLIENT_ID: clientId
  AUTH_AUTHORITY: environment().authentication.loginEndpoint
  BOT_ID: ''
  BOT_TENANT_ID: bot == 'off' ? '' : tenant().tenantId
  BOT_SSO_RESOURCE: ''
  LIMIT_CALLER_REQUESTS_PER_MINUTE: string(callerRequestsPerMinute < 0
    ? needed.callerRequestsPerMinute
    : callerRequestsPerMinute)
  LIMIT_CALLER_TOKENS_PER_DAY: string(callerTokensPerDay < 0 ? needed.callerTokensPerDay : callerTokensPerDay)
  LIMIT_CALLER_RUNS: '20'
  LIMIT_CALLER_KEPT_MEGABYTES: '500'
  LIMIT_REQUESTS_PER_MINUTE: string(requestsPerMinute < 0 ? needed.requestsPerMinute : requestsPerMinute)
  LIMIT_TOKENS_PER_DAY: string(tokensPerDay < 0 ? needed.tokensPerDay : tokensPerDay)
  LIMIT_BACKEND: 'azure-table'
  ACCESS_CONTROL: accessControl
  // Those who do not sign in would share their chats with everyone.
  HISTORY_BACKEND: signIn ? 'azure-table' : 'off'
}

module app 'modules/function-app.bicep' = {
  scope: resourceGroup(groupName)
  name: 'app'
  params: {
    planName: called.plan
    appName: called.app
    location: location
    tags: tags
    identityId: identity.outputs.id
    identityClientId: identity.outputs.clientId
    packagesUrl: storage.outputs.packagesUrl
    insightsName: called.insights
    subnetId: appSubnetId
    isPrivate: appPrivate
    allowed: visitors
    frontDoorId: frontDoorId
    corsOrigins: origins
    httpConcurrency: atOnce
    instanceMemory: instanceMemory
    maximumInstances: instances
    alwaysReadyInstances: alwaysReadyInstances
    zoneRedundant: zoneRedundant
    updateStrategy: updateStrategy
    settings: union(
      ownSettings,
      {
        AzureWebJobsStorage__blobServiceUri: storage.outputs.blobEndpoint
        AzureWebJobsStorage__queueServiceUri: storage.outputs.queueEndpoint
        AzureWebJobsStorage__tableServiceUri: storage.outputs.tableEndpoint
        AZURE_OPENAI_ENDPOINT: openAiEndpoint
        AZURE_VISION_ENDPOINT: visionEndpoint
        DOCUMENT_INTELLIGENCE_ENDPOINT: documentIntelligenceEndpoint
        CONTENT_STORAGE__blobServiceUri: contentBlobs
        // Events are in our own account, wherever the documents are.
        CONTENT_STORAGE__queueServiceUri: contains(listOf(features), 'readers') ? storage.outputs.queueEndpoint : ''
        CONTENT_SAFETY_ENDPOINT: contentSafetyEndpoint
        BOT_ID: bot == 'off' ? '' : identity.outputs.clientId
        BOT_SSO_RESOURCE: botSignIn ? 'api://botid-${identity.outputs.clientId}' : ''
      },
      mapValues(moreSettings, value => string(value))
    )
  }
  // The host cannot start before it may use its storage, and reach it.
  dependsOn: [roles, endpoints]
}

module botService 'modules/bot.bicep' = if (bot != 'off') {
  scope: resourceGroup(groupName)
  name: 'bot'
  params: {
    name: called.bot
    displayName: botName
    tags: tags
    sku: bot == 'off' ? 'F0' : bot
    endpoint: '${app.outputs.url}/api/messages'
    identityId: identity.outputs.id
    identityClientId: identity.outputs.clientId
    tenantId: tenant().tenantId
  }
}

module watch 'modules/watch.bicep' = {
  scope: resourceGroup(groupName)
  name: 'watch'
  params: {
    environmentName: environmentName
    token: token
    location: location
    tags: tags
    insightsId: monitoring.outputs.insightsId
    appId: app.outputs.id
    instanceMemory: instanceMemory
    memoryPercent: memoryAlertPercent
    emails: emails
    owner: alertOwner
    page: alertPage
    monthlyBudget: monthlyBudget
    budgetStart: firstMonth
  }
}

module easyAuth 'modules/easy-auth.bicep' = {
  scope: resourceGroup(groupName)
  // Azure works out all names before it deploys anything: what cannot be ends here, with all its sentences.
  name: empty(wrong) ? 'easy-auth' : fail(join(wrong, ' '))
  params: {
    appName: called.app
    enabled: authMode == 'easy-auth'
    clientId: clientId
    allowedApplications: empty(frontEnds) ? [authClientId] : frontEnds
    tenantId: tenantId
  }
  dependsOn: [app]
}

// --- What azd keeps: the app's address, what `make index` reads, and what the next deployment needs ------------------

output AZURE_RESOURCE_GROUP string = groupName
// The Azure CLI reads it too, for uploads.
output AZURE_STORAGE_ACCOUNT string = contentIsOurs ? called.storage : ''
output SWITCHBOARD_URL string = '${app.outputs.url}/api'
output SWITCHBOARD_APP string = called.app
output SWITCHBOARD_IDENTITY string = identity.outputs.principalId
output SWITCHBOARD_INSIGHTS string = called.insights
output SWITCHBOARD_BOT string = bot == 'off' ? '' : identity.outputs.clientId
output SWITCHBOARD_BOT_CLIENT string = botSignIn ? authClientId : ''
output DEPLOY_BUDGET_START string = monthlyBudget > 0 ? firstMonth : ''
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
