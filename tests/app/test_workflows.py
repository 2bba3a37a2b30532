"""The samples of Logic Apps: their JSON, and their HTTP action carried out by a client with its rules."""

import asyncio
import json
import re
from pathlib import Path
from typing import Any
from uuid import uuid4

import aiohttp
import pytest

from tests.app.conftest import hosted
from tests.local.running_host import REPOSITORY, RunningHost
from tests.stand_ins.azurite import Azurite
from tests.stand_ins.openai_service import OpenAIStandIn

pytestmark = pytest.mark.asyncio(loop_scope="session")

SAMPLES = sorted((REPOSITORY / "samples" / "workflows").glob("*.json"))
QUESTION = "What does the Standard plan pay for dental care?"
TYPES = {
    *("Request", "Response", "Http", "ApiConnection", "Compose", "ParseJson", "If", "Select"),
    *("Recurrence", "Foreach", "ApiConnectionWebhook"),
}


def definition_in(path: Path) -> dict[str, Any]:
    """The workflow of a sample."""
    return json.loads(path.read_text(encoding="utf-8"))["definition"]


def all_actions(actions: dict[str, Any]) -> dict[str, Any]:
    """The actions with those inside conditions."""
    found = dict(actions)
    for action in actions.values():
        for branch in (action, action.get("else", {})):
            found |= all_actions(branch.get("actions", {}))
    return found


@pytest.mark.parametrize("path", SAMPLES, ids=lambda path: path.stem)
async def test_a_sample_is_a_workflow_definition(path: Path) -> None:
    """Source: Microsoft, 'Schema reference for the Workflow Definition Language'."""
    definition = definition_in(path)
    assert definition["$schema"].endswith("/Microsoft.Logic/schemas/2016-06-01/workflowdefinition.json#")
    assert len(definition["triggers"]) == 1
    actions = all_actions(definition["actions"])
    for action in (*actions.values(), *definition["triggers"].values()):
        assert action["type"] in TYPES
    for branch in [definition["actions"], *(one["actions"] for one in actions.values() if "actions" in one)]:
        for action in branch.values():
            assert action["runAfter"].keys() <= branch.keys()
    written = json.dumps(definition)
    assert set(re.findall(r"(?:body|outputs)\('(\w+)'\)", written)) <= actions.keys()
    assert set(re.findall(r"parameters\('([$\w]+)'\)", written)) == definition["parameters"].keys()


async def act(http: aiohttp.ClientSession, action: dict[str, Any]) -> tuple[int, Any, list[int]]:
    """Do what Logic Apps' HTTP action does; return its status, its output, and the statuses of the polls.

    A 202 is polled at `Location` after `Retry-After`; any other status ends the action. 408, 429 and 5xx are asked for
    again up to four times, which never has to happen here. Source: Microsoft, 'Call external HTTP or HTTPS endpoints'.
    """
    method, url, polls = action["method"], action["uri"], list[int]()
    body, headers = json.dumps(action["body"]), action["headers"]
    while True:
        async with http.request(method, url, data=body, headers=headers) as response:
            assert response.status not in (408, 429)
            assert response.status < 500
            if response.status != 202:
                return response.status, await response.json(), polls
            polls.append(response.status)
            url = response.headers["location"]
            assert url.startswith("http")
            await asyncio.sleep(min(int(response.headers["retry-after"]), 0.2))
        method, body = "GET", None


@pytest.mark.parametrize("engine", ["folder", "queue"])
async def test_the_samples_action_ends_with_the_answer_of_the_synchronous_route(
    engine: str, azurite: Azurite, data_dir: Path, http: aiohttp.ClientSession
) -> None:
    sample = definition_in(REPOSITORY / "samples" / "workflows" / "batch-over-http.json")
    action = sample["actions"]["Ask_the_team"]["inputs"]
    env = {"HISTORY_BACKEND": "off"}
    if engine == "queue":
        env |= {"AzureWebJobsStorage": azurite.connection_string, "BATCH_QUEUE": f"b{uuid4().hex}"}
    async with hosted(data_dir, env) as host:
        filled = json.loads(
            json.dumps(action)
            .replace("@{parameters('switchboardUrl')}", host.url)
            .replace("@{workflow().run.name}", uuid4().hex)
            .replace("@triggerBody()?['question']", QUESTION)
        )
        assert "@" not in json.dumps({name: filled[name] for name in ("uri", "headers", "body")})
        status, answer, polls = await act(http, filled)
        again, same, _ = await act(http, filled)  # the retry policy sent the POST twice
        synchronous = {"content-type": "application/json"}
        async with http.post(filled["uri"], data=json.dumps(filled["body"]), headers=synchronous) as response:
            expected = await response.json()
    assert status == again == 200
    assert polls
    assert answer == same
    assert [(one["AuthorName"], one["Content"]) for one in answer] == [
        (one["AuthorName"], one["Content"]) for one in expected
    ]


async def test_the_sample_that_reads_json_gets_what_its_next_action_parses(
    app: RunningHost, openai: OpenAIStandIn, http: aiohttp.ClientSession
) -> None:
    definition = definition_in(REPOSITORY / "samples" / "workflows" / "answer-in-json.json")
    asking, reading = (definition["actions"][name]["inputs"] for name in ("Ask", "Read_the_answer"))
    assert asking["body"]["response_format"]["json_schema"]["schema"] == reading["schema"]
    openai.reply('{"answer": "80 %.", "found": true}')
    filled = json.loads(
        json.dumps(asking)
        .replace("@{parameters('switchboardUrl')}", app.url)
        .replace("@triggerBody()?['question']", QUESTION)
    )
    status, answer, _ = await act(http, filled)
    message = answer["choices"][0]["message"]
    assert (status, json.loads(message["content"])) == (200, {"answer": "80 %.", "found": True})
    assert "plan.pdf#page=3" in [one["title"] for one in message["context"]["citations"]]
    assert openai.chats[-1].form == asking["body"]["response_format"]
