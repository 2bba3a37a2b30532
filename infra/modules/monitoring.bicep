// Application Insights, in a workspace of its own. Nothing is taken in without an Entra ID token.

@description('Name of the Log Analytics workspace.')
param workspaceName string

@description('Name of the Application Insights resource.')
param insightsName string

@description('Region.')
param location string

@description('Tags.')
param tags object

resource workspace 'Microsoft.OperationalInsights/workspaces@2023-09-01' = {
  name: workspaceName
  location: location
  tags: tags
  properties: {
    sku: { name: 'PerGB2018' }
    retentionInDays: 30
    features: { disableLocalAuth: true }
  }
}

resource insights 'Microsoft.Insights/components@2020-02-02' = {
  name: insightsName
  location: location
  tags: tags
  kind: 'web'
  properties: {
    Application_Type: 'web'
    WorkspaceResourceId: workspace.id
    DisableLocalAuth: true
  }
}

output insightsName string = insights.name
output insightsId string = insights.id
output workspaceId string = workspace.id
