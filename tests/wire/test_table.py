"""Which protocol a request speaks, before and after its body is read."""

import json

import pytest

from shared.chat_types import Json
from shared.errors import BadRequest, NotFound
from shared.wire.multipart import FormReader
from shared.wire.request_body import JsonReader
from shared.wire.table import LATE, NAMES, PROTOCOLS, resolve

FORM = "multipart/form-data; boundary=b"


@pytest.mark.parametrize("name", NAMES)
def test_a_route_names_a_protocol_whatever_the_body_and_the_default_say(name: str) -> None:
    resolved = resolve(name.upper(), "application/json", "semantic-kernel")
    assert resolved.protocol is resolved.of({"stream": True, "sessionState": 1}) is NAMES[name]


def test_a_name_that_does_not_exist_is_refused_with_those_that_do() -> None:
    with pytest.raises(NotFound, match=r"There are: ai-chat, .*, rag-chat"):
        resolve("smtp", "", "ai-chat")


@pytest.mark.parametrize(
    ("body", "name"),
    [
        ({"stream": False}, "ai-chat-2024-01-28"),
        ({"stream": "yes"}, "semantic-kernel"),
        ({"sessionState": None}, "ai-chat-2024-05-29"),
        ({"session_state": None}, "semantic-kernel"),
        ({}, "semantic-kernel"),
    ],
)
def test_a_body_on_a_bare_route_selects_its_protocol_and_the_default_is_used_until_then(
    body: dict[str, Json], name: str
) -> None:
    resolved = resolve(None, "application/json", "semantic-kernel")
    assert resolved.protocol.name == "semantic-kernel"
    assert resolved.of(body).name == name


def test_a_form_on_a_bare_route_speaks_the_protocol_that_takes_files() -> None:
    resolved = resolve(None, FORM, "ai-chat")
    assert resolved.protocol.name == resolved.of({"stream": True}).name == "ai-chat-2024-05-29"
    assert isinstance(resolved.reader(), FormReader)
    assert isinstance(resolve(None, "", "ai-chat").reader(), JsonReader)


def test_a_protocol_that_is_imported_late_is_found_by_its_name_alone() -> None:
    late = [PROTOCOLS[name] for name in LATE]
    assert [protocol.name for protocol in late] == [*LATE]
    assert not any(each.aliases or each.user_agent or each.takes_files or each.demo_page for each in late)
    assert not any(each.infer(other.example) for each in late for other in PROTOCOLS.values())


@pytest.mark.parametrize("name", PROTOCOLS)
def test_a_body_that_is_no_object_is_told_of_one_that_the_protocol_reads(name: str) -> None:
    reader = resolve(name, "", "ai-chat").reader()
    reader.feed(b"5")
    with pytest.raises(BadRequest) as told:
        reader.finish()
    example = told.value.message.partition("Send one such as ")[2].removesuffix(".")
    assert PROTOCOLS[name].parse(json.loads(example)).messages


@pytest.mark.parametrize("name", [name for name, protocol in PROTOCOLS.items() if not protocol.takes_files])
def test_a_form_is_refused_by_a_protocol_that_takes_no_files(name: str) -> None:
    with pytest.raises(BadRequest, match=f"'{name}' takes no files.*ai-chat-2024-05-29"):
        resolve(name, FORM, "ai-chat").reader()
