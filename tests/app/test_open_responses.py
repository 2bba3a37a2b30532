"""Open Responses, the standard that OpenAI's Responses became: the cases and the schema of a public test tool."""

import asyncio
from collections.abc import Callable
from copy import replace
from importlib import import_module
from importlib.resources import files
from typing import Any

import pytest

from tests.app.openai_sdk import MODEL
from tests.local.running_host import RunningHost
from tests.stand_ins.openai_service import OpenAIStandIn

pytestmark = [
    pytest.mark.asyncio(loop_scope="session"),
    pytest.mark.filterwarnings("ignore:jsonschema.RefResolver:DeprecationWarning"),
]
"""One loop with the stand-in that the tests script. The tool uses what `jsonschema` will remove."""

TOOL: dict[str, Any] = {
    name: import_module(f"llm_comply.{name}") for name in ("config", "runner", "schema", "tests.open_responses")
}
"""The modules of the tool, which has no types."""
CASES = {one.id: replace(one, skip_reason=None) for one in TOOL["tests.open_responses"].OPEN_RESPONSES_TESTS}
SCRIPTS: dict[str, Callable[[OpenAIStandIn], None]] = {
    "reasoning-summary": lambda openai: openai.reply(openai.chunk({"reasoning_content": "15 * 37 = 555."}), "555."),
}
"""What the model does where the tool expects more than a text or a call of the tool that is offered."""
FREE = "error-handling"
"""Wants a request without `model` to be refused. Here it means `switchboard`, as docs/protocols.md says."""


@pytest.mark.parametrize("case", CASES)
async def test_the_public_cases_of_the_standard_pass(app: RunningHost, openai: OpenAIStandIn, case: str) -> None:
    if case in SCRIPTS:
        SCRIPTS[case](openai)
    config = TOOL["config"].ComplianceConfig(base_url=f"{app.url}/v1", api_key="none", model=MODEL)
    schema = TOOL["schema"].SpecLoader(str(files("llm_comply") / "specs" / "openresponses.json"))
    result = await asyncio.to_thread(TOOL["runner"].TestRunner(config, [], schema).run_one, CASES[case])
    assert result.errors == (["HTTP 200 (expected [400, 422])"] if case == FREE else [])
