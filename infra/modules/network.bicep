// The virtual network that the app calls from, with a private endpoint for each service and the names that lead there.

@description('Name of the network.')
param name string

@description('Region.')
param location string

@description('Tags.')
param tags object

@description('What gets a private endpoint, each with name, id, the group of its addresses and their DNS zone.')
param services array

// Only these: an empty zone would hide what its names stand for outside.
var zoneNames = union(map(services, service => service.zone), [])

resource network 'Microsoft.Network/virtualNetworks@2023-11-01' = {
  name: name
  location: location
  tags: tags
  properties: {
    addressSpace: { addressPrefixes: ['10.0.0.0/16'] }
    subnets: [
      {
        name: 'app'
        properties: {
          addressPrefix: '10.0.0.0/24'
          delegations: [
            {
              name: 'flex-consumption'
              properties: { serviceName: 'Microsoft.App/environments' }
            }
          ]
        }
      }
      {
        name: 'endpoints'
        properties: {
          addressPrefix: '10.0.1.0/24'
          privateEndpointNetworkPolicies: 'Disabled'
        }
      }
    ]
  }
}

resource appSubnet 'Microsoft.Network/virtualNetworks/subnets@2023-11-01' existing = {
  parent: network
  name: 'app'
}

resource endpointsSubnet 'Microsoft.Network/virtualNetworks/subnets@2023-11-01' existing = {
  parent: network
  name: 'endpoints'
}

module endpoints 'private-endpoint.bicep' = [
  for service in services: {
    name: 'endpoint-${service.name}'
    params: {
      name: 'pep-${service.name}'
      location: location
      tags: tags
      subnetId: endpointsSubnet.id
      serviceId: service.id
      groupId: service.group
      zoneName: service.zone
    }
    dependsOn: [zones]
  }
]

module zones 'dns-zone.bicep' = [
  for zone in zoneNames: {
    name: 'zone-${zone}'
    params: { name: zone, tags: tags, networkId: network.id }
  }
]

output appSubnetId string = appSubnet.id
