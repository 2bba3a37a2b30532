"""The defaults of `make eval` fit what answers."""

import pytest

from evaluation.__main__ import command_parser, options_of


@pytest.mark.parametrize(
    ("model", "arguments", "expected"),
    [
        (None, [], (10, 4, 120)),
        ("http://127.0.0.1:8500/v1", [], (0, 1, 600)),
        ("http://127.0.0.1:8500/v1", ["--at-once", "3", "--depth", "5"], (5, 3, 600)),
        ("http://127.0.0.1:8500/v1", ["--base", "http://127.0.0.1:7071/api"], (10, 4, 120)),
    ],
)
def test_a_local_model_is_asked_one_question_after_the_other(
    monkeypatch: pytest.MonkeyPatch, model: str | None, arguments: list[str], expected: tuple[int, int, float]
) -> None:
    if model:
        monkeypatch.setenv("OPENAI_BASE_URL", model)
        monkeypatch.setenv("OPENAI_CHAT_MODEL", "qwen")
    parser = command_parser()
    options = options_of(parser, parser.parse_args(["--samples", *arguments]))
    assert (options.depth, options.at_once, options.timeout) == expected
