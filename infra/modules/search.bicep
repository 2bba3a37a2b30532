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

var isServerless = sku == 'serverless'

resource service 'Microsoft.Search/searchServices@2025-05-01' = if (!isServerless) {
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

// It grows and shrinks by itself, and is paid for what it does. It has no identity, so that its index makes no vectors.
resource serverless 'Microsoft.Search/searchServices@2026-11-01' = if (isServerless) {
  name: name
  location: location
  tags: tags
  sku: { name: 'serverless' }
  properties: {
    disableLocalAuth: true
    semanticSearch: semanticRanker
    publicNetworkAccess: privateNetwork ? 'Disabled' : 'Enabled'
  }
}

resource either 'Microsoft.Search/searchServices@2025-05-01' existing = {
  name: name
}

// The app searches with POST: what is asked for is in no log.
resource logs 'Microsoft.Insights/diagnosticSettings@2021-05-01-preview' = {
  scope: either
  name: 'to-workspace'
  properties: {
    workspaceId: workspaceId
    logs: [{ category: 'OperationLogs', enabled: true }]
    metrics: [{ category: 'AllMetrics', enabled: true }]
  }
  dependsOn: [service, serverless]
}

output principalId string = isServerless ? '' : service!.identity.principalId
