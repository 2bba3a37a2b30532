// The virtual network that the app calls from. Whoever adds subnets to it names it as an existing one from then on.

@description('Name of the network.')
param name string

@description('Region.')
param location string

@description('Tags.')
param tags object

@description('Its addresses.')
param addressSpace string

// Of a large network each subnet is a /24; a smaller one is halved.
var bits = max(24, int(split(addressSpace, '/')[1]) + 1)

resource network 'Microsoft.Network/virtualNetworks@2026-03-01' = {
  name: name
  location: location
  tags: tags
  properties: {
    addressSpace: { addressPrefixes: [addressSpace] }
    subnets: [
      {
        name: 'app'
        properties: {
          addressPrefix: cidrSubnet(addressSpace, bits, 0)
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
          addressPrefix: cidrSubnet(addressSpace, bits, 1)
          privateEndpointNetworkPolicies: 'Disabled'
        }
      }
    ]
  }
}
