"""What a message of the queue is about, and when there is a trigger for it."""

import json
from base64 import b64encode

import pytest

from shared.chat_types import Json
from shared.errors import BadRequest
from shared.settings import Settings
from shared.triggers.content_events import names_in

TYPES = ("Microsoft.Storage.BlobCreated", "Microsoft.Storage.BlobDeleted")


def subject(name: str, container: str = "content") -> str:
    return f"/blobServices/default/containers/{container}/blobs/{name}"


def event_grid(name: str, kind: str = TYPES[0], container: str = "content", url: str = "") -> dict[str, Json]:
    return {
        "topic": "/subscriptions/s/resourceGroups/r/providers/Microsoft.Storage/storageAccounts/a",
        "subject": subject(name, container),
        "eventType": kind,
        "id": "1",
        "data": {"api": "PutBlob", "eTag": "0x1", "url": url, "sequencer": "0"},
        "dataVersion": "",
        "metadataVersion": "1",
        "eventTime": "2026-11-21T12:00:00Z",
    }


def cloud_event(name: str, kind: str = TYPES[0]) -> dict[str, Json]:
    return {
        "specversion": "1.0",
        "source": "/subscriptions/s/resourceGroups/r/providers/Microsoft.Storage/storageAccounts/a",
        "subject": subject(name),
        "type": kind,
        "id": "1",
        "time": "2026-11-21T12:00:00Z",
        "data": {"api": "PutBlob"},
    }


def message(event: object) -> bytes:
    return json.dumps(event).encode()


@pytest.mark.parametrize("event", [event_grid, cloud_event])
@pytest.mark.parametrize("kind", TYPES)
def test_both_schemas_and_both_kinds_are_read(event: type, kind: str) -> None:
    assert names_in(message(event("health/plan.pdf", kind)), "content") == ["health/plan.pdf"]


def test_a_message_is_plain_or_in_base64() -> None:
    plain = message(event_grid("plan.pdf"))
    for sent in (plain, b64encode(plain), b"  " + plain + b"\r\n"):
        assert names_in(sent, "content") == ["plan.pdf"]


def test_an_array_is_read_whole_and_each_name_once() -> None:
    events = [event_grid("a.pdf"), cloud_event("b.pdf"), event_grid("a.pdf", TYPES[1])]
    assert names_in(message(events), "content") == ["a.pdf", "b.pdf"]


@pytest.mark.parametrize(
    ("event", "names"),
    [
        (event_grid("Urlaub & Kündigung.md"), ["Urlaub & Kündigung.md"]),
        (event_grid("Urlaub%20%26%20K%C3%BCndigung.md"), ["Urlaub%20%26%20K%C3%BCndigung.md", "Urlaub & Kündigung.md"]),
        (event_grid("50%25.md"), ["50%25.md", "50%.md"]),
        (event_grid("100%.md"), ["100%.md"]),
        (event_grid("a\nb.md"), ["a\nb.md"]),
        (event_grid("a/blobs/b.md"), ["a/blobs/b.md"]),
        (event_grid("x.md", url="https://a.blob.core.windows.net/content/x.md?snapshot=1"), ["x.md"]),
        (
            event_grid("\ufffd.md", url="https://a.blob.core.windows.net/content/%F0%9F%92%8E.md"),
            ["\ufffd.md", "💎.md"],
        ),
        (event_grid("x.md", url="https://["), ["x.md"]),
        (event_grid("x.md") | {"data": None}, ["x.md"]),
        (event_grid("x.md") | {"data": {"url": 5}}, ["x.md"]),
    ],
)
def test_the_name_is_read_as_it_is_and_decoded(event: Json, names: list[str]) -> None:
    assert names_in(message(event), "content") == names


@pytest.mark.parametrize(
    "event",
    [
        event_grid("plan.pdf", container="content-pages"),
        event_grid("plan.pdf", container="elsewhere"),
        event_grid("plan.pdf", kind="Microsoft.Storage.BlobTierChanged"),
        event_grid("plan.pdf") | {"subject": "/blobServices/default/containers/content"},
        event_grid("plan.pdf") | {"subject": ""},
        event_grid(""),
    ],
)
def test_what_is_about_nothing_of_the_container_is_ignored(event: Json) -> None:
    assert names_in(message(event), "content") == []


@pytest.mark.parametrize(
    "body",
    [
        *(b"", b" ", b"\xff\xfe", b"{", b"hello", b"{}", b"[]", b"5", b"null", b'"text"', b"[5]", b"[[]]", b"\0"),
        *(b64encode(each) for each in (b"", b"{", b"hello", b"null", b"\xff")),
        *(b"[" * 30_000, b'{"a":' * 9_000),
        message([event_grid("plan.pdf"), 5]),
        message(event_grid("plan.pdf") | {"eventType": 5}),
        message(event_grid("plan.pdf") | {"eventType": None}),
        message(event_grid("plan.pdf") | {"subject": None}),
    ],
)
def test_what_is_no_event_is_refused_without_repeating_it(body: bytes) -> None:
    with pytest.raises(BadRequest) as refused:
        names_in(body, "content")
    assert refused.value.message.startswith("The message is no event")
    assert "plan.pdf" not in refused.value.message
    assert refused.value.__cause__ is None


BY_IDENTITY = {"CONTENT_STORAGE__blobServiceUri": "https://a.blob.core.windows.net"}
QUEUES = {"CONTENT_STORAGE__queueServiceUri": "https://a.queue.core.windows.net"}


@pytest.mark.parametrize(
    ("environment", "is_watched"),
    [
        ({}, False),
        ({"CONTENT_STORAGE": "UseDevelopmentStorage=true"}, True),
        (BY_IDENTITY | QUEUES, True),
        (BY_IDENTITY, False),
    ],
)
def test_the_container_is_watched_where_the_settings_name_its_queues(
    environment: dict[str, str], is_watched: bool
) -> None:
    assert Settings.read(environment).watches_container == is_watched
