"""How messages are kept, merged and shown in short."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.chat_types import Json, Role
from shared.history import NO_TOOL_CALL, StoredMessage
from shared.history.contents import PREVIEW_LENGTH, decode_messages, encode, merged, preview
from shared.wire.framing import encode_json


def encode_tool_call(value: Json) -> msgspec.Raw:
    return NO_TOOL_CALL if value is None else msgspec.Raw(encode_json(value))


MESSAGES = st.builds(
    StoredMessage,
    id=st.sampled_from("abcdef"),
    role=st.sampled_from(Role),
    content=st.text(),
    timestamp=st.text(),
    tool_call=st.recursive(
        st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
        max_leaves=5,
    ).map(encode_tool_call),
    agent_name=st.none() | st.text(),
)


@given(st.lists(MESSAGES))
def test_what_is_kept_comes_back_as_it_was(messages: list[StoredMessage]) -> None:
    assert decode_messages(encode(messages)) == tuple(messages)


def test_messages_of_the_first_version_still_read() -> None:
    stored = b'[{"id":"1","role":"user","content":"Why?","timestamp":"02:15 PM"}]'
    assert decode_messages(stored) == (StoredMessage("1", Role.USER, "Why?", "02:15 PM"),)
    stored = b'[{"id":"2","role":"tool","content":"","timestamp":"","tool_call":{"a":[1,null]},"tool_call_id":"c"}]'
    call = msgspec.Raw(b'{"a":[1,null]}')
    assert decode_messages(stored) == (StoredMessage("2", Role.TOOL, "", "", tool_call=call, tool_call_id="c"),)


@given(st.lists(MESSAGES, unique_by=lambda message: message.id), st.lists(MESSAGES))
def test_a_merge_keeps_the_order_loses_nothing_and_takes_the_newer(
    kept: list[StoredMessage], written: list[StoredMessage]
) -> None:
    result = merged(kept, written)
    ids = [message.id for message in result]
    assert ids[: len(kept)] == [message.id for message in kept]
    assert set(ids) == {message.id for message in (*kept, *written)}
    newest = {message.id: message for message in (*kept, *written)}
    assert list(result) == [newest[id_] for id_ in ids]
    assert merged(result, written) == result


@pytest.mark.parametrize("emoji", ["👩‍👩‍👧‍👦", "👋🏽", "🇩🇪", "🏴\U000e0067\U000e0062\U000e007f", "❤️", "e\u0301", "नि"])
@pytest.mark.parametrize("before", range(8))
def test_no_emoji_and_no_letter_is_cut_in_two(emoji: str, before: int) -> None:
    shown = preview("x" * (PREVIEW_LENGTH - before) + emoji + "y" * 20)
    start = shown.removesuffix("…").rstrip("y").lstrip("x")
    assert start in ("", emoji)


@given(st.text(min_size=PREVIEW_LENGTH + 1, max_size=PREVIEW_LENGTH + 50))
def test_a_preview_is_never_longer_than_its_length(text: str) -> None:
    shown = preview(text)
    assert shown.endswith("…")
    assert text.startswith(shown[:-1])
    assert 1 < len(shown) <= PREVIEW_LENGTH + 1


def test_a_short_message_is_its_own_preview() -> None:
    assert preview("👋🏽" * 100) == "👋🏽" * 100
