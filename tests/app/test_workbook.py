"""The queries of the workbook and the alerts, over the telemetry that the running app sends to Application Insights."""

import json
import re
from collections.abc import AsyncGenerator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import aiohttp
import pytest
import pytest_asyncio

from tests.app.conftest import NO_VECTORS, hosted
from tests.app.guarded import BAD, NOTHING_FOUND
from tests.app.identity.conftest import Key, taking
from tests.app.test_answers import QUESTION, body
from tests.app.test_chat_requests import Queues
from tests.infra.compiler import INFRA
from tests.infra.deployed import of_type
from tests.stand_ins.azurite import Azurite
from tests.stand_ins.collector import CollectorStandIn
from tests.stand_ins.insights_tables import HostRequest, rows, tables_of
from tests.stand_ins.openai_service import OpenAIStandIn
from tests.stand_ins.rai_service import RaiStandIn

pytestmark = pytest.mark.asyncio(loop_scope="session")

REPORT = Key("nightly-report")
PRICE = f'"{OpenAIStandIn.model}", 100.0, 1000.0'
"""US dollars for a million tokens that the model reads, and that it writes."""
TURN = "invoke_workflow chat"
QUERIES = sorted((INFRA / "queries").glob("*.kql"))
RULES = [
    one["properties"]["criteria"]["allOf"][0]
    for one in of_type("bearer", "Microsoft.Insights/scheduledQueryRules").values()
]


@dataclass
class Sent:
    """What the app has sent."""

    items: list[dict[str, Any]]
    """To Application Insights."""

    def rows(self, query: str) -> list[dict[str, Any]]:
        """What a query of `infra/queries` gives; times are left out."""
        kusto = (INFRA / "queries" / f"{query}.kql").read_text().replace("PRICES", PRICE)
        found = rows(tables_of(self.items, HOSTS), kusto)
        return [{name: value for name, value in row.items() if name != "timestamp"} for row in found]


HOSTS = [HostRequest("2026-11-23T10:00:00", "chat", "200"), HostRequest("2026-11-23T10:01:00", "chat", "503")]


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def sent(data_dir: Path, openai: OpenAIStandIn, azurite: Azurite) -> AsyncGenerator[Sent]:
    """What comes of two answers, a refused question, a busy model and a message of a queue."""
    queues = Queues(azurite)
    await queues.requests.create_queue()
    async with (
        CollectorStandIn() as insights,
        RaiStandIn() as rai,
        aiohttp.ClientSession(headers=REPORT.bearer) as http,
    ):
        rai.find(BAD)
        settings = (
            openai.settings,
            NO_VECTORS,
            insights.insights_settings,
            rai.settings,
            queues.settings,
            taking(REPORT),
        )
        merged = {name: value for each in settings for name, value in each.items()}
        async with hosted(data_dir, merged) as host:
            for question, status in ((QUESTION, 200), (NOTHING_FOUND, 200), (BAD, 400), (QUESTION, 429)):
                if status == 429:
                    openai.fail(429, headers={"Retry-After": "30"})
                async with http.post(f"{host.url}/chat", json=body(question)) as response:
                    assert response.status == status, await response.text()
            await openai.caught_up()
            await queues.ask({"id": "42", "body": body()})
            assert (await queues.answered())[0]["status"] == 200
            await insights.wait(lambda: len(_turns(insights)) == 5)
            await insights.wait(lambda: any("switchboard.queue.wait" in json.dumps(item) for item in insights.items))
            yield Sent(list(insights.items))
    await queues.aclose()


def _turns(insights: CollectorStandIn) -> list[dict[str, Any]]:
    return [item for item in insights.items if item["data"]["baseData"].get("name") == TURN]


async def test_turns_are_counted_by_how_they_ended(sent: Sent) -> None:
    counted = {row["outcome"]: row["turns"] for row in sent.rows("turns")}
    assert counted == {"stop": 3, "content_filter": 1, "rate_limited": 1}


async def test_how_long_callers_waited_for_the_first_words_is_known(sent: Sent) -> None:
    assert all(0 < row["half"] <= row["most"] < 60 for row in sent.rows("first-words"))
    assert sent.rows("first-words")


async def test_tokens_and_money_are_counted_by_model_and_by_caller(sent: Sent) -> None:
    """Each call of the model is 7 tokens read and 5 written; that of the refused turn may have ended or not."""
    (by_model,) = sent.rows("money-by-model")
    calls = by_model["calls"]
    assert calls in {3, 4}
    cost = {"input": 7 * calls, "output": 5 * calls, "dollars": pytest.approx(0.0057 * calls)}
    assert by_model == {"model": OpenAIStandIn.model, "calls": calls, **cost}
    by_caller = {row["caller"].split()[0]: row for row in sent.rows("money-by-caller")}
    assert by_caller.keys() == {REPORT.name, "queue"}
    assert by_caller["queue"]["dollars"] == pytest.approx(0.0057)
    assert by_caller[REPORT.name]["turns"] >= 2
    assert by_caller[REPORT.name]["dollars"] >= 0.0114


async def test_refusals_checks_and_turns_without_sources_are_counted(sent: Sent) -> None:
    assert total(sent.rows("refusals")) == {"turns": 5, "refused": 1}
    checks = sent.rows("safety")
    assert {row.pop("service") for row in checks} == {"rai"}
    assert total(checks) | {"checks": 8} == {"checks": 8, "blocked": 1, "failed": 0}
    assert total(sent.rows("sources")) == {"turns": 5, "without": 1}


async def test_errors_of_the_model_and_of_the_host_are_counted(sent: Sent) -> None:
    assert sent.rows("model-errors") == [{"error": "rate_limited", "calls": 1}]
    assert sent.rows("server-errors") == [{"name": "chat", "errors": 1}]


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule["metricMeasureColumn"])
async def test_every_alert_looks_at_a_column_of_its_query(sent: Sent, rule: dict[str, Any]) -> None:
    (query,) = (file.stem for file in QUERIES if file.read_text().startswith(f"{rule['query']}\n"))
    found = sent.rows(query)
    assert all(isinstance(row[rule["metricMeasureColumn"]], int | float) for row in found)
    for only in rule["dimensions"]:
        assert set(only["values"]) <= {row[only["name"]] for row in found}


async def test_every_query_is_a_tile_of_the_workbook() -> None:
    _, _, tiles = (INFRA / "modules" / "watch.bicep").read_text().partition("var tiles = ")
    assert set(re.findall(r"queries/(.+?)\.kql", tiles)) == {file.stem for file in QUERIES}


async def test_the_wait_in_a_queue_is_known(sent: Sent) -> None:
    (waited,) = sent.rows("queues")
    assert waited["queue"].endswith("-in")
    assert waited["messages"] == 1
    assert 0 < waited["mean"] == waited["longest"] < 120


@pytest.mark.parametrize("query", [file.stem for file in QUERIES])
async def test_every_name_that_a_query_uses_is_really_sent(sent: Sent, query: str) -> None:
    """A renamed attribute would leave a tile empty, and an alert silent."""
    kusto = (INFRA / "queries" / f"{query}.kql").read_text()
    data = [item["data"]["baseData"] for item in sent.items]
    attributes = {name for one in data for name in one["properties"]}
    metrics = {metric["name"] for one in data for metric in one.get("metrics", ())}
    spans = {one["name"] for one in data if "name" in one}
    assert set(re.findall(r'customDimensions\["([^"]+)"\]', kusto)) <= attributes
    assert set(re.findall(r'name == "([^"]+)"', kusto)) <= metrics
    assert all(any(span.startswith(name) for span in spans) for name in re.findall(r'name startswith "([^"]+)"', kusto))


def total(found: list[dict[str, Any]]) -> dict[str, int]:
    """The sums of the columns: the turns may be of two hours."""
    return {name: sum(row[name] for row in found) for name in found[0]}
