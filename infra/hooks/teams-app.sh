#!/bin/sh
# After `azd provision`: makes the package that people install in Teams, where a bot is registered (DEPLOY_BOT).
# ORGANISATION and WEBSITE say who publishes it and where more is; without them it is the app's own address.
set -eu

[ -n "${SWITCHBOARD_BOT:-}" ] || exit 0
python3 "$(dirname "$0")/../../tools/teams_app.py" --bot "$SWITCHBOARD_BOT" --name "${DEPLOY_BOT_NAME:-}" \
  --client "${SWITCHBOARD_BOT_CLIENT:-}" --organisation "${ORGANISATION:-}" \
  --website "${WEBSITE:-${SWITCHBOARD_URL%/api}}" --out teams-app.zip
