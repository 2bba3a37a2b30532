// Roles on one container of a storage account.

@description('Name of the storage account.')
param storageName string

@description('Name of the container.')
param name string

@description('Who gets which role: each with principalId, principalType, the id of the role, and why.')
param assignments array

resource account 'Microsoft.Storage/storageAccounts@2026-09-01' existing = {
  name: storageName
}

resource blobs 'Microsoft.Storage/storageAccounts/blobServices@2026-09-01' existing = {
  parent: account
  name: 'default'
}

resource container 'Microsoft.Storage/storageAccounts/blobServices/containers@2026-09-01' existing = {
  parent: blobs
  name: name
}

resource roles 'Microsoft.Authorization/roleAssignments@2022-04-01' = [
  for assignment in assignments: {
    name: guid(container.id, assignment.principalId, assignment.role)
    scope: container
    properties: {
      principalId: assignment.principalId
      principalType: assignment.principalType
      roleDefinitionId: subscriptionResourceId('Microsoft.Authorization/roleDefinitions', assignment.role)
      description: assignment.why
    }
  }
]
