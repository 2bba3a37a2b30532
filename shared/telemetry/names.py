"""Names of span attributes.

Source: OpenTelemetry's GenAI semantic conventions (open-telemetry/semantic-conventions-genai, 'Spans' and 'Agent and
framework spans', status Development); `error.type` and `server.*` of the general ones. Attributes that these do not
define begin with `switchboard.`. Application Insights drops `error.*` and `server.*`, so `switchboard.outcome` repeats
it.
"""

from typing import Final

OPERATION: Final = "gen_ai.operation.name"
PROVIDER: Final = "gen_ai.provider.name"
REQUEST_MODEL: Final = "gen_ai.request.model"
REQUEST_STREAM: Final = "gen_ai.request.stream"
REQUEST_TEMPERATURE: Final = "gen_ai.request.temperature"
REQUEST_SEED: Final = "gen_ai.request.seed"
REQUEST_MAX_TOKENS: Final = "gen_ai.request.max_tokens"
RESPONSE_ID: Final = "gen_ai.response.id"
RESPONSE_MODEL: Final = "gen_ai.response.model"
FINISH_REASONS: Final = "gen_ai.response.finish_reasons"
TIME_TO_FIRST: Final = "gen_ai.response.time_to_first_chunk"
INPUT_TOKENS: Final = "gen_ai.usage.input_tokens"
OUTPUT_TOKENS: Final = "gen_ai.usage.output_tokens"
CONVERSATION: Final = "gen_ai.conversation.id"
WORKFLOW: Final = "gen_ai.workflow.name"
AGENT: Final = "gen_ai.agent.name"
TOOL: Final = "gen_ai.tool.name"
TOOL_CALL: Final = "gen_ai.tool.call.id"
DATA_SOURCE: Final = "gen_ai.data_source.id"
RETRIEVAL_TOP: Final = "gen_ai.retrieval.top_k"
SERVER_ADDRESS: Final = "server.address"
SERVER_PORT: Final = "server.port"
ERROR: Final = "error.type"
CALLER: Final = "enduser.id"
"""The name of the caller's API key. Users are not recorded. Application Insights shows it as the user."""

INPUT: Final = "gen_ai.input.messages"
OUTPUT: Final = "gen_ai.output.messages"
QUERY: Final = "gen_ai.retrieval.query.text"
DOCUMENTS: Final = "gen_ai.retrieval.documents"
ARGUMENTS: Final = "gen_ai.tool.call.arguments"
RESULT: Final = "gen_ai.tool.call.result"
"""These six are only set with `TELEMETRY_CONTENT`."""

INVOCATION: Final = "switchboard.invocation_id"
PROTOCOL: Final = "switchboard.protocol"
OUTCOME: Final = "switchboard.outcome"
"""The finish reason, the code of an error, `cancelled`, `incomplete`, or `ok`."""
CANCELLED: Final = "switchboard.cancelled"
FILTERED: Final = "switchboard.filtered"
DEGRADED: Final = "switchboard.degraded"
"""The parts that a turn had to do without: `agents`, `history`, `search`."""
SOURCES: Final = "switchboard.sources"
PROMPT_VERSION: Final = "switchboard.prompt_version"
SEARCH_MODE: Final = "switchboard.search.mode"
ENDPOINT: Final = "switchboard.endpoint"
TEXTS: Final = "switchboard.texts"
SAFETY: Final = "switchboard.safety.service"
BLOCKED: Final = "switchboard.safety.blocked"
