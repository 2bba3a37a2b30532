#!/bin/sh
# Before `azd provision`: says what an app without sign-in can cost, and asks whether that is meant.
# azd keeps a choice either as a variable of the environment or, if it asked for it, in the environment's config.json.
set -eu

mode="${DEPLOY_AUTH_MODE:-}"
config=".azure/${AZURE_ENV_NAME:-}/config.json"
if [ -z "$mode" ] && [ -r "$config" ]; then
  mode=$(sed -n 's/.*"authMode" *: *"\([a-z-]*\)".*/\1/p' "$config")
fi

case "$mode" in
bearer | easy-auth | api-key) exit 0 ;;
none) echo "WARNING: DEPLOY_AUTH_MODE is none. Nobody signs in to this app." >&2 ;;
*) echo "azd will ask how callers sign in (authMode). WARNING about the answer 'none':" >&2 ;;
esac

people="${DEPLOY_PEOPLE:-0}"
case "${DEPLOY_TOKENS_PER_DAY:--1}" in
0) limit="without a limit (DEPLOY_TOKENS_PER_DAY is 0)" ;;
-1)
  limit="up to 5000000 tokens a day (DEPLOY_TOKENS_PER_DAY)"
  [ "$people" = 0 ] || limit="up to the tokens a day that docs/deploy.md has for $people people (DEPLOY_PEOPLE)"
  ;;
*) limit="up to $DEPLOY_TOKENS_PER_DAY tokens a day (DEPLOY_TOKENS_PER_DAY)" ;;
esac
cat >&2 <<TEXT
  Everyone on the internet who finds the address can ask questions, read the documents, and spend your money:
  $limit. docs/security.md says what that can cost.
  So that callers sign in: azd env set DEPLOY_AUTH_MODE bearer
TEXT

if [ "$mode" = none ] && [ -t 0 ]; then
  printf "Deploy it for everyone? Type yes: " >&2
  read -r answer || answer=
  if [ "$answer" != yes ]; then
    echo "Nothing was changed." >&2
    exit 1
  fi
fi
