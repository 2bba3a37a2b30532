// An address in the network for one service, and its name in the zone.

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

@description('Which of its addresses: blob, queue, table, account or searchService.')
param groupId string

@description('Name of the private DNS zone.')
param zoneName string

resource zone 'Microsoft.Network/privateDnsZones@2020-06-01' existing = {
  name: zoneName
}

resource endpoint 'Microsoft.Network/privateEndpoints@2023-11-01' = {
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

resource names 'Microsoft.Network/privateEndpoints/privateDnsZoneGroups@2023-11-01' = {
  parent: endpoint
  name: 'default'
  properties: {
    privateDnsZoneConfigs: [
      {
        name: groupId
        properties: { privateDnsZoneId: zone.id }
      }
    ]
  }
}
