# Before `azd provision`: says what an app without sign-in can cost, and asks whether that is meant.
# azd keeps a choice either as a variable of the environment or, if it asked for it, in the environment's config.json.
$ErrorActionPreference = 'Stop'

$mode = $env:DEPLOY_AUTH_MODE
$config = ".azure/$env:AZURE_ENV_NAME/config.json"
if (-not $mode -and (Test-Path $config -PathType Leaf)) {
    $mode = (Get-Content $config -Raw | ConvertFrom-Json).infra.parameters.authMode
}

if ($mode -in 'bearer', 'easy-auth', 'api-key') { exit 0 }
if ($mode -eq 'none') {
    Write-Warning 'DEPLOY_AUTH_MODE is none. Nobody signs in to this app.'
} else {
    Write-Warning "azd will ask how callers sign in (authMode). About the answer 'none':"
}

$chosen = $env:DEPLOY_TOKENS_PER_DAY -and $env:DEPLOY_TOKENS_PER_DAY -ne '-1'
$tokens = if ($chosen) { $env:DEPLOY_TOKENS_PER_DAY } else { '5000000' }
$limit = if ($tokens -eq '0') {
    'without a limit (DEPLOY_TOKENS_PER_DAY is 0)'
} elseif (-not $chosen -and $env:DEPLOY_PEOPLE -and $env:DEPLOY_PEOPLE -ne '0') {
    "up to the tokens a day that docs/deploy.md has for $env:DEPLOY_PEOPLE people (DEPLOY_PEOPLE)"
} else {
    "up to $tokens tokens a day (DEPLOY_TOKENS_PER_DAY)"
}
Write-Warning "Everyone on the internet who finds the address can ask questions, read the documents, and spend your money: $limit. docs/security.md says what that can cost."
Write-Warning 'So that callers sign in: azd env set DEPLOY_AUTH_MODE bearer'

if ($mode -eq 'none' -and -not [Console]::IsInputRedirected) {
    if ((Read-Host 'Deploy it for everyone? Type yes') -ne 'yes') {
        Write-Warning 'Nothing was changed.'
        exit 1
    }
}
