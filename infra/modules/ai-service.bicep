// An Azure AI resource without keys: Microsoft Foundry with Azure OpenAI, Document Intelligence, AI Vision, Content Safety.

@description('Name of the resource, and of its subdomain, without which it takes no Entra ID tokens.')
param name string

@allowed(['AIServices', 'OpenAI', 'FormRecognizer', 'ComputerVision', 'ContentSafety'])
@description('Which service it is.')
param kind string

@description('Its pricing tier.')
param sku string

@description('Region.')
param location string

@description('Tags.')
param tags object

@description('Whether only its private endpoint, and Azure services with a role, get in.')
param privateNetwork bool

@description('Resource id of the workspace that gets its logs and metrics.')
param workspaceId string

@description('Models to deploy, each with name, model, version, upgrade, sku, capacity and filter.')
param deployments array = []

var hasModels = contains(['AIServices', 'OpenAI'], kind)

resource account 'Microsoft.CognitiveServices/accounts@2026-09-01' = {
  name: name
  location: location
  tags: tags
  kind: kind
  sku: { name: sku }
  identity: kind == 'AIServices' ? { type: 'SystemAssigned' } : null
  properties: union(
    {
      customSubDomainName: name
      disableLocalAuth: true
      publicNetworkAccess: privateNetwork ? 'Disabled' : 'Enabled'
      networkAcls: union(
        { defaultAction: privateNetwork ? 'Deny' : 'Allow' },
        // Azure AI Search comes in as a trusted service, for an index that makes vectors itself.
        hasModels ? { bypass: 'AzureServices' } : {}
      )
    },
    // As Microsoft makes it of resources of the earlier kind; but nothing goes into the logs of Agent 365 by itself.
    kind == 'AIServices' ? { allowProjectManagement: true, a365LoggingEnabled: false } : {}
  )
}

// One after the other: the resource refuses two at the same time.
@batchSize(1)
resource models 'Microsoft.CognitiveServices/accounts/deployments@2026-09-01' = [
  for deployment in deployments: {
    parent: account
    name: deployment.name
    sku: { name: deployment.sku, capacity: deployment.capacity }
    properties: union(
      {
        model: { format: 'OpenAI', name: deployment.model, version: deployment.version }
        versionUpgradeOption: deployment.upgrade
      },
      empty(deployment.filter) ? {} : { raiPolicyName: deployment.filter }
    )
  }
]

// Who called when and with what result, and changes of the resource. Prompts and answers are in none of these.
resource logs 'Microsoft.Insights/diagnosticSettings@2021-05-01-preview' = {
  scope: account
  name: 'to-workspace'
  properties: {
    workspaceId: workspaceId
    logs: [{ category: 'Audit', enabled: true }, { category: 'RequestResponse', enabled: true }]
    metrics: [{ category: 'AllMetrics', enabled: true }]
  }
}

output id string = account.id
output endpoint string = account.properties.endpoint
