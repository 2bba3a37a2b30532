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

// serverless grows and shrinks by itself, and is paid for what it does. It has no identity: its index makes no vectors.
resource service 'Microsoft.Search/searchServices@2026-11-01' = {
  name: name
  location: location
  tags: tags
  sku: { name: sku }
  identity: isServerless ? null : { type: 'SystemAssigned' }
  properties: union(
    {
      disableLocalAuth: true
      semanticSearch: semanticRanker
      publicNetworkAccess: privateNetwork ? 'Disabled' : 'Enabled'
    },
    isServerless ? {} : { replicaCount: replicas, partitionCount: partitions }
  )
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

output principalId string = isServerless ? '' : service.identity!.principalId
