// An address in the network for one service, and its name in the zones.

@description('Name of the endpoint.')
param name string

@description('Region of the network.')
param location string

@description('Tags.')
param tags object

@description('The subnet that it is in.')
param subnetId string

@description('Resource id of the service.')
param serviceId string

@description('Which of its addresses: blob, queue, table, account, searchService or sites.')
param groupId string

@description('Resource IDs of the private DNS zones. Empty: others register the name.')
param zoneIds array

resource endpoint 'Microsoft.Network/privateEndpoints@2026-03-01' = {
  name: name
  location: location
  tags: tags
  properties: {
    subnet: { id: subnetId }
    privateLinkServiceConnections: [
      {
        name: groupId
        properties: { privateLinkServiceId: serviceId, groupIds: [groupId] }
      }
    ]
  }
}

resource names 'Microsoft.Network/privateEndpoints/privateDnsZoneGroups@2026-03-01' = if (!empty(zoneIds)) {
  parent: endpoint
  name: 'default'
  properties: {
    privateDnsZoneConfigs: [
      for (zoneId, place) in zoneIds: {
        name: place == 0 ? groupId : '${groupId}-${place}'
        properties: { privateDnsZoneId: zoneId }
      }
    ]
  }
}
