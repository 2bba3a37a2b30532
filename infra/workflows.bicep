// The workflows of samples/workflows as Logic Apps (Consumption), beside an app that `azd up` has deployed:
// az deployment group create --resource-group … --template-file infra/workflows.bicep --parameters …

@description('Region of the Logic Apps.')
param location string = resourceGroup().location

@description('The address of the app with its route prefix, as azd prints it: SWITCHBOARD_URL.')
param switchboardUrl string = ''

@description('The audience of its tokens, such as api://… of the app registration, for DEPLOY_AUTH_MODE=bearer. Empty: no workflow that asks over HTTP.')
param switchboardAudience string = ''

@description('The storage account of the app, for DEPLOY_CHAT_QUEUES=true. Empty: no workflows with queues.')
param storageAccount string = ''

@description('Whether to deploy the workflow that agents can open tickets with: see docs/workflows.md.')
param ticketTool bool = false

@description('Who is asked by e-mail whether agents may call tools: see docs/workflows.md. Empty: nobody.')
param approver string = ''

var withHttp = !empty(switchboardAudience)
var withQueues = !empty(storageAccount)
var withMail = withHttp && !empty(approver)
var mailApi = subscriptionResourceId('Microsoft.Web/locations/managedApis', location, 'office365')
var queuesApi = subscriptionResourceId('Microsoft.Web/locations/managedApis', location, 'azurequeues')

resource overHttp 'Microsoft.Logic/workflows@2019-05-01' = if (withHttp) {
  name: 'batch-over-http'
  location: location
  identity: { type: 'SystemAssigned' }
  properties: {
    definition: loadJsonContent('../samples/workflows/batch-over-http.json').definition
    parameters: {
      switchboardUrl: { value: switchboardUrl }
      switchboardAudience: { value: switchboardAudience }
    }
  }
}

resource inJson 'Microsoft.Logic/workflows@2019-05-01' = if (withHttp) {
  name: 'answer-in-json'
  location: location
  identity: { type: 'SystemAssigned' }
  properties: {
    definition: loadJsonContent('../samples/workflows/answer-in-json.json').definition
    parameters: {
      switchboardUrl: { value: switchboardUrl }
      switchboardAudience: { value: switchboardAudience }
    }
  }
}

// Signed in by the identity of each Logic App: it holds no key.
resource queues 'Microsoft.Web/connections@2016-06-01' = if (withQueues) {
  name: 'azurequeues'
  location: location
  properties: {
    displayName: 'Queues of the app'
    api: { id: queuesApi }
    // The connector's own documents have it, the compiler's types do not.
    #disable-next-line BCP089
    parameterValueSet: { name: 'managedIdentityAuth', values: {} }
  }
}

var connections = {
  azurequeues: {
    id: queuesApi
    connectionId: queues.id
    connectionName: 'azurequeues'
    connectionProperties: { authentication: { type: 'ManagedServiceIdentity' } }
  }
}

resource questions 'Microsoft.Logic/workflows@2019-05-01' = if (withQueues) {
  name: 'question-into-queue'
  location: location
  identity: { type: 'SystemAssigned' }
  properties: {
    definition: loadJsonContent('../samples/workflows/question-into-queue.json').definition
    parameters: {
      '$connections': { value: connections }
      storageAccount: { value: storageAccount }
    }
  }
}

resource answers 'Microsoft.Logic/workflows@2019-05-01' = if (withQueues) {
  name: 'answer-from-queue'
  location: location
  identity: { type: 'SystemAssigned' }
  properties: {
    definition: loadJsonContent('../samples/workflows/answer-from-queue.json').definition
    parameters: {
      '$connections': { value: connections }
      storageAccount: { value: storageAccount }
    }
  }
}

module roles 'modules/roles-on-storage.bicep' = if (withQueues) {
  name: 'roles-of-workflows'
  params: {
    name: storageAccount
    assignments: [
      {
        principalId: questions!.identity.principalId
        principalType: 'ServicePrincipal'
        role: 'c6a89b2d-59bc-44d0-9896-0f6e12d7b80a' // Storage Queue Data Message Sender
        why: 'Puts questions into a queue.'
      }
      {
        principalId: answers!.identity.principalId
        principalType: 'ServicePrincipal'
        role: '8a0f0c08-91a1-4084-bc3d-233d67233fed' // Storage Queue Data Message Processor
        why: 'Reads answers from a queue, and deletes them.'
      }
    ]
  }
}

@description('The Logic App that has to be let in: give its identity an app role of the app registration.')
output OVER_HTTP_PRINCIPAL string = withHttp ? overHttp!.identity.principalId : ''

resource openTicket 'Microsoft.Logic/workflows@2019-05-01' = if (ticketTool) {
  name: 'open-ticket'
  location: location
  identity: { type: 'SystemAssigned' }
  properties: {
    definition: loadJsonContent('../samples/workflows/open-ticket.json').definition
    parameters: {}
  }
}

// A person signs in to it once in the portal: mails come from that mailbox.
resource mailbox 'Microsoft.Web/connections@2016-06-01' = if (withMail) {
  name: 'office365'
  location: location
  properties: {
    displayName: 'Mailbox that asks'
    api: { id: mailApi }
  }
}

resource byMail 'Microsoft.Logic/workflows@2019-05-01' = if (withMail) {
  name: 'approve-by-mail'
  location: location
  identity: { type: 'SystemAssigned' }
  properties: {
    definition: loadJsonContent('../samples/workflows/approve-by-mail.json').definition
    parameters: {
      '$connections': {
        value: {
          office365: {
            id: mailApi
            connectionId: mailbox.id
            connectionName: 'office365'
          }
        }
      }
      switchboardUrl: { value: switchboardUrl }
      switchboardAudience: { value: switchboardAudience }
      approver: { value: approver }
    }
  }
}

@description('The Logic App that has to be let in, and be in a group that APPROVERS names.')
output BY_MAIL_PRINCIPAL string = withMail ? byMail!.identity.principalId : ''
