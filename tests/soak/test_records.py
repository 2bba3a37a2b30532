"""What a soak watches for is seen when it happens."""

import random

import pytest

from tests.soak.records import LIBRARY_BYTES, UNSAFE, Ledger, Record, Usage, growth

FOUND = [{"id": "m1", "content": "one"}, {"id": "m2", "content": "A question"}]


@pytest.fixture
def ledger() -> Ledger:
    ledger = Ledger()
    ledger.created("c")
    ledger.stored("c", {"m1": "one"})
    ledger.recorded("c", "A question")
    return ledger


def test_a_chat_with_all_that_was_acknowledged_is_whole(ledger: Ledger) -> None:
    assert ledger.lost("c", FOUND) == []
    assert ledger.lost("c", [*FOUND, {"id": "m3", "content": "not acknowledged"}]) == []


def test_each_lost_write_is_seen(ledger: Ledger) -> None:
    assert ledger.lost("c", FOUND[1:]) == ["message m1 of chat c is lost"]
    assert ledger.lost("c", [{"id": "m1", "content": "other"}, FOUND[1]]) == ["message m1 of chat c is lost"]
    assert ledger.lost("c", FOUND[:1]) == ["a turn of chat c is lost"]
    assert ledger.lost("c", None) == ["chat c is lost"]


def test_a_deleted_chat_must_stay_away(ledger: Ledger) -> None:
    ledger.removed("c")
    assert ledger.lost("c", None) == []
    assert ledger.lost("c", FOUND) == ["chat c is back after its deletion"]


def test_unsafe_text_secrets_and_faults_of_the_app_are_seen() -> None:
    record = Record(random.Random(1), ("sk-secret",))  # noqa: S311  (chance, not secrets)
    record.answer("chat", 503, "The model's service cannot be reached.")
    assert record.violations == []
    record.answer("chat", 200, f"They are {UNSAFE.upper()}.")
    record.answer("stream", 200, "the key is sk-secret")
    record.answer("turn", 500, "A fault of the app.")
    assert [words.partition(":")[0] for words in record.violations] == ["chat", "stream", "turn"]


def test_descriptors_and_memory_that_grow_are_seen() -> None:
    before = Usage(1_000, 28, 150_000_000)
    assert growth(before, Usage(21_000, 30, 150_000_000 + 20_000 * LIBRARY_BYTES)) == []
    assert growth(before, Usage(21_000, 60, 150_000_000)) == ["descriptors grew from 28 to 60 in 20000 requests"]
    [leak] = growth(before, Usage(21_000, 28, 150_000_000 + 20_000 * 10_000))
    assert "memory grew by 162 MB" in leak
