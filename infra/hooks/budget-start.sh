#!/bin/sh
# Before `azd provision`: finds out in which month the budget was made, since Azure never lets that change.
# azd keeps it after a deployment; a pipeline begins with nothing kept.
set -eu

if [ "${DEPLOY_MONTHLY_BUDGET:-0}" = 0 ] || [ -n "${DEPLOY_BUDGET_START:-}" ]; then
  exit 0
fi
group="${DEPLOY_RESOURCE_GROUP:-rg-$AZURE_ENV_NAME}"
token=$(azd auth token --scope https://management.azure.com/.default --output json |
  sed -n 's/.*"token" *: *"\([^"]*\)".*/\1/p')
budgets="https://management.azure.com/subscriptions/$AZURE_SUBSCRIPTION_ID/resourceGroups/$group/providers/Microsoft.Consumption/budgets"
# There is none before the first deployment: then it is made in this month.
start=$(curl --silent --header "authorization: Bearer $token" "$budgets?api-version=2024-08-01" | tr ',{}' '[\n*]' |
  sed -n '/"name" *: *"budget-/,/"startDate"/s/.*"startDate" *: *"\(....-..-..\).*/\1/p' | sed -n 1p)
if [ -n "$start" ]; then
  azd env set DEPLOY_BUDGET_START "$start"
fi
