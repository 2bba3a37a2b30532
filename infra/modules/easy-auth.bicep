// App Service Authentication in front of the app: it checks tokens of an app registration and needs no secret for that.
// Front ends sign their users in themselves and send the token; a request without one is answered with 401.

@description('Name of the Function App.')
param appName string

@description('Whether it is in front; if not, and it was before, it is taken away.')
param enabled bool

@description('Client id of the app registration.')
param clientId string

@description('Client ids of the applications whose tokens are taken.')
param allowedApplications array

@description('Tenant whose users may sign in.')
param tenantId string

resource app 'Microsoft.Web/sites@2025-03-01' existing = {
  name: appName
}

resource authentication 'Microsoft.Web/sites/config@2025-03-01' = {
  parent: app
  name: 'authsettingsV2'
  properties: !enabled
    ? { platform: { enabled: false } }
    : {
        platform: { enabled: true }
        globalValidation: {
          requireAuthentication: true
          unauthenticatedClientAction: 'Return401'
          // What tells nothing of anyone: whether the app is well, and what it offers.
          excludedPaths: ['/api/health', '/api/openapi.json', '/api/swagger.json', '/api/messages']
        }
        identityProviders: {
          azureActiveDirectory: {
            enabled: true
            registration: {
              clientId: clientId
              openIdIssuer: '${environment().authentication.loginEndpoint}${tenantId}/v2.0'
            }
            validation: {
              allowedAudiences: [clientId, 'api://${clientId}']
              // Every application of a tenant can get itself a token for this registration: only these are taken.
              defaultAuthorizationPolicy: { allowedApplications: allowedApplications }
            }
          }
        }
        login: {
          tokenStore: { enabled: false }
        }
      }
}
