// The registration of a bot: Azure Bot Service sends what people say in Teams and Microsoft 365 Copilot to the app.

@description('Name of the bot, one of its kind in Azure.')
param name string

@description('What people see it called.')
param displayName string

@description('Tags.')
param tags object

@description('Pricing tier.')
param sku string

@description('Where the app takes messages.')
param endpoint string

@description('The identity that the app answers with.')
param identityId string

@description('Its client id, which is the id of the bot.')
param identityClientId string

@description('Its tenant, whose people may talk to the bot.')
param tenantId string

resource bot 'Microsoft.BotService/botServices@2022-09-15' = {
  name: name
  location: 'global'
  tags: tags
  kind: 'azurebot'
  sku: { name: sku }
  properties: {
    displayName: displayName
    endpoint: endpoint
    msaAppType: 'UserAssignedMSI'
    msaAppId: identityClientId
    msaAppMSIResourceId: identityId
    msaAppTenantId: tenantId
    // Keys of Direct Line are a way in that needs no sign-in.
    disableLocalAuth: true
    schemaTransformationVersion: '1.3'
  }
}

resource teams 'Microsoft.BotService/botServices/channels@2022-09-15' = {
  parent: bot
  name: 'MsTeamsChannel'
  location: 'global'
  properties: { channelName: 'MsTeamsChannel', properties: { isEnabled: true, acceptedTerms: true } }
}

resource microsoft365 'Microsoft.BotService/botServices/channels@2022-09-15' = {
  parent: bot
  name: 'M365Extensions'
  location: 'global'
  properties: { channelName: 'M365Extensions' }
  dependsOn: [teams]
}
