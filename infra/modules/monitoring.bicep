// Application Insights, in a workspace of its own. Nothing is taken in without an Entra ID token.

@description('Name of the Log Analytics workspace.')
param workspaceName string

@description('Name of the Application Insights resource.')
param insightsName string

@description('Region.')
param location string

@description('Tags.')
param tags object

@description('How many days the workspace keeps what it gets.')
param days int

@description('How many gigabytes a day it takes. 0: no cap is set.')
param gigabytesPerDay int

resource workspace 'Microsoft.OperationalInsights/workspaces@2026-03-01' = {
  name: workspaceName
  location: location
  tags: tags
  properties: union(
    {
      sku: { name: 'PerGB2018' }
      retentionInDays: days
      features: { disableLocalAuth: true }
    },
    gigabytesPerDay > 0 ? { workspaceCapping: { dailyQuotaGb: gigabytesPerDay } } : {}
  )
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

output insightsId string = insights.id
output workspaceId string = workspace.id
