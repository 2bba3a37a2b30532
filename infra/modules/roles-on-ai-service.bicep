// Roles on an Azure AI resource.

@description('Name of the resource.')
param name string

@description('Who gets which role: each with principalId, principalType, the id of the role, and why.')
param assignments array

resource account 'Microsoft.CognitiveServices/accounts@2026-09-01' existing = {
  name: name
}

resource roles 'Microsoft.Authorization/roleAssignments@2022-04-01' = [
  for assignment in assignments: {
    name: guid(account.id, assignment.principalId, assignment.role)
    scope: account
    properties: {
      principalId: assignment.principalId
      principalType: assignment.principalType
      roleDefinitionId: subscriptionResourceId('Microsoft.Authorization/roleDefinitions', assignment.role)
      description: assignment.why
    }
  }
]
