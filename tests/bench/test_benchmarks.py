"""The benchmarks run, at a size that says nothing: what they measure is for people to read."""

import json
from itertools import islice
from pathlib import Path

import pytest

from bench.__main__ import write
from bench.budgets import compare as compare_budgets
from bench.cold_start import compare_imports
from bench.encoding import compare as compare_encoding
from bench.history import compare as compare_history
from bench.indexing import compare as compare_indexing
from bench.memory import Plan
from bench.memory import report as report_memory
from bench.passages import questions
from bench.retrieval import compare as compare_retrieval
from bench.rounds import Comparison
from bench.telemetry import compare as compare_telemetry
from shared.retrieval.sqlite.ranking import asked_words
from shared.wire.table import PROTOCOLS
from tests.stand_ins.azurite import Azurite


def names(comparisons: list[Comparison]) -> list[list[str]]:
    return [list(comparison.values) for comparison in comparisons]


@pytest.mark.nightly
async def test_retrieval_compares_each_size_and_shows_the_growth(tmp_path: Path) -> None:
    comparisons = await compare_retrieval(tmp_path, (50, 200), rounds=1)
    both = ["ours", "plain FTS5"]
    assert names(comparisons) == [both, both, both, both, ["50 passages", "200 passages"]]


@pytest.mark.nightly
async def test_indexing_is_compared_with_one_process() -> None:
    comparison = await compare_indexing(8, in_file=2, rounds=1)
    assert list(comparison.values) == ["make index", "one process"]


@pytest.mark.nightly
async def test_turns_and_pages_of_the_history_are_compared_by_size() -> None:
    turns, pages = ["2 messages", "6 messages"], ["1 chats", "3 chats"]
    assert names(await compare_history((2, 6), (1, 3), rounds=1)) == [turns] * 3 + [pages] * 3


@pytest.mark.nightly
async def test_exchanges_of_budgets_are_compared_by_the_number_of_instances() -> None:
    async with Azurite() as service:
        assert names(await compare_budgets(service, (2, 3))) == [["2 instances", "3 instances"]] * 3


@pytest.mark.nightly
@pytest.mark.nightly
async def test_memory_compares_peaks_and_growth() -> None:
    comparisons = await report_memory(Plan(rounds=1, warm=8, until=24, streams=4, tokens=2))
    each = ["baseline", "ours", "ours, as in Azure"]
    assert names(comparisons) == [each, each, each, ["trivial function", "ours"], ["trivial function", "ours"]]


@pytest.mark.nightly
@pytest.mark.nightly
async def test_traces_on_are_compared_with_traces_off() -> None:
    assert names(await compare_telemetry({2: 1}, rounds=1)) == [["off", "on", "on, with texts"]]


async def test_every_protocols_encoding_is_compared() -> None:
    assert [*(await compare_encoding(16, rounds=1)).values] == [*PROTOCOLS]


@pytest.mark.nightly
async def test_the_import_is_compared_with_the_platforms() -> None:
    assert list((await compare_imports(rounds=1)).values) == ["platform", "function_app"]


def test_the_questions_are_the_same_every_time_and_have_words_to_search_for() -> None:
    some = list(islice(questions(), 20))
    assert some == list(islice(questions(), 20))
    assert all(asked_words(question, ["en"]) for question in some)


def test_what_came_out_is_a_json_file_with_every_round(tmp_path: Path) -> None:
    comparison = Comparison("A search", "milliseconds", {"ours": [3.0, 6.0], "plain": [2.0, 3.0]}, ("plain",))
    written = json.loads(write("some", [comparison], tmp_path / "new").read_text())
    assert written["benchmark"] == "some"
    (one,) = written["comparisons"]
    assert one["results"]["ours"]["rounds"] == [3.0, 6.0]
    assert one["results"]["ours"]["ratios"]["plain"]["median"] == 1.75
