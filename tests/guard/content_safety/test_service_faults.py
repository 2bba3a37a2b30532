"""Faults of Azure AI Content Safety: refusals, garbage, delays, a service that is gone, and what health says of it."""

import logging
from contextlib import aclosing

import pytest
from pydantic import SecretStr

from shared.errors import BadRequest, RateLimited, SwitchboardError, TooSlow, Unavailable
from shared.guard.content_safety.service import ContentSafety
from shared.guard.content_safety.severity_policy import DEFAULT_POLICY
from shared.guard.stream_guard import guard
from tests.clock import Clock
from tests.guard.content_safety.analysing import ANSWER, analysed, context
from tests.guard.guarding import Turn, answer, request, rules
from tests.guard.safety_contract import chunk as delta
from tests.guard.safety_contract import prompt, watermarks
from tests.stand_ins.content_safety import ContentSafetyStandIn


@pytest.mark.parametrize(
    ("status", "body", "kind", "says"),
    [
        (401, None, Unavailable, "CONTENT_SAFETY_API_KEY"),
        (403, None, Unavailable, "CONTENT_SAFETY_API_KEY"),
        (404, None, Unavailable, "CONTENT_SAFETY_ENDPOINT"),
        (400, None, BadRequest, "not accept"),
        (307, None, Unavailable, "no result"),
        (200, "<html>", Unavailable, "no result"),
        (200, "{}", Unavailable, "no result"),
        (200, "[]", Unavailable, "no result"),
        (200, '{"categoriesAnalysis": [{"category": "Hate", "severity": 0}]}', Unavailable, "no result"),
        (200, '{"categoriesAnalysis": [{"category": "New", "severity": 0}]}', Unavailable, "no result"),
        (200, '{"categoriesAnalysis": [{"category": "Hate"}]}', Unavailable, "no result"),
    ],
)
async def test_each_refusal_has_a_sentence_of_ours(
    safety: ContentSafety,
    service: ContentSafetyStandIn,
    status: int,
    body: str | None,
    kind: type[SwitchboardError],
    says: str,
) -> None:
    service.fail(status, {"Location": "http://127.0.0.1:9/"} if status == 307 else None, body)
    with pytest.raises(kind, match=says) as caught:
        await analysed(safety, prompt("Hello"))
    assert "a message" not in str(caught.value)


async def test_a_text_that_the_service_does_not_take_does_not_pass_as_a_fault_of_it(
    safety: ContentSafety, service: ContentSafetyStandIn
) -> None:
    by = rules(safety, on_error="allow", timeout=60)
    # Each request: whether the one about the question or about the source comes first is not said.
    with service.failing(400):
        async with aclosing(guard(Turn(answer("Four")).events(), request(), context(), by)) as turn:
            with pytest.raises(BadRequest):
                await anext(turn)


async def test_html_instead_of_a_result_is_told(safety: ContentSafety, service: ContentSafetyStandIn) -> None:
    service.fail(200, body="<html>", content_type="text/html")
    with pytest.raises(Unavailable, match="no result"):
        await analysed(safety, prompt("Hello"))


@pytest.mark.parametrize("status", [429, 500, 503])
async def test_what_may_pass_is_asked_again(safety: ContentSafety, service: ContentSafetyStandIn, status: int) -> None:
    service.fail(status, {"Retry-After": "0"})
    service.fail(status, {"Retry-After": "nonsense"})
    assert watermarks(await analysed(safety, delta("Hello")), ANSWER) == [5]


async def test_a_service_that_stays_busy_says_for_how_long(
    safety: ContentSafety, service: ContentSafetyStandIn
) -> None:
    service.fail(429, {"Retry-After": "61.5"})
    with pytest.raises(RateLimited) as caught:
        await analysed(safety, prompt("Hello"))
    assert caught.value.retry_after == 62


async def test_a_fault_that_stays_is_told(safety: ContentSafety, service: ContentSafetyStandIn) -> None:
    for _ in range(4):
        service.fail(500, {"Retry-After": "0"})
    with pytest.raises(Unavailable, match="fault of its own"):
        await analysed(safety, prompt("Hello"))


async def test_a_service_that_does_not_answer_is_too_slow(service: ContentSafetyStandIn) -> None:
    service.holds("Hello")
    safety = ContentSafety(service.endpoint, SecretStr(service.key), DEFAULT_POLICY, timeout=0.05)
    with pytest.raises(TooSlow):
        await analysed(safety, prompt("Hello"))
    await safety.aclose()


async def test_the_requests_deadline_counts_too(service: ContentSafetyStandIn, clock: Clock) -> None:
    service.holds("Hello")
    safety = ContentSafety(service.endpoint, SecretStr(service.key), DEFAULT_POLICY, timeout=60)
    async with safety.session(context(30)) as session:
        await session.send(prompt("Hello"))
        await session.finish()
        await service.wait_for(1)
        clock.forward(30)
        with pytest.raises(TooSlow):
            await anext(session.events())
    await safety.aclose()


async def test_a_service_that_is_not_there_is_named_by_its_setting() -> None:
    safety = ContentSafety("http://127.0.0.1:9", SecretStr("key"), DEFAULT_POLICY, timeout=30)
    with pytest.raises(Unavailable, match="CONTENT_SAFETY_ENDPOINT"):
        await analysed(safety, prompt("Hello"))
    health = await safety.check()
    assert (health.kind, health.ok, health.facts) == ("content-safety", False, {"host": "127.0.0.1:9"})
    await safety.aclose()


async def test_health_is_asked_once_for_a_while_and_analyses_nothing(
    safety: ContentSafety, service: ContentSafetyStandIn
) -> None:
    assert (await safety.check()).ok
    service.fail(401)
    assert (await safety.check()).ok
    assert service.texts == []


async def test_health_tells_of_a_wrong_key(service: ContentSafetyStandIn) -> None:
    safety = ContentSafety(service.endpoint, SecretStr("another"), DEFAULT_POLICY, timeout=30)
    health = await safety.check()
    await safety.aclose()
    assert not health.ok
    assert "CONTENT_SAFETY_API_KEY" in health.detail


async def test_neither_texts_nor_keys_are_logged(
    safety: ContentSafety, service: ContentSafetyStandIn, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    service.fail(500, {"Retry-After": "0"}, "a secret text of the service")
    service.fail(400, body="a secret text of the service")
    with pytest.raises(BadRequest):
        await analysed(safety, prompt("a secret text"))
    assert "invocation-1" in caplog.text
    assert "secret" not in caplog.text
    assert service.key not in caplog.text
