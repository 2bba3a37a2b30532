// Who may do what: every role of the deployment but Event Grid's, which event-grid.bicep needs to have in order.
// Each is for one resource, and for what one part does there. docs/deploy.md has the same list.
targetScope = 'subscription'

@description('Unique part of the names of deployments into other groups, where another environment may deploy too.')
param token string

@description('Resource group of what is deployed here.')
param groupName string

@description('The identity of the app.')
param appPrincipalId string

@description('Who deploys, and then runs `make index`. Empty: nobody.')
param deployerPrincipalId string

@description('What the deployer is.')
param deployerPrincipalType string

@description('The app\'s storage account.')
param storageName string

@description('Name of the account that holds the documents; it may be the same.')
param contentStorageName string

@description('Its resource group.')
param contentStorageGroup string

@description('Its containers that who deploys may fill.')
param contentContainers array

@description('Whether the app indexes documents that come and go; if not, it only reads them.')
param ingests bool

@description('Whether the app makes the index, if there is none.')
param makesIndex bool

@description('Name of the Application Insights resource.')
param insightsName string

@description('Name of the Azure OpenAI resource.')
param openAiName string

@description('Its resource group.')
param openAiGroup string

@description('Name of the search service.')
param searchName string

@description('Its resource group.')
param searchGroup string

@description('Whether the index makes vectors itself.')
param vectorizes bool

@description('The identity of the search service then.')
param vectorizerPrincipalId string

@description('Names of the Azure AI resources that ingestion uses, by the app and by `make index`.')
param ingestionServices array

@description('Name of the Content Safety resource. Empty: there is none.')
param contentSafetyName string

var roleIds = {
  'Cognitive Services OpenAI User': '5e0bd9bd-7b93-4f28-af87-19fc36ad61bd'
  'Cognitive Services User': 'a97b65f3-24c7-4388-baec-2e87135dc908'
  'Monitoring Metrics Publisher': '3913510d-42f4-4e42-8a64-420c390055eb'
  Reader: 'acdd72a7-3385-48ef-bd42-f606fba81ae7'
  'Search Index Data Contributor': '8ebe5a00-799e-43f5-93ac-243d3dce84a7'
  'Search Index Data Reader': '1407120a-92aa-4202-b7e9-c0e197c71c8f'
  'Search Service Contributor': '7ca78c08-252a-4471-8644-bb5ff32d4ba0'
  'Storage Blob Data Contributor': 'ba92f5b4-2d11-453d-a403-e96b0029c9fe'
  'Storage Blob Data Owner': 'b7e6dc6d-f1e8-4753-8033-0f276bb0955b'
  'Storage Blob Data Reader': '2a2b9908-6ea1-4ae2-8e65-a410df84e7d1'
  'Storage Queue Data Contributor': '974c5e8b-45b9-4653-ba55-5f855dd0fb88'
  'Storage Table Data Contributor': '0a9a7e1f-b9d0-4cc4-a60d-0319b160aaa3'
}

var hasDeployer = !empty(deployerPrincipalId)

module onStorage 'roles-on-storage.bicep' = {
  name: 'roles-on-storage'
  scope: resourceGroup(groupName)
  params: {
    name: storageName
    assignments: [
      {
        principalId: appPrincipalId
        principalType: 'ServicePrincipal'
        role: roleIds['Storage Blob Data Owner']
        why: 'The Functions host keeps its leases, keys and packages in blobs; the app reads and writes documents, batches and answers.'
      }
      {
        principalId: appPrincipalId
        principalType: 'ServicePrincipal'
        role: roleIds['Storage Queue Data Contributor']
        why: 'The queue triggers take events, batches and requests, and move those that keep failing into queues that they make; the app sends batches and answers.'
      }
      {
        principalId: appPrincipalId
        principalType: 'ServicePrincipal'
        role: roleIds['Storage Table Data Contributor']
        why: 'The app keeps chats in a table, and what callers used in another; the Functions host keeps its diagnostic events in another.'
      }
    ]
  }
}

module onContainers 'roles-on-container.bicep' = [
  for container in (hasDeployer && ingests ? contentContainers : []): {
    name: 'roles-on-${container}'
    scope: resourceGroup(groupName)
    params: {
      storageName: storageName
      name: container
      assignments: [
        {
          principalId: deployerPrincipalId
          principalType: deployerPrincipalType
          role: roleIds['Storage Blob Data Contributor']
          why: 'Uploads and removes documents, by hand or with make index.'
        }
      ]
    }
  }
]

module onContentStorage 'roles-on-storage.bicep' = if (!ingests) {
  name: 'roles-on-content-storage-${token}'
  scope: resourceGroup(contentStorageGroup)
  params: {
    name: contentStorageName
    assignments: [
      {
        principalId: appPrincipalId
        principalType: 'ServicePrincipal'
        role: roleIds['Storage Blob Data Reader']
        why: 'The app serves the documents that answers cite.'
      }
    ]
  }
}

module onInsights 'roles-on-insights.bicep' = {
  name: 'roles-on-insights'
  scope: resourceGroup(groupName)
  params: {
    name: insightsName
    assignments: [
      {
        principalId: appPrincipalId
        principalType: 'ServicePrincipal'
        role: roleIds['Monitoring Metrics Publisher']
        why: 'The host and the app send telemetry; without keys that takes this role, whatever its name says.'
      }
    ]
  }
}

module onOpenAi 'roles-on-ai-service.bicep' = {
  name: 'roles-on-openai-${token}'
  scope: resourceGroup(openAiGroup)
  params: {
    name: openAiName
    assignments: concat(
      [
        {
          principalId: appPrincipalId
          principalType: 'ServicePrincipal'
          role: roleIds['Cognitive Services OpenAI User']
          why: 'The app asks the models.'
        }
      ],
      hasDeployer
        ? [
            {
              principalId: deployerPrincipalId
              principalType: deployerPrincipalType
              role: roleIds['Cognitive Services OpenAI User']
              why: 'make index has the vectors of passages made.'
            }
          ]
        : [],
      vectorizes
        ? [
            {
              principalId: vectorizerPrincipalId
              principalType: 'ServicePrincipal'
              role: roleIds['Cognitive Services OpenAI User']
              why: 'The index has the vectors of questions made.'
            }
          ]
        : []
    )
  }
}

module onSearch 'roles-on-search.bicep' = {
  name: 'roles-on-search-${token}'
  scope: resourceGroup(searchGroup)
  params: {
    name: searchName
    assignments: concat(
      [
        {
          principalId: appPrincipalId
          principalType: 'ServicePrincipal'
          role: roleIds['Search Index Data Reader']
          why: 'The app searches.'
        }
      ],
      ingests
        ? [
            {
              principalId: appPrincipalId
              principalType: 'ServicePrincipal'
              role: roleIds['Search Index Data Contributor']
              why: 'The app indexes documents that come, and removes those that go.'
            }
            {
              principalId: appPrincipalId
              principalType: 'ServicePrincipal'
              role: roleIds.Reader
              why: 'The app looks which fields the index has before it writes; roles on its documents do not say.'
            }
          ]
        : [],
      makesIndex
        ? [
            {
              principalId: appPrincipalId
              principalType: 'ServicePrincipal'
              role: roleIds['Search Service Contributor']
              why: 'The app makes the index when the first document comes, if DEPLOY_APP_MAKES_INDEX says so.'
            }
          ]
        : [],
      hasDeployer
        ? [
            {
              principalId: deployerPrincipalId
              principalType: deployerPrincipalType
              role: roleIds['Search Service Contributor']
              why: 'make index makes the index if there is none.'
            }
            {
              principalId: deployerPrincipalId
              principalType: deployerPrincipalType
              role: roleIds['Search Index Data Contributor']
              why: 'make index writes the passages.'
            }
          ]
        : []
    )
  }
}

module onIngestionServices 'roles-on-ai-service.bicep' = [
  for service in ingestionServices: {
    name: 'roles-on-${service}'
    scope: resourceGroup(groupName)
    params: {
      name: service
      assignments: concat(
        [
          {
            principalId: appPrincipalId
            principalType: 'ServicePrincipal'
            role: roleIds['Cognitive Services User']
            why: 'The app has scanned pages read, or vectors of images made.'
          }
        ],
        hasDeployer
          ? [
              {
                principalId: deployerPrincipalId
                principalType: deployerPrincipalType
                role: roleIds['Cognitive Services User']
                why: 'make index does the same.'
              }
            ]
          : []
      )
    }
  }
]

module onContentSafety 'roles-on-ai-service.bicep' = if (!empty(contentSafetyName)) {
  name: 'roles-on-content-safety'
  scope: resourceGroup(groupName)
  params: {
    name: contentSafetyName
    assignments: [
      {
        principalId: appPrincipalId
        principalType: 'ServicePrincipal'
        role: roleIds['Cognitive Services User']
        why: 'The app has what is said checked.'
      }
    ]
  }
}
