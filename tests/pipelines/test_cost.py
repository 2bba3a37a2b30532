"""What a month costs: by the meters, and as docs/deploy.md has it."""

import json

import pytest

from shared.core import searching
from shared.settings.fields import SettingsFields
from tools.cost import DAYS, MEASURED, PRICES, SWEEPS, Use, busy_seconds, counted, crowds, month, table
from tools.release import ROOT

TABLE = json.loads(PRICES.read_text())


def test_the_page_has_what_the_program_prints() -> None:
    page = (ROOT / "docs" / "deploy.md").read_text(encoding="utf-8")
    assert all(text in page for text in (counted(), table(), crowds())), "run `make docs`"


def test_what_calls_may_write_is_what_the_code_lets_them_write() -> None:
    may_write = SettingsFields.model_fields["chat_max_tokens"].default + searching._REWRITE_TOKENS  # pyright: ignore[reportPrivateUsage]
    assert MEASURED["tokens that a question may write"][0] == may_write


def test_instances_are_paid_for_the_time_in_which_they_answer_and_not_for_each_answer() -> None:
    assert busy_seconds(Use(1, seconds=6)) == pytest.approx(6 + SWEEPS, rel=0.01)
    rest = SWEEPS * 16 / 24  # the sweeps outside of the hours in which somebody asks
    assert busy_seconds(Use(100_000, seconds=6)) == pytest.approx(8 * 3600 + rest)  # one instance, all the time
    for memory, at_once in ((0.5, 30), (2, 100), (4, 200)):  # as many as the streams need
        assert busy_seconds(Use(10_000_000, memory=memory, seconds=6)) == pytest.approx(10_000_000 * 6 / at_once + rest)
    assert busy_seconds(Use(10_000_000, concurrency=50, seconds=6)) == pytest.approx(10_000_000 * 6 / 50 + rest)


def test_what_is_free_each_month_is_not_paid() -> None:
    costs = month(Use(100, memory=0.5), TABLE)
    assert costs["Functions"] == costs["Application Insights"] == 0
    assert costs["the model"] == pytest.approx(100 * DAYS * (Use(100).read * 0.20 + 300 * 1.20) / 1_000_000)


def test_kept_runs_are_paid_by_what_they_write_and_replicas_one_by_one() -> None:
    kept, half, none = (month(Use(1_000, kept=part), TABLE)["kept runs"] for part in (1, 0.5, 0))
    assert (half, none) == (pytest.approx(kept / 2), 0)
    assert kept / DAYS == pytest.approx(14 * 1_000 * 0.055 / 10_000)
    assert month(Use(1, replicas=3), TABLE)["AI Search"] == pytest.approx(3 * 73.73)
    with pytest.raises(SystemExit, match="no price of serverless"):
        month(Use(1, search="serverless"), TABLE)


def test_a_model_without_a_price_is_named() -> None:
    with pytest.raises(SystemExit, match="no price of gpt-1"):
        month(Use(1, model="gpt-1"), TABLE)
