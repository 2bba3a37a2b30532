// Roles on a search service.

@description('Name of the resource.')
param name string

@description('Who gets which role: each with principalId, principalType, the id of the role, and why.')
param assignments array

resource service 'Microsoft.Search/searchServices@2026-11-01' existing = {
  name: name
}

resource roles 'Microsoft.Authorization/roleAssignments@2022-04-01' = [
  for assignment in assignments: {
    name: guid(service.id, assignment.principalId, assignment.role)
    scope: service
    properties: {
      principalId: assignment.principalId
      principalType: assignment.principalType
      roleDefinitionId: subscriptionResourceId('Microsoft.Authorization/roleDefinitions', assignment.role)
      description: assignment.why
    }
  }
]
