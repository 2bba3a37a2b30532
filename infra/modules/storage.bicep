// One account without keys: the app's package and the host's own state, documents, page images, events, chat history.

@minLength(3)
@maxLength(24)
@description('Name of the account.')
param name string

@description('Region.')
param location string

@description('Tags.')
param tags object

@description('How many copies there are, and where.')
param redundancy string

@description('Container of the documents.')
param contentContainer string

@description('Whether only the virtual network and Event Grid get in.')
param privateNetwork bool

@description('Whether requests of a queue are answered into another one.')
param chatQueues bool

@description('Resource id of the workspace that gets its logs and metrics.')
param workspaceId string

var queueOfEvents = '${contentContainer}-events'
var queueOfRequests = 'chat-requests'
var queueOfAnswers = 'chat-answers'
var batches = 'chat-batches'
var packages = 'deployments'

resource account 'Microsoft.Storage/storageAccounts@2026-09-01' = {
  name: name
  location: location
  tags: tags
  kind: 'StorageV2'
  sku: { name: redundancy }
  properties: {
    allowSharedKeyAccess: false
    allowBlobPublicAccess: false
    allowCrossTenantReplication: false
    defaultToOAuthAuthentication: true
    minimumTlsVersion: 'TLS1_2'
    supportsHttpsTrafficOnly: true
    // Not 'Disabled' when private: Event Grid comes in as a trusted service, by its identity, through the firewall.
    publicNetworkAccess: 'Enabled'
    networkAcls: {
      defaultAction: privateNetwork ? 'Deny' : 'Allow'
      bypass: 'AzureServices'
    }
  }
}

resource blobs 'Microsoft.Storage/storageAccounts/blobServices@2026-09-01' = {
  parent: account
  name: 'default'
  properties: {
    // A document or a whole container that was deleted by mistake can be had back for a week.
    deleteRetentionPolicy: { enabled: true, days: 7 }
    containerDeleteRetentionPolicy: { enabled: true, days: 7 }
  }
}

resource containers 'Microsoft.Storage/storageAccounts/blobServices/containers@2026-09-01' = [
  for container in concat(
    [packages, contentContainer, '${contentContainer}-pages', batches],
    chatQueues ? [queueOfAnswers] : []
  ): {
    parent: blobs
    name: container
    properties: { publicAccess: 'None' }
  }
]

// What is kept of batches and of requests of the queue; answers stay as long as a message of their queue does.
resource retention 'Microsoft.Storage/storageAccounts/managementPolicies@2026-09-01' = {
  parent: account
  name: 'default'
  properties: {
    policy: {
      rules: [
        for kept in concat(
          [{ name: 'batches', container: batches, days: 1 }],
          chatQueues ? [{ name: 'answers', container: queueOfAnswers, days: 7 }] : []
        ): {
          name: kept.name
          enabled: true
          type: 'Lifecycle'
          definition: {
            filters: { blobTypes: ['blockBlob'], prefixMatch: ['${kept.container}/'] }
            actions: { baseBlob: { delete: { daysAfterCreationGreaterThan: kept.days } } }
          }
        }
      ]
    }
  }
  dependsOn: [blobs]
}

resource queues 'Microsoft.Storage/storageAccounts/queueServices@2026-09-01' = {
  parent: account
  name: 'default'
}

// The host makes its poison queue, …-events-poison, when there is something to put into it.
resource eventsQueue 'Microsoft.Storage/storageAccounts/queueServices/queues@2026-09-01' = {
  parent: queues
  name: queueOfEvents
}

resource batchesQueue 'Microsoft.Storage/storageAccounts/queueServices/queues@2026-09-01' = {
  parent: queues
  name: batches
}

// The app reads this one too: it ends batches that could not be run.
resource batchesPoisonQueue 'Microsoft.Storage/storageAccounts/queueServices/queues@2026-09-01' = {
  parent: queues
  name: '${batches}-poison'
}

resource requestsQueue 'Microsoft.Storage/storageAccounts/queueServices/queues@2026-09-01' = if (chatQueues) {
  parent: queues
  name: queueOfRequests
}

resource answersQueue 'Microsoft.Storage/storageAccounts/queueServices/queues@2026-09-01' = if (chatQueues) {
  parent: queues
  name: queueOfAnswers
}

resource tables 'Microsoft.Storage/storageAccounts/tableServices@2026-09-01' = {
  parent: account
  name: 'default'
}

resource history 'Microsoft.Storage/storageAccounts/tableServices/tables@2026-09-01' = {
  parent: tables
  name: 'SwitchboardHistory'
}

// Who wrote and deleted what; reads would be most of the log.
resource blobLogs 'Microsoft.Insights/diagnosticSettings@2021-05-01-preview' = {
  scope: blobs
  name: 'to-workspace'
  properties: {
    workspaceId: workspaceId
    logs: [{ category: 'StorageWrite', enabled: true }, { category: 'StorageDelete', enabled: true }]
    metrics: [{ category: 'Transaction', enabled: true }]
  }
}

output blobEndpoint string = account.properties.primaryEndpoints.blob
output queueEndpoint string = account.properties.primaryEndpoints.queue
output tableEndpoint string = account.properties.primaryEndpoints.table
output packagesUrl string = '${account.properties.primaryEndpoints.blob}${packages}'
