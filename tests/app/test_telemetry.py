"""The app's traces, as a collector receives them: what is in them, when they end, and what is never in them."""

import asyncio
import json
import secrets
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import uuid4

import aiohttp
import pytest
import pytest_asyncio

from tests.app.conftest import NO_VECTORS, PASSAGES, hosted
from tests.app.guarded import BAD, guarded
from tests.app.test_answers import QUESTION, body
from tests.app.test_cost import EARLIER
from tests.app.test_warm_up import modules, probed
from tests.kinds import one_in
from tests.local.running_host import RunningHost
from tests.stand_ins.certificates import server_side
from tests.stand_ins.collector import TOKEN, CollectorStandIn, Trace
from tests.stand_ins.easy_auth import IN_FRONT, principal
from tests.stand_ins.entra import ADA, STAFF, TENANT
from tests.stand_ins.identity_endpoint import identity_endpoint
from tests.stand_ins.openai_service import OpenAIStandIn

pytestmark = pytest.mark.asyncio(loop_scope="session")

CHAT, TEAM, MODEL = "invoke_workflow chat", "invoke_workflow team", f"chat {OpenAIStandIn.model}"


@dataclass
class Traced:
    """An app whose traces are collected."""

    host: RunningHost
    collector: CollectorStandIn
    openai: OpenAIStandIn
    http: aiohttp.ClientSession

    def request(self, path: str, sent: dict[str, Any]) -> tuple[str, Any]:
        """A request that belongs to a trace, and the trace's id. The caller does not record it."""
        trace_id = secrets.token_hex(16)
        headers = {"traceparent": f"00-{trace_id}-{'ab' * 8}-00"}
        return trace_id, self.http.post(self.host.url + path, json=sent, headers=headers)

    async def ask(self, path: str = "/chat/stream", last: str = CHAT, **sent: Any) -> tuple[Trace, str]:
        """Ask; return the trace, and the whole of what came back."""
        trace_id, request = self.request(path, sent or body())
        async with request as response:
            answer = await response.text()
        return await self.collector.trace(trace_id, last), answer


@asynccontextmanager
async def traced(data_dir: Path, openai: OpenAIStandIn, **settings: str) -> AsyncGenerator[Traced]:
    async with CollectorStandIn() as collector, aiohttp.ClientSession() as http:
        env = openai.settings | NO_VECTORS | collector.settings | settings
        async with hosted(data_dir, env) as host:
            yield Traced(host, collector, openai, http)
        assert collector.refused == []


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def app(data_dir: Path, openai: OpenAIStandIn, concurrent: dict[str, str]) -> AsyncGenerator[Traced]:
    async with traced(data_dir, openai, **concurrent) as running:
        yield running


async def test_an_answer_is_a_span_below_the_callers_with_its_search_and_its_model_call_below_it(app: Traced) -> None:
    conversation = str(uuid4())
    trace, answer = await app.ask("/ai-chat/chat", **body(session_state=conversation))
    assert trace.root.parent == "ab" * 8
    assert trace.root.kind == "INTERNAL"
    assert trace.root.resource["service.name"] == "switchboard"
    assert {key: value for key, value in trace.root.attributes.items() if "time_to" not in key} == {
        "gen_ai.operation.name": "invoke_workflow",
        "gen_ai.workflow.name": "chat",
        "gen_ai.conversation.id": conversation,
        "gen_ai.provider.name": "openai",
        "gen_ai.request.model": app.openai.model,
        "gen_ai.response.model": app.openai.model,
        "gen_ai.response.id": trace.root.attributes["gen_ai.response.id"],
        "gen_ai.response.finish_reasons": ["stop"],
        "gen_ai.usage.input_tokens": 7,
        "gen_ai.usage.output_tokens": 5,
        "switchboard.invocation_id": trace.root.attributes["switchboard.invocation_id"],
        "switchboard.protocol": "ai-chat",
        "switchboard.sources": len(json.loads(answer)["context"]["data_points"]["text"]),
        "switchboard.prompt_version": json.loads(answer)["context"]["thoughts"][-1]["props"]["version"],
        "switchboard.outcome": "stop",
    }
    search, call = trace.children(trace.root)
    assert search.name == "retrieval embedded"
    assert search.attributes == {
        "gen_ai.operation.name": "retrieval",
        "gen_ai.data_source.id": "embedded",
        "gen_ai.retrieval.top_k": 50,
        "switchboard.search.mode": "text",
        "switchboard.sources": trace.root.attributes["switchboard.sources"],
        "switchboard.outcome": "ok",
    }
    assert (call.name, call.kind, call.failed) == (MODEL, "CLIENT", False)
    assert call.attributes["server.address"] == "127.0.0.1"
    assert call.attributes["gen_ai.response.id"] == trace.root.attributes["gen_ai.response.id"]
    assert call.attributes["gen_ai.usage.input_tokens"] == 7
    assert 0 < call.attributes["gen_ai.response.time_to_first_chunk"] <= call.seconds
    assert call.seconds <= trace.root.seconds
    assert trace.root.attributes["gen_ai.response.time_to_first_chunk"] <= trace.root.seconds


@pytest.mark.parametrize("wrong", ["", "00-0-0-00", "00-" + "0" * 32 + "-" + "ab" * 8 + "-01", "z" * 10_000])
async def test_a_traceparent_that_is_none_begins_a_trace(app: Traced, wrong: str) -> None:
    before = len(app.collector.spans)
    async with app.http.post(app.host.url + "/chat", json=body(), headers={"traceparent": wrong[:4_000]}) as response:
        assert response.status == 200
    await app.collector.wait(lambda: [span for span in app.collector.spans[before:] if span.name == CHAT])
    (root,) = [span for span in app.collector.spans[before:] if span.name == CHAT]
    assert root.parent == ""


async def test_a_later_questions_rewriting_is_a_model_call_of_its_own(app: Traced) -> None:
    app.openai.call_tool("search_sources", {"search_queries": ["dental"]})
    trace, _ = await app.ask("/chat", messages=[*EARLIER, {"role": "user", "content": QUESTION}])
    assert [span.name for span in trace.children(trace.root)] == [MODEL, "retrieval embedded", MODEL]
    rewriting, answering = trace.named(MODEL)
    assert rewriting.attributes["gen_ai.response.finish_reasons"] == ["tool_calls"]
    assert rewriting.attributes["gen_ai.request.max_tokens"]
    assert "gen_ai.request.max_tokens" not in answering.attributes
    assert answering.attributes["gen_ai.response.finish_reasons"] == ["stop"]
    assert trace.root.attributes["gen_ai.usage.input_tokens"] == 14


async def test_the_agents_of_a_team_are_spans_with_their_model_calls_below_them(app: Traced) -> None:
    trace, _ = await app.ask("/multi-agent-chat/stream", TEAM, **body())
    agents = trace.children(trace.root)
    assert sorted(agent.name for agent in agents) == ["invoke_agent Alpha", "invoke_agent Beta"]
    for agent in agents:
        assert agent.attributes["gen_ai.agent.name"] in agent.name
        assert agent.attributes["gen_ai.usage.input_tokens"] == 7
        assert [call.name for call in trace.children(agent)] == [MODEL]
    assert "gen_ai.response.model" not in trace.root.attributes
    assert trace.root.attributes["gen_ai.usage.input_tokens"] == 14
    assert "gen_ai.response.time_to_first_chunk" in trace.root.attributes


async def test_an_agent_that_fails_is_its_own_error_and_the_teams_lack(app: Traced) -> None:
    app.openai.fail(400)
    trace, _ = await app.ask("/multi-agent-chat/stream", TEAM, **body())
    failed = [agent for agent in trace.children(trace.root) if agent.failed]
    assert [agent.attributes["error.type"] for agent in failed] == ["bad_request"]
    assert not trace.root.failed
    assert trace.root.attributes["switchboard.degraded"] == ["agents"]


async def test_the_agent_that_answers_single_chat_has_its_searches_below_it(
    data_dir: Path, openai: OpenAIStandIn
) -> None:
    async with traced(data_dir, openai, CHAT_AGENT="Researcher") as app:
        trace, _ = await app.ask()
        (agent,) = trace.children(trace.root)
        assert agent.name == "invoke_agent Researcher"
        assert [span.name for span in trace.children(agent)] == [MODEL, "retrieval embedded", MODEL]
        assert agent.attributes["gen_ai.usage.input_tokens"] == trace.root.attributes["gen_ai.usage.input_tokens"]


async def test_a_turn_ends_with_its_stream_and_not_with_the_trigger(app: Traced) -> None:
    more = asyncio.Event()
    app.openai.reply("One", more, " two.")
    trace_id, request = app.request("/chat/stream", body())
    async with request as response:
        await response.content.readline()
        assert b"One" in await response.content.readline()
        await app.collector.wait(lambda: [span for span in app.collector.spans if span.trace_id == trace_id])
        assert {span.name for span in app.collector.spans if span.trace_id == trace_id} == {"retrieval embedded"}
        more.set()
        await response.read()
    trace = await app.collector.trace(trace_id, CHAT)
    assert trace.root.attributes["switchboard.outcome"] == "stop"


@pytest.mark.parametrize("path", ["/chat/stream", "/chat"])
async def test_a_caller_who_leaves_has_cancelled_the_turn_and_the_model_call(app: Traced, path: str) -> None:
    app.openai.reply("One", asyncio.Event())
    number = len(app.openai.requests) + 1
    trace_id, request = app.request(path, body())

    async def ask() -> None:
        async with request as response:
            await response.read()

    asking = asyncio.create_task(ask())
    await app.openai.request_number(number)
    asking.cancel()
    await asyncio.wait([asking])
    trace = await app.collector.trace(trace_id, CHAT)
    for span in (trace.root, *trace.named(MODEL)):
        assert span.attributes["switchboard.cancelled"] is True
        assert span.attributes["switchboard.outcome"] == "cancelled"
        assert not span.failed
        assert "error.type" not in span.attributes
    assert [span.attributes["gen_ai.response.finish_reasons"] for span in trace.named(MODEL)] == [["error"]]


@pytest.mark.parametrize(("status", "kind"), [(429, "rate_limited"), (401, "unavailable")])
async def test_an_error_is_told_by_its_kind(app: Traced, status: int, kind: str) -> None:
    app.openai.fail(status, headers={"Retry-After": "60"})
    trace, _ = await app.ask()
    for span in (trace.root, *trace.named(MODEL)):
        assert span.failed
        assert span.attributes["error.type"] == span.attributes["switchboard.outcome"] == kind
    assert [span.attributes["gen_ai.response.finish_reasons"] for span in trace.named(MODEL)] == [["error"]]


async def test_an_answer_that_takes_too_long_is_a_timeout(data_dir: Path) -> None:
    async with OpenAIStandIn() as slow, traced(data_dir, slow, CHAT_DEADLINE_SECONDS="0.5") as app:
        slow.hang()
        trace, _ = await app.ask()
        assert trace.root.failed
        assert trace.root.attributes["error.type"] == "timeout"


async def test_what_the_guard_checks_and_blocks_is_in_the_trace(data_dir: Path, openai: OpenAIStandIn) -> None:
    async with (
        CollectorStandIn() as collector,
        guarded(data_dir, openai, RAI_MODE="enforce", **collector.settings) as running,
    ):
        app = Traced(running.host, collector, openai, running.http)
        trace, _ = await app.ask()
        assert {span.name for span in trace.children(trace.root)} == {"safety rai", "retrieval embedded", MODEL}
        for check in trace.named("safety rai"):
            assert check.attributes["switchboard.safety.blocked"] is False
            assert check.attributes["switchboard.outcome"] == "ok"
            assert check.attributes["server.address"] == "127.0.0.1"
        trace, _ = await app.ask(**body(f"{BAD}?"))
        assert trace.root.failed
        assert trace.root.attributes["switchboard.filtered"] is True
        assert trace.root.attributes["error.type"] == "content_filter"
        assert any(check.attributes["switchboard.safety.blocked"] for check in trace.named("safety rai"))
        assert collector.refused == []


MARKS = ("Wolpertinger", "Tatzelwurm", "Elwetritsch", "Rasselbock")
"""In the question, the answer, the name of the conversation, and what the model's service says of an error."""


async def ask_with_marks(app: Traced) -> None:
    question, answer, conversation, fault = MARKS
    asked: dict[str, Any] = {
        "messages": [*EARLIER, {"role": "user", "content": f"{QUESTION} {question}"}],
        "session_state": conversation,
    }
    app.openai.call_tool("search_sources", {"search_queries": [f"dental {question}"]})
    app.openai.reply(f"It is {answer}. [plan.pdf#page=3]")
    await app.ask(**asked)
    app.openai.fail(400, error={"message": fault})
    await app.ask(**asked)
    app.openai.reply(answer)
    await app.ask("/multi-agent-chat/stream", TEAM, **asked)


async def test_nothing_that_anybody_said_or_found_leaves_the_app(app: Traced) -> None:
    await ask_with_marks(app)
    received = bytes(app.collector.received).decode(errors="replace")
    assert MODEL in received
    for text in (*MARKS, *(passage.content for passage in PASSAGES), "plan.pdf", "dental", "documents say"):
        assert text not in received


async def test_nothing_tells_who_asked(data_dir: Path, openai: OpenAIStandIn) -> None:
    async with traced(data_dir, openai, **IN_FRONT) as app:
        sent = body(context={"overrides": {"use_oid_security_filter": True, "use_groups_security_filter": True}})
        async with app.http.post(app.host.url + "/chat", json=sent, headers=principal(ADA, STAFF)) as response:
            assert response.status == 200
        await app.collector.wait(lambda: [span for span in app.collector.spans if span.name == CHAT])
        received = bytes(app.collector.received).decode(errors="replace")
        for name in (ADA, STAFF, TENANT):
            assert name not in received


async def test_with_the_setting_the_texts_are_there(
    data_dir: Path, openai: OpenAIStandIn, concurrent: dict[str, str]
) -> None:
    async with traced(data_dir, openai, TELEMETRY_CONTENT="true", **concurrent) as app:
        openai.reply("Yes. [plan.pdf#page=3]")
        trace, _ = await app.ask()
        search, call = trace.children(trace.root)
        assert search.attributes["gen_ai.retrieval.query.text"] == QUESTION
        assert json.loads(search.attributes["gen_ai.retrieval.documents"])[0]["id"] == "plan.pdf#page=3"
        asked = [{"role": "user", "parts": [{"type": "text", "content": QUESTION}]}]
        assert json.loads(trace.root.attributes["gen_ai.input.messages"]) == asked
        prompt = json.loads(call.attributes["gen_ai.input.messages"])
        assert [message["role"] for message in prompt] == ["system", "user"]
        assert PASSAGES[0].content in prompt[1]["parts"][0]["content"]
        said = {"type": "text", "content": "Yes. [plan.pdf#page=3]"}
        answer = [{"role": "assistant", "parts": [said], "finish_reason": "stop"}]
        assert json.loads(call.attributes["gen_ai.output.messages"]) == answer
        assert json.loads(trace.root.attributes["gen_ai.output.messages"]) == answer
        trace, _ = await app.ask("/multi-agent-chat/stream", TEAM, **body())
        names = [message["name"] for message in json.loads(trace.root.attributes["gen_ai.output.messages"])]
        assert sorted(names) == ["Alpha", "Beta"]


def down(collector: CollectorStandIn) -> None:
    collector.endpoint = "http://127.0.0.1:9"


def failing(collector: CollectorStandIn) -> None:
    collector.fail(500)


def slow(collector: CollectorStandIn) -> None:
    collector.hold()


@pytest.mark.parametrize("make", one_in(3, [slow, failing, down]))
async def test_a_collector_that_takes_nothing_costs_no_answer_and_one_log_entry(
    data_dir: Path, openai: OpenAIStandIn, make: Callable[[CollectorStandIn], None]
) -> None:
    async with CollectorStandIn() as collector, aiohttp.ClientSession() as http:
        make(collector)
        env = openai.settings | NO_VECTORS | collector.settings | {"OTEL_EXPORTER_OTLP_TIMEOUT": "1"}
        async with hosted(data_dir, env) as host:
            for _ in range(3):
                async with http.post(host.url + "/chat", json=body()) as response:
                    assert response.status == 200
            told = "traces are dropped: 127.0.0.1 does not take them; check OTEL_EXPORTER_OTLP_ENDPOINT"
            await asyncio.to_thread(host.wait_for, told)
        assert host.log().count("traces are dropped") == 1
        assert "Traceback" not in host.log()
        assert "opentelemetry" not in host.log()


async def test_application_insights_gets_the_spans_and_the_token_of_the_apps_identity(
    tmp_path: Path, data_dir: Path, openai: OpenAIStandIn, http: aiohttp.ClientSession
) -> None:
    tls, trusted = server_side(tmp_path)
    async with CollectorStandIn(tls, TOKEN) as insights, identity_endpoint(TOKEN) as (identity, asked):
        settings = (
            insights.insights_settings
            | identity
            | {
                "APPLICATIONINSIGHTS_AUTHENTICATION_STRING": "Authorization=AAD",
                "REQUESTS_CA_BUNDLE": str(trusted),
            }
        )
        async with hosted(data_dir, openai.settings | NO_VECTORS | settings) as host:
            app = Traced(host, insights, openai, http)
            trace_id, request = app.request("/chat/stream", body())
            async with request as response:
                assert "stop" in await response.text()

            def sent() -> dict[str, Any]:
                ours = [item for item in insights.items if item["tags"].get("ai.operation.id") == trace_id]
                return {item["data"]["baseData"]["name"]: item for item in ours}

            await insights.wait(lambda: CHAT in sent())
        assert set(sent()) == {CHAT, "retrieval embedded", MODEL}
        root = sent()[CHAT]
        assert root["tags"]["ai.operation.parentId"] == "ab" * 8
        assert root["tags"]["ai.cloud.role"] == "switchboard"
        assert root["data"]["baseType"] == "RemoteDependencyData"
        assert root["data"]["baseData"]["success"] is True
        assert root["data"]["baseData"]["properties"]["switchboard.outcome"] == "stop"
        assert sent()[MODEL]["tags"]["ai.operation.parentId"] == root["data"]["baseData"]["id"]
        assert set(asked) == {"https://monitor.azure.com/"}  # spans and metrics may ask at the same moment
        assert {item["data"]["baseType"] for item in insights.items} <= {"RemoteDependencyData", "MetricData"}
        assert insights.refused == []
        assert "gen_ai.input" not in insights.received.decode()


OURS = ("opentelemetry.sdk", "opentelemetry.exporter", "azure.monitor", "shared.telemetry.")
"""What tracing is made of; the API of OpenTelemetry comes with FastAPI."""


async def test_off_nothing_of_it_is_loaded_and_on_a_request_loads_nothing_more(
    tmp_path: Path, data_dir: Path, openai: OpenAIStandIn, http: aiohttp.ClientSession
) -> None:
    async def loaded_by_a_request(folder: str, env: dict[str, str]) -> tuple[set[str], set[str]]:
        (tmp_path / folder).mkdir()
        async with probed(tmp_path / folder, data_dir, openai.settings | NO_VECTORS | env) as host:
            await asyncio.to_thread(host.wait_for, "warmed up in")
            before = await modules(host, http)
            async with http.post(host.url + "/chat/stream", json=body()) as response:
                assert response.status == 200
                await response.read()
            return before, await modules(host, http)

    _, off = await loaded_by_a_request("off", {})
    assert not [name for name in off if name.startswith(OURS)]
    async with CollectorStandIn() as collector:
        before, on = await loaded_by_a_request("on", collector.settings)
    assert "shared.telemetry.otel" in before
    assert on - before == set()
