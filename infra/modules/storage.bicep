// One account without keys: the app's package and the host's own state, documents, page images, events, chat history.

@minLength(3)
@maxLength(24)
@description('Name of the account.')
param name string

@description('Region.')
param location string

@description('Tags.')
param tags object

@description('Container of the documents.')
param contentContainer string

@description('Whether only the virtual network and Event Grid get in.')
param privateNetwork bool

var queueOfEvents = 'content-events'
var packages = 'deployments'

resource account 'Microsoft.Storage/storageAccounts@2023-05-01' = {
  name: name
  location: location
  tags: tags
  kind: 'StorageV2'
  sku: { name: 'Standard_LRS' }
  properties: {
    allowSharedKeyAccess: false
    allowBlobPublicAccess: false
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

resource blobs 'Microsoft.Storage/storageAccounts/blobServices@2023-05-01' = {
  parent: account
  name: 'default'
  properties: {
    // A document that was deleted by mistake can be had back for a week.
    deleteRetentionPolicy: { enabled: true, days: 7 }
  }
}

resource containers 'Microsoft.Storage/storageAccounts/blobServices/containers@2023-05-01' = [
  for container in [packages, contentContainer, '${contentContainer}-pages']: {
    parent: blobs
    name: container
    properties: { publicAccess: 'None' }
  }
]

resource queues 'Microsoft.Storage/storageAccounts/queueServices@2023-05-01' = {
  parent: account
  name: 'default'
}

// The host makes its poison queue, content-events-poison, when there is something to put into it.
resource eventsQueue 'Microsoft.Storage/storageAccounts/queueServices/queues@2023-05-01' = {
  parent: queues
  name: queueOfEvents
}

resource tables 'Microsoft.Storage/storageAccounts/tableServices@2023-05-01' = {
  parent: account
  name: 'default'
}

resource history 'Microsoft.Storage/storageAccounts/tableServices/tables@2023-05-01' = {
  parent: tables
  name: 'SwitchboardHistory'
}

output id string = account.id
output name string = account.name
output blobEndpoint string = account.properties.primaryEndpoints.blob
output queueEndpoint string = account.properties.primaryEndpoints.queue
output tableEndpoint string = account.properties.primaryEndpoints.table
output packagesUrl string = '${account.properties.primaryEndpoints.blob}${packages}'
output eventsQueue string = eventsQueue.name
