// Who is told of what: alerts, a budget, and a workbook of the queries in ../queries, which tests run.

@description('Name of the environment, for names that people see.')
param environmentName string

@description('Unique part of the names.')
param token string

@description('Region.')
param location string

@description('Tags.')
param tags object

@description('Resource id of Application Insights, which the queries read.')
param insightsId string

@description('Resource id of the Function App.')
param appId string

@description('Memory of one of its instances in MB.')
param instanceMemory int

@description('At how many percent of it there is an alert. 0: none.')
param memoryPercent int

@description('Who owns the alerts. Empty: nobody is named.')
param owner string

@description('Address of the page that says what to do. Empty: docs/observability.md.')
param page string

@description('Addresses that get e-mails. Empty: alerts show in the portal only.')
param emails array

@description('How much a month may cost, in the currency of the bill, before an e-mail warns. 0: no budget.')
param monthlyBudget int

@description('First day of the first month of the budget.')
param budgetStart string

var prices = join(
  map(loadJsonContent('../prices.json').models, one => '"${one.model}", ${one.read}, ${one.written}'),
  ', '
)

var whatToDo = empty(page) ? 'docs/observability.md' : page

// --- Alerts: each looks every five minutes at a quarter of an hour ---------------------------------------------------

var rules = [
  {
    name: 'server-errors'
    says: 'More than 5 answers had a status of 500 or above.'
    query: loadTextContent('../queries/server-errors.kql')
    column: 'errors'
    sum: 'Total'
    over: 5
    severity: 1
    only: []
  }
  {
    name: 'slow-first-words'
    says: 'Of 100 callers, 5 waited longer than 10 seconds for the first words.'
    query: loadTextContent('../queries/first-words.kql')
    column: 'most'
    sum: 'Maximum'
    over: 10
    severity: 2
    only: []
  }
  {
    name: 'busy-model'
    says: 'The service of the model refused more than 10 calls with a 429: raise DEPLOY_CHAT_CAPACITY.'
    query: loadTextContent('../queries/model-errors.kql')
    column: 'calls'
    sum: 'Total'
    over: 10
    severity: 2
    only: [{ name: 'error', operator: 'Include', values: ['rate_limited'] }]
  }
  {
    name: 'old-messages'
    says: 'A message waited longer than 5 minutes in a queue.'
    query: loadTextContent('../queries/queues.kql')
    column: 'longest'
    sum: 'Maximum'
    over: 300
    severity: 2
    only: []
  }
]

resource people 'Microsoft.Insights/actionGroups@2023-01-01' = if (!empty(emails)) {
  name: 'ag-${token}'
  location: 'global'
  tags: tags
  properties: {
    groupShortName: 'switchboard'
    enabled: true
    emailReceivers: [
      for (email, place) in emails: {
        name: 'email-${place}'
        emailAddress: email
        useCommonAlertSchema: true
      }
    ]
  }
}

resource alerts 'Microsoft.Insights/scheduledQueryRules@2026-03-01' = [
  for rule in rules: {
    name: 'alert-${rule.name}-${token}'
    location: location
    tags: tags
    kind: 'LogAlert'
    properties: {
      displayName: '${environmentName}: ${rule.name}'
      description: '${rule.says} What to do: ${whatToDo}'
      severity: rule.severity
      enabled: true
      scopes: [insightsId]
      evaluationFrequency: 'PT5M'
      windowSize: 'PT15M'
      // A new workspace has no rows yet, and may not know the columns.
      skipQueryValidation: true
      criteria: {
        allOf: [
          {
            query: rule.query
            metricMeasureColumn: rule.column
            timeAggregation: rule.sum
            dimensions: rule.only
            operator: 'GreaterThan'
            threshold: rule.over
            failingPeriods: { numberOfEvaluationPeriods: 1, minFailingPeriodsToAlert: 1 }
          }
        ]
      }
      autoMitigate: true
      actions: {
        actionGroups: empty(emails) ? [] : [people.id]
        customProperties: { owner: owner, whatToDo: whatToDo }
      }
    }
  }
]

resource memory 'Microsoft.Insights/metricAlerts@2026-01-01' = if (memoryPercent > 0) {
  name: 'alert-memory-${token}'
  location: 'global'
  tags: tags
  properties: {
    description: 'An instance uses more than ${memoryPercent} % of its memory: raise DEPLOY_INSTANCE_MEMORY or lower DEPLOY_HTTP_CONCURRENCY. What to do: ${whatToDo}'
    severity: 2
    enabled: true
    scopes: [appId]
    evaluationFrequency: 'PT5M'
    windowSize: 'PT15M'
    criteria: {
      'odata.type': 'Microsoft.Azure.Monitor.SingleResourceMultipleMetricCriteria'
      allOf: [
        {
          name: 'memory'
          criterionType: 'StaticThresholdCriterion'
          metricName: 'MemoryWorkingSet'
          // Each instance for itself: the average of all hides the one that is full.
          dimensions: [{ name: 'Instance', operator: 'Include', values: ['*'] }]
          timeAggregation: 'Average'
          operator: 'GreaterThan'
          threshold: instanceMemory * 1048576 * memoryPercent / 100
        }
      ]
    }
    actions: empty(emails)
      ? []
      : [{ actionGroupId: people.id, webHookProperties: { owner: owner, whatToDo: whatToDo } }]
  }
}

// It warns, and stops nothing: the limits of the app do that.
resource budget 'Microsoft.Consumption/budgets@2026-06-01' = if (monthlyBudget > 0) {
  name: 'budget-${token}'
  properties: {
    category: 'Cost'
    amount: monthlyBudget
    timeGrain: 'Monthly'
    timePeriod: { startDate: budgetStart }
    notifications: {
      spent: {
        enabled: true
        operator: 'GreaterThan'
        threshold: 80
        thresholdType: 'Actual'
        contactEmails: emails
        contactRoles: ['Owner']
      }
      expected: {
        enabled: true
        operator: 'GreaterThan'
        threshold: 100
        thresholdType: 'Forecasted'
        contactEmails: emails
        contactRoles: ['Owner']
      }
    }
  }
}

// --- The workbook ----------------------------------------------------------------------------------------------------

var tiles = [
  {
    name: 'turns'
    title: 'Turns, by how they ended'
    shows: 'barchart'
    query: loadTextContent('../queries/turns.kql')
  }
  {
    name: 'first-words'
    title: 'Seconds until the first words: half of the callers, and 95 of 100'
    shows: 'timechart'
    query: loadTextContent('../queries/first-words.kql')
  }
  {
    name: 'money-by-model'
    title: 'Tokens and US dollars, by model'
    shows: 'table'
    query: replace(loadTextContent('../queries/money-by-model.kql'), 'PRICES', prices)
  }
  {
    name: 'money-by-caller'
    title: 'Tokens and US dollars, by caller'
    shows: 'table'
    query: replace(loadTextContent('../queries/money-by-caller.kql'), 'PRICES', prices)
  }
  { name: 'refusals', title: 'Refused turns', shows: 'timechart', query: loadTextContent('../queries/refusals.kql') }
  { name: 'safety', title: 'Safety checks', shows: 'timechart', query: loadTextContent('../queries/safety.kql') }
  {
    name: 'sources'
    title: 'Turns without a source'
    shows: 'timechart'
    query: loadTextContent('../queries/sources.kql')
  }
  {
    name: 'queues'
    title: 'Seconds that messages waited, by queue'
    shows: 'timechart'
    query: loadTextContent('../queries/queues.kql')
  }
  {
    name: 'model-errors'
    title: 'Failed calls of the model, by error'
    shows: 'barchart'
    query: loadTextContent('../queries/model-errors.kql')
  }
  {
    name: 'server-errors'
    title: 'Answers with a status of 500 and above'
    shows: 'barchart'
    query: loadTextContent('../queries/server-errors.kql')
  }
]

var timeRange = {
  type: 9
  name: 'time'
  content: {
    version: 'KqlParameterItem/1.0'
    style: 'pills'
    parameters: [
      {
        id: guid(token, 'time')
        version: 'KqlParameterItem/1.0'
        name: 'TimeRange'
        label: 'Time'
        type: 4
        isRequired: true
        value: { durationMs: 86400000 }
        typeSettings: {
          selectableValues: [{ durationMs: 3600000 }, { durationMs: 86400000 }, { durationMs: 604800000 }]
          allowCustom: true
        }
      }
    ]
  }
}

resource workbook 'Microsoft.Insights/workbooks@2023-06-01' = {
  name: guid(resourceGroup().id, token, 'workbook')
  location: location
  tags: tags
  kind: 'shared'
  properties: {
    displayName: 'Switchboard: ${environmentName}'
    category: 'workbook'
    sourceId: insightsId
    serializedData: string({
      version: 'Notebook/1.0'
      fallbackResourceIds: [insightsId]
      items: concat(
        [timeRange],
        map(tiles, tile => {
          type: 3
          name: tile.name
          content: {
            version: 'KqlItem/1.0'
            query: tile.query
            size: 0
            title: tile.title
            timeContextFromParameter: 'TimeRange'
            queryType: 0
            resourceType: 'microsoft.insights/components'
            visualization: tile.shows
          }
        })
      )
    })
  }
}
