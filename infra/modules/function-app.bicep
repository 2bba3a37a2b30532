// The Function App on Flex Consumption, with every setting that it needs in Azure.

@description('Name of the plan.')
param planName string

@description('Name of the app, and of its address.')
param appName string

@description('Region.')
param location string

@description('Tags.')
param tags object

@description('Resource id of the identity that the app signs in with.')
param identityId string

@description('Its client id.')
param identityClientId string

@description('Where the packages of deployments are kept.')
param packagesUrl string

@description('Name of the Application Insights resource.')
param insightsName string

@description('Settings of the app: what main.bicep knows of the parts that it deployed.')
param settings object

@description('The subnet that the app calls from. Empty: none.')
param subnetId string

@description('Whether the app answers only through a private endpoint.')
param isPrivate bool

@description('Who reaches it: ranges of addresses, service tags, IDs of subnets. Empty: nothing is said of it.')
param allowed array

@description('ID of the Azure Front Door profile that the service tag AzureFrontDoor.Backend stands for. Empty: any.')
param frontDoorId string

@description('Origins of web pages that may call.')
param corsOrigins array

@description('How many requests one instance takes at once.')
param httpConcurrency int

@description('Memory of an instance in MB.')
param instanceMemory int

@description('How many instances there may be.')
param maximumInstances int

@description('How many are kept warm.')
param alwaysReadyInstances int

@description('Whether instances are spread over zones.')
param zoneRedundant bool

@description('How a deployment replaces instances.')
param updateStrategy string

var frontDoor = 'AzureFrontDoor.Backend'
// A range has a slash or is one address; a service tag begins with a letter and has none.
var rules = map(range(0, length(allowed)), place => {
  one: allowed[place]
  isSubnet: startsWith(allowed[place], '/')
  isRange: contains(allowed[place], '/') || contains('0123456789', substring(allowed[place], 0, 1))
  rest: { name: 'allowed-${place}', action: 'Allow', priority: 100 + place }
})
var restrictions = map(
  rules,
  rule =>
    union(
      rule.rest,
      rule.isSubnet
        ? { vnetSubnetResourceId: rule.one }
        : rule.isRange
            ? { ipAddress: contains(rule.one, '/') ? rule.one : '${rule.one}/32' }
            : { ipAddress: rule.one, tag: 'ServiceTag' },
      rule.one == frontDoor && !empty(frontDoorId) ? { headers: { 'x-azure-fdid': [frontDoorId] } } : {}
    )
)

resource insights 'Microsoft.Insights/components@2020-02-02' existing = {
  name: insightsName
}

resource plan 'Microsoft.Web/serverfarms@2025-03-01' = {
  name: planName
  location: location
  tags: tags
  kind: 'functionapp'
  sku: { name: 'FC1', tier: 'FlexConsumption' }
  properties: { reserved: true, zoneRedundant: zoneRedundant }
}

resource app 'Microsoft.Web/sites@2025-03-01' = {
  name: appName
  location: location
  tags: union(tags, { 'azd-service-name': 'api' })
  kind: 'functionapp,linux'
  identity: {
    type: 'UserAssigned'
    userAssignedIdentities: { '${identityId}': {} }
  }
  properties: {
    serverFarmId: plan.id
    httpsOnly: true
    clientAffinityEnabled: false
    // Without it references to a Key Vault would ask as a system-assigned identity, which the app does not have.
    keyVaultReferenceIdentity: identityId
    publicNetworkAccess: isPrivate ? 'Disabled' : 'Enabled'
    virtualNetworkSubnetId: empty(subnetId) ? null : subnetId
    // Flex Consumption refuses much of what other plans take here; it has no FTP to turn off.
    siteConfig: union(
      {
        minTlsVersion: '1.2'
        cors: { allowedOrigins: corsOrigins }
      },
      empty(allowed) ? {} : { ipSecurityRestrictionsDefaultAction: 'Deny', ipSecurityRestrictions: restrictions }
    )
    functionAppConfig: union(empty(updateStrategy) ? {} : { siteUpdateStrategy: { type: updateStrategy } }, {
      runtime: { name: 'python', version: '3.13' }
      deployment: {
        storage: {
          type: 'blobContainer'
          value: packagesUrl
          authentication: {
            type: 'UserAssignedIdentity'
            userAssignedIdentityResourceId: identityId
          }
        }
      }
      scaleAndConcurrency: {
        instanceMemoryMB: instanceMemory
        maximumInstanceCount: maximumInstances
        alwaysReady: alwaysReadyInstances > 0 ? [{ name: 'http', instanceCount: alwaysReadyInstances }] : []
        triggers: {
          // For Python the platform's own number is 1, and a stream stays open as long as its answer takes.
          http: { perInstanceConcurrency: httpConcurrency }
        }
      }
    })
  }
}

resource appSettings 'Microsoft.Web/sites/config@2025-03-01' = {
  parent: app
  name: 'appsettings'
  properties: union(
    {
      // The app signs in as the user-assigned identity of this id.
      AZURE_CLIENT_ID: identityClientId
      AzureWebJobsStorage__credential: 'managedidentity'
      // The address without a path would show the host's own page.
      AzureWebJobsDisableHomepage: 'true'
      AzureWebJobsStorage__clientId: identityClientId
      // The triggers' connection to the documents' account; the app's own clients read the addresses only.
      CONTENT_STORAGE__credential: 'managedidentity'
      CONTENT_STORAGE__clientId: identityClientId
      APPLICATIONINSIGHTS_CONNECTION_STRING: insights.properties.ConnectionString
      APPLICATIONINSIGHTS_AUTHENTICATION_STRING: 'Authorization=AAD;ClientId=${identityClientId}'
    },
    settings
  )
}

// Deployments sign in with Entra ID; there are no publishing passwords.
resource noPasswords 'Microsoft.Web/sites/basicPublishingCredentialsPolicies@2025-03-01' = {
  parent: app
  name: 'scm'
  properties: { allow: false }
}

output id string = app.id
output url string = 'https://${app.properties.defaultHostName}'
