# The app in a container, for Azure Container Apps and other places that run containers: docs/production.md says how.
FROM mcr.microsoft.com/azure-functions/python:4-python3.13

ENV AzureWebJobsScriptRoot=/home/site/wwwroot \
    AzureFunctionsJobHost__Logging__Console__IsEnabled=true

WORKDIR /home/site/wwwroot
COPY requirements.txt ./
# Where a deployment has them too: not among the worker's own packages, of which some would be replaced.
RUN pip install --no-cache-dir --require-hashes --only-binary :all: \
    --target .python_packages/lib/site-packages --requirement requirements.txt
COPY function_app.py host.json ./
COPY samples/agents.yaml samples/
COPY shared shared
# What pip installs is compiled; so is the app, or else each start of a container would do it.
RUN python -m compileall -q function_app.py shared
