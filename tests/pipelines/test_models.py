"""The models of a deployment are checked against the days on which they retire."""

import json
from datetime import date, timedelta

import pytest

from tools.models import AHEAD, INFRA, Model, Table, chosen, read_table, retiring

OLD, NEW = Model("gpt-old", "2025-01-01"), Model("gpt-new", "2026-01-01")
DAY = date(2027, 6, 30)
TABLE = Table(date(2026, 1, 1), {OLD: "chat", NEW: "chat"}, {OLD: DAY, NEW: DAY + timedelta(days=365)})


def test_a_model_fails_the_check_half_a_year_before_it_retires() -> None:
    assert list(retiring([OLD, NEW], TABLE, DAY - AHEAD - timedelta(days=1))) == []
    assert list(retiring([OLD, NEW], TABLE, DAY - AHEAD)) == ["gpt-old 2025-01-01 retires on 2027-06-30."]


def test_a_model_that_the_table_lacks_is_reported_and_fails_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    assert list(retiring([Model("llama", "1")], TABLE, DAY)) == []
    assert "does not say when llama 1 retires" in capsys.readouterr().out


def test_what_the_environment_chooses_counts_and_else_the_defaults_of_the_deployment() -> None:
    own = {"DEPLOY_CHAT_MODEL": "gpt-old", "DEPLOY_CHAT_MODEL_VERSION": "2025-01-01", "DEPLOY_EMBEDDING_MODEL": ""}
    chat, embedding = chosen(own)
    assert (chat, embedding) == (OLD, chosen({})[1])
    assert {chosen({})[0], embedding} <= read_table().retires.keys()


def test_the_workbook_has_a_price_of_the_default() -> None:
    prices = json.loads((INFRA / "prices.json").read_text())["models"]
    assert chosen({})[0].model in {one["model"] for one in prices}


def test_the_default_is_the_newest_of_its_use_that_lives_a_year_longer_than_the_table() -> None:
    table = read_table()
    chat = chosen({})[0]
    alike = [
        model
        for model, use in table.uses.items()
        if use == table.uses[chat] and table.retires[model] - table.read > timedelta(days=365)
    ]
    assert chat == max(alike, key=lambda model: model.version)
