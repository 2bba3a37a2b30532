// Private endpoints in one subnet, and the DNS zones in which the names of the services lead there.

@description('Region of the network.')
param location string

@description('Tags.')
param tags object

@description('Resource ID of the network that zones made here are in force in.')
param networkId string

@description('Resource ID of the subnet of the endpoints.')
param subnetId string

@description('Where the zones are that exist: a resource group\'s name or ID; none: nothing is registered. Empty: zones are made.')
param zonesGroup string

@description('What gets a private endpoint, each with name, id, the group of its addresses and the keys of their DNS zones below.')
param services array

var zoneNames = {
  blob: 'privatelink.blob.${environment().suffixes.storage}'
  queue: 'privatelink.queue.${environment().suffixes.storage}'
  table: 'privatelink.table.${environment().suffixes.storage}'
  openai: 'privatelink.openai.azure.com'
  foundry: 'privatelink.services.ai.azure.com'
  ai: 'privatelink.cognitiveservices.azure.com'
  search: 'privatelink.search.windows.net'
  app: 'privatelink.azurewebsites.net'
}
// Only these: an empty zone would hide what its names stand for outside.
var needed = union(flatten(map(services, service => service.zones)), [])
var groupId = empty(zonesGroup)
  ? resourceGroup().id
  : startsWith(zonesGroup, '/') ? zonesGroup : '${subscription().id}/resourceGroups/${zonesGroup}'

module zones 'dns-zone.bicep' = [
  for zone in needed: if (empty(zonesGroup)) {
    name: 'zone-${zone}'
    params: { name: zoneNames[zone], tags: tags, networkId: networkId }
  }
]

module endpoints 'private-endpoint.bicep' = [
  for service in services: {
    name: 'endpoint-${service.name}'
    params: {
      name: 'pep-${service.name}'
      location: location
      tags: tags
      subnetId: subnetId
      serviceId: service.id
      groupId: service.group
      zoneIds: zonesGroup == 'none'
        ? []
        : map(service.zones, zone => '${groupId}/providers/Microsoft.Network/privateDnsZones/${zoneNames[zone]}')
    }
    dependsOn: [zones]
  }
]
