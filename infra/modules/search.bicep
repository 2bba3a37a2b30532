// Azure AI Search without keys. Its own identity is for an index that makes vectors itself.

@description('Name of the service.')
param name string

@description('Region.')
param location string

@description('Tags.')
param tags object

@description('Size of the service.')
param sku string

@description('Plan of the semantic ranker.')
param semanticRanker string

@description('Copies of it.')
param replicas int

@description('Partitions.')
param partitions int

@description('Whether only its private endpoint gets in.')
param privateNetwork bool

@description('Resource id of the workspace that gets its logs and metrics.')
param workspaceId string

resource service 'Microsoft.Search/searchServices@2025-05-01' = {
  name: name
  location: location
  tags: tags
  sku: { name: sku }
  identity: { type: 'SystemAssigned' }
  properties: {
    disableLocalAuth: true
    replicaCount: replicas
    partitionCount: partitions
    semanticSearch: semanticRanker
    publicNetworkAccess: privateNetwork ? 'disabled' : 'enabled'
  }
}

// The app searches with POST: what is asked for is in no log.
resource logs 'Microsoft.Insights/diagnosticSettings@2021-05-01-preview' = {
  scope: service
  name: 'to-workspace'
  properties: {
    workspaceId: workspaceId
    logs: [{ category: 'OperationLogs', enabled: true }]
    metrics: [{ category: 'AllMetrics', enabled: true }]
  }
}

output principalId string = service.identity.principalId
