#!/bin/sh
# Makes an app registration for callers to sign in to, where one is needed and none is named: it has no secret.
#   sign-in.sh before    before `azd provision`: makes it, if whoever is at the keyboard agrees
#   sign-in.sh after     after it: lets the app's page, whose address is known now, sign in there
set -eu

graph=https://graph.microsoft.com/v1.0
mode="${DEPLOY_AUTH_MODE:-}"
config=".azure/${AZURE_ENV_NAME:-}/config.json"
if [ -z "$mode" ] && [ -r "$config" ]; then
  mode=$(sed -n 's/.*"authMode" *: *"\([a-z-]*\)".*/\1/p' "$config")
fi
case "$mode" in
bearer | easy-auth) ;;
*) exit 0 ;;
esac

# Prints the redirect URIs of a kind that the registration has, such as that of an own domain, and one more.
redirects() {
  there=$(az rest --method GET --uri "$graph/applications/$AUTH_REGISTRATION" --query "$1.redirectUris" --output tsv)
  printf '%s\n%s\n' "$there" "$2" | sed '/^$/d' | sort -u | sed 's/.*/"&"/' | paste -sd , -
}

if [ "$1" = after ]; then
  [ -n "${AUTH_REGISTRATION:-}" ] || exit 0 # the registration is somebody else's
  spa=$(redirects spa "$SWITCHBOARD_URL/")
  web=$(redirects web "${SWITCHBOARD_URL%/api}/.auth/login/aad/callback")
  az rest --method PATCH --uri "$graph/applications/$AUTH_REGISTRATION" --body "{
    \"spa\": {\"redirectUris\": [$spa]},
    \"web\": {\"redirectUris\": [$web],
              \"implicitGrantSettings\": {\"enableIdTokenIssuance\": true}}}" --output none
  exit 0
fi

[ -z "${DEPLOY_AUTH_CLIENT_ID:-}" ] || exit 0
name="Switchboard ($AZURE_ENV_NAME)"
if ! [ -t 0 ] || ! command -v az > /dev/null; then
  echo "Callers sign in to an app registration. docs/security.md says how to make one." >&2
  exit 0
fi
printf "Make the app registration '%s' in the tenant that az is signed in to? Type yes: " "$name" >&2
read -r answer || answer=
[ "$answer" = yes ] || exit 0

new_id() {
  uuidgen 2> /dev/null || cat /proc/sys/kernel/random/uuid 2> /dev/null || python3 -c 'import uuid; print(uuid.uuid4())'
}
scope=$(new_id)
role=$(new_id)
# A scope for users of front ends, and an app role for pipelines and services: bearer wants one of them.
az rest --method POST --uri "$graph/applications" --query '[id, appId]' --output tsv --body "{
  \"displayName\": \"$name\", \"signInAudience\": \"AzureADMyOrg\",
  \"api\": {\"requestedAccessTokenVersion\": 2, \"oauth2PermissionScopes\": [{
    \"id\": \"$scope\", \"value\": \"chat\", \"type\": \"User\", \"isEnabled\": true,
    \"adminConsentDisplayName\": \"Ask Switchboard\", \"adminConsentDescription\": \"Ask questions as the signed-in user.\",
    \"userConsentDisplayName\": \"Ask Switchboard\", \"userConsentDescription\": \"Ask questions as you.\"}]},
  \"appRoles\": [{
    \"id\": \"$role\", \"value\": \"chat\", \"allowedMemberTypes\": [\"Application\"], \"isEnabled\": true,
    \"displayName\": \"Ask Switchboard\", \"description\": \"Ask questions as an application.\"}]}" |
  tr '\t' '\n' | {
  read -r object
  read -r client
  az rest --method PATCH --uri "$graph/applications/$object" --output none \
    --body "{\"identifierUris\": [\"api://$client\"]}"
  az rest --method POST --uri "$graph/servicePrincipals" --output none --body "{\"appId\": \"$client\"}"
  azd env set AUTH_REGISTRATION "$object"
  azd env set DEPLOY_AUTH_CLIENT_ID "$client"
}
