#!/bin/sh
# After `azd deploy`: fills the index, and says where the app is.
# DOCUMENTS is the folder, or none. Without it, samples/documents fill an index that does not exist yet.
set -eu

documents="${DOCUMENTS:-}"
if [ "${DEPLOY_PRIVATE_NETWORK:-}" = true ]; then
  documents=none # it would have to run inside the network
fi
if [ -z "$documents" ] && [ -n "${DEPLOY_EXISTING_SEARCH_NAME:-}" ]; then
  documents=none # others fill that index
fi

if [ "$documents" != none ]; then
  tries=0
  while :; do
    token=$(azd auth token --scope https://search.azure.com/.default --output json |
      sed -n 's/.*"token" *: *"\([^"]*\)".*/\1/p')
    status=$(curl --silent --output /dev/null --write-out '%{http_code}' --header "authorization: Bearer $token" \
      "$AZURE_SEARCH_ENDPOINT/indexes/$AZURE_SEARCH_INDEX?api-version=2024-07-01")
    case "$status" in
    200 | 404) break ;;
    esac
    tries=$((tries + 1))
    if [ "$tries" -gt "${TRIES:-20}" ]; then
      echo "AI Search answers $status. Once your roles have arrived: make index DOCS=folder" >&2
      exit 1
    fi
    echo "AI Search answers $status: your roles have not arrived yet. Trying again in 30 seconds." >&2
    sleep 30
  done
  if [ "$status" = 404 ] || [ -n "$documents" ]; then
    make index DOCS="${documents:-samples/documents}"
  fi
fi

echo "The app: $SWITCHBOARD_URL/health"
if [ "${DEPLOY_PLAYGROUND:-}" = on ]; then
  echo "Its page: $SWITCHBOARD_URL/"
else
  echo "A page to ask from: azd env set DEPLOY_PLAYGROUND on, then azd provision"
fi
