// Roles on an Application Insights resource.

@description('Name of the resource.')
param name string

@description('Who gets which role: each with principalId, principalType, the id of the role, and why.')
param assignments array

resource insights 'Microsoft.Insights/components@2020-02-02' existing = {
  name: name
}

resource roles 'Microsoft.Authorization/roleAssignments@2022-04-01' = [
  for assignment in assignments: {
    name: guid(insights.id, assignment.principalId, assignment.role)
    scope: insights
    properties: {
      principalId: assignment.principalId
      principalType: assignment.principalType
      roleDefinitionId: subscriptionResourceId('Microsoft.Authorization/roleDefinitions', assignment.role)
      description: assignment.why
    }
  }
]
