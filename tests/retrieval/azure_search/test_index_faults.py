"""What the service does wrong while a file is written, and what is left then."""

from collections.abc import Callable

import pytest

from shared.errors import NotConfigured, RateLimited, SwitchboardError, TooSlow, Unavailable
from shared.retrieval.azure_search.index import AzureSearchIndex
from tests.retrieval.azure_search.azure_indexes import error_of, open_index, write
from tests.retrieval.index_contract import marks_of, passages_of
from tests.stand_ins.ai_search import AISearchStandIn


async def test_the_fingerprint_is_written_when_all_else_is_done(
    service: AISearchStandIn, small: AzureSearchIndex
) -> None:
    await write(small, "a.md", "folder:1", 5, "before")
    done = len(service.requests)
    await write(small, "a.md", "folder:2", 3, "after")
    marks: list[tuple[object, object]] = []
    for body in (request.body for request in service.requests[done:] if request.operation == "write"):
        actions = body["value"] if isinstance(body["value"], list) else []
        marks += [
            (action["@search.action"], action.get("fingerprint")) for action in actions if isinstance(action, dict)
        ]
    assert marks == [
        ("upload", "folder:2 (unfinished)"),
        ("upload", None),
        ("upload", None),
        ("delete", None),
        ("delete", None),
        ("upload", "folder:2"),
    ]


async def test_wherever_a_write_breaks_off_the_file_is_known_and_not_as_done(
    service: AISearchStandIn, small: AzureSearchIndex
) -> None:
    await write(small, "a.md", "folder:0", 3)
    begun = len(service.requests)
    await write(small, "a.md", "folder:1", 5)
    steps = len(service.requests) - begun
    assert steps > 5
    for step in range(steps):
        await write(small, "a.md", "folder:1", 5)
        service.let_pass(times=step)
        service.fail(403)
        await error_of(write(small, "a.md", "folder:2", 3), NotConfigured)
        expected = "folder:1" if step == 0 else "folder:2 (unfinished)"
        assert await marks_of(small) == {"a.md": expected}
    await write(small, "a.md", "folder:2", 3)
    assert await marks_of(small) == {"a.md": "folder:2"}
    assert len(service.index.documents) == 3


async def test_wherever_a_removal_breaks_off_the_file_is_known(
    service: AISearchStandIn, small: AzureSearchIndex
) -> None:
    begun = len(service.requests)
    await write(small, "a.md", "folder:1", 5)
    await small.remove("a.md")
    steps = len([one for one in service.requests[begun:] if one.body.get("value") and "delete" in str(one.body)])
    assert steps > 2
    for step in range(steps):
        await write(small, "a.md", "folder:1", 5)
        service.let_pass(times=step, on="write")
        service.fail(403, on="write")
        await error_of(small.remove("a.md"), NotConfigured)
        assert await marks_of(small) == {"a.md": "folder:1"}
    await small.remove("a.md")
    assert await marks_of(small) == {}
    assert service.index.documents == {}


async def test_a_file_that_is_written_again_at_once_is_as_the_last_one_left_it(service: AISearchStandIn) -> None:
    index = open_index(service, settling=0.4)
    await write(index, "a.md", "folder:1", 1)
    held = service.indexes[service.index_name]
    held.lag = 0.2
    await write(index, "a.md", "folder:2", 3)
    assert await marks_of(index, "a.md") == {"a.md": "folder:2"}
    await write(index, "a.md", "folder:3", 1)
    await index.remove("a.md")
    await write(index, "a.md", "folder:4", 2)
    await write(index, "a.md", "folder:5", 1)
    assert [document["fingerprint"] for document in held.documents.values()] == ["folder:5"]
    await index.remove("a.md")
    assert await marks_of(index, "a.md") == {}
    assert held.documents == {}
    await index.aclose()


@pytest.mark.parametrize("status", [409, 422, 429, 503])
async def test_documents_that_the_service_did_not_take_are_sent_again_alone(
    service: AISearchStandIn, one: AzureSearchIndex, status: int
) -> None:
    keys = [passage.id for passage in passages_of("a.md", 4)]
    service.fail_documents({keys[1]: status, keys[3]: status}, times=2)
    await write(one, "a.md", "1", 4)
    batches = [body["value"] for body in service.bodies("write")]
    sent = [
        [action["id"] for action in batch if isinstance(action, dict)] for batch in batches if isinstance(batch, list)
    ]
    assert sent == [keys, [keys[1], keys[3]], [keys[1], keys[3]], [keys[0]]]
    assert await marks_of(one) == {"a.md": "1"}
    assert sorted(service.index.documents) == keys


async def test_documents_that_the_service_never_takes_are_an_error_after_some_tries(
    service: AISearchStandIn, one: AzureSearchIndex
) -> None:
    key = passages_of("a.md", 2)[1].id
    service.fail_documents({key: 503}, times=100)
    assert "Run it again" in await error_of(write(one, "a.md", "1", 2), Unavailable)
    assert len(service.bodies("write")) == 5
    assert await marks_of(one) == {"a.md": "1 (unfinished)"}


async def test_documents_that_the_service_refuses_for_good_are_not_sent_again(
    service: AISearchStandIn, one: AzureSearchIndex
) -> None:
    service.fail_documents({passages_of("a.md", 2)[1].id: 400})
    assert "the fields of AZURE_SEARCH_INDEX" in await error_of(write(one, "a.md", "1", 2), Unavailable)
    assert len(service.bodies("write")) == 1


@pytest.mark.parametrize("status", [429, 503])
async def test_a_service_that_is_busy_is_asked_again(
    service: AISearchStandIn, one: AzureSearchIndex, status: int
) -> None:
    service.fail(status, on="write", headers={"Retry-After": "0"})
    service.fail(status, on="create")
    service.fail(status, on="definition")
    await write(one, "a.md", "1", 2)
    service.fail(status, on="search")
    assert await marks_of(one) == {"a.md": "1"}


FAULTS: dict[str, tuple[Callable[[AISearchStandIn], None], type[SwitchboardError], str]] = {
    "too many requests": (
        lambda service: service.fail(429, headers={"Retry-After": "70"}),
        RateLimited,
        "70 sec",
    ),
    "overload": (lambda service: service.fail(503, times=9), Unavailable, "too much to do"),
    "a fault of its own": (lambda service: service.fail(500, times=9), Unavailable, "fault of its own"),
    "a time-out of its own": (lambda service: service.fail(504), TooSlow, "too long"),
    "refusal": (lambda service: service.fail(403), NotConfigured, "AZURE_SEARCH_API_KEY to an admin key"),
    "no such key": (lambda service: service.fail(401), NotConfigured, "AZURE_SEARCH_API_KEY"),
    "a request that it does not know": (lambda service: service.fail(400), NotConfigured, "AZURE_SEARCH_FIELDS"),
    "hanging up": (lambda service: service.hang_up(times=9), Unavailable, "cannot be reached"),
    "breaking off": (lambda service: service.cut_off(times=9), Unavailable, "broke off"),
    "no JSON": (lambda service: service.reply(b"<html>"), Unavailable, "AZURE_SEARCH_ENDPOINT"),
    "nothing": (lambda service: service.reply(b""), Unavailable, "AZURE_SEARCH_ENDPOINT"),
    "a list": (lambda service: service.reply(b"[]"), Unavailable, "AZURE_SEARCH_ENDPOINT"),
    "no results": (lambda service: service.reply(b"{}"), Unavailable, "AZURE_SEARCH_ENDPOINT"),
    "too few results": (lambda service: service.reply(b'{"value": []}'), Unavailable, "AZURE_SEARCH_ENDPOINT"),
    "a redirect": (
        lambda service: service.fail(302, headers={"Location": "http://127.0.0.1:1/"}),
        Unavailable,
        "no answer",
    ),
}


@pytest.mark.parametrize("fault", FAULTS)
async def test_each_fault_of_the_service_is_told_in_our_words(
    service: AISearchStandIn, one: AzureSearchIndex, fault: str
) -> None:
    await write(one, "a.md", "1", 1)
    script, kind, words = FAULTS[fault]
    script(service)
    message = await error_of(write(one, "a.md", "2", 1), kind)
    assert words in message
    assert "scripted" not in message


async def test_a_key_that_may_only_read_is_told_which_one_is_needed(service: AISearchStandIn) -> None:
    index = open_index(service, more={"AZURE_SEARCH_API_KEY": service.query_key})
    assert "an admin key" in await error_of(marks_of(index), NotConfigured)
    await index.aclose()


async def test_a_service_that_is_not_there_is_named_by_its_setting() -> None:
    index = open_index(AISearchStandIn(), more={"AZURE_SEARCH_ENDPOINT": "http://127.0.0.1:1"})
    assert "AZURE_SEARCH_ENDPOINT" in await error_of(marks_of(index), Unavailable)
    await index.aclose()
