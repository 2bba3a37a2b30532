// Tells the app of documents that come and go: events of the container, written into a queue that the app reads.

@description('Name of the system topic.')
param topicName string

@description('Whether the account has this topic already; it has a system-assigned identity then.')
param topicExists bool

@description('Region of the account.')
param location string

@description('Tags.')
param tags object

@description('Name of the storage account; it has no other system topic, since there can be only one.')
param storageName string

@description('Resource ID of the workspace that gets its logs and metrics.')
param workspaceId string

@description('The container.')
param contentContainer string

// Storage Queue Data Message Sender
var messageSender = 'c6a89b2d-59bc-44d0-9896-0f6e12d7b80a'

resource account 'Microsoft.Storage/storageAccounts@2026-09-01' existing = {
  name: storageName
}

resource queues 'Microsoft.Storage/storageAccounts/queueServices@2026-09-01' existing = {
  parent: account
  name: 'default'
}

resource queue 'Microsoft.Storage/storageAccounts/queueServices/queues@2026-09-01' existing = {
  parent: queues
  name: '${contentContainer}-events'
}

resource made 'Microsoft.EventGrid/systemTopics@2025-02-15' = if (!topicExists) {
  name: topicName
  location: location
  tags: tags
  identity: { type: 'SystemAssigned' }
  properties: {
    source: account.id
    topicType: 'Microsoft.Storage.StorageAccounts'
  }
}

resource topic 'Microsoft.EventGrid/systemTopics@2025-02-15' existing = {
  name: topicName
}

// An event that cannot be delivered for a day is gone: the log says so, and the nightly comparison finds the document.
resource logs 'Microsoft.Insights/diagnosticSettings@2021-05-01-preview' = {
  scope: topic
  name: 'to-workspace'
  properties: {
    workspaceId: workspaceId
    logs: [{ category: 'DeliveryFailures', enabled: true }]
    metrics: [{ category: 'AllMetrics', enabled: true }]
  }
  dependsOn: [made]
}

resource sender 'Microsoft.Authorization/roleAssignments@2022-04-01' = {
  name: guid(queue.id, topic.id, messageSender)
  scope: queue
  properties: {
    principalId: topic.identity.principalId
    principalType: 'ServicePrincipal'
    roleDefinitionId: subscriptionResourceId('Microsoft.Authorization/roleDefinitions', messageSender)
    description: 'Event Grid writes what happens in the container into the queue.'
  }
  dependsOn: [made]
}

resource documentEvents 'Microsoft.EventGrid/systemTopics/eventSubscriptions@2025-02-15' = {
  parent: topic
  name: 'documents'
  properties: {
    eventDeliverySchema: 'EventGridSchema'
    deliveryWithResourceIdentity: {
      identity: { type: 'SystemAssigned' }
      destination: {
        endpointType: 'StorageQueue'
        properties: {
          resourceId: account.id
          queueName: queue.name
          // Messages wait as long as it takes; a queue's own default is a week.
          queueMessageTimeToLiveInSeconds: -1
        }
      }
    }
    filter: {
      includedEventTypes: ['Microsoft.Storage.BlobCreated', 'Microsoft.Storage.BlobDeleted']
      subjectBeginsWith: '/blobServices/default/containers/${contentContainer}/blobs/'
    }
    retryPolicy: { maxDeliveryAttempts: 30, eventTimeToLiveInMinutes: 1440 }
  }
  dependsOn: [sender]
}
