// A private DNS zone, in force in one virtual network.

@description('Name of the zone.')
param name string

@description('Tags.')
param tags object

@description('Resource ID of the network.')
param networkId string

resource zone 'Microsoft.Network/privateDnsZones@2024-06-01' = {
  name: name
  location: 'global'
  tags: tags
}

resource link 'Microsoft.Network/privateDnsZones/virtualNetworkLinks@2024-06-01' = {
  parent: zone
  name: 'network'
  location: 'global'
  tags: tags
  properties: {
    registrationEnabled: false
    // Names that the zone does not know, as those of resources with an endpoint elsewhere, are looked up outside.
    resolutionPolicy: 'NxDomainRedirect'
    virtualNetwork: { id: networkId }
  }
}
