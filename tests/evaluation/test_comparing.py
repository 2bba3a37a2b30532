"""Two reports compared; the interval as SciPy's bootstrap finds it."""

import json
from pathlib import Path

import numpy as np
import pytest

from evaluation import EvaluationError
from evaluation.comparing import Difference, compare, interval
from evaluation.report import FORMAT, Tally, read_rows
from evaluation.tables import comparison_lines, difference_cells, worse


def report(
    path: Path, values: dict[str, float], language: str = "en", question: str = "How many?", measure: str = "hit@1"
) -> Path:
    rows = [
        {"id": name, "question": question, "language": language, "measures": {measure: value}}
        for name, value in values.items()
    ]
    path.write_text(json.dumps({"format": FORMAT, "made": "now", "configuration": {}, "questions": rows}))
    return path


def values(seed: int, share: float, count: int = 200) -> dict[str, float]:
    drawn = np.random.default_rng(seed).random(count) < share
    return {str(number): float(one) for number, one in enumerate(drawn.tolist())}


RANDOM = np.random.default_rng(1)
DRAWN = {
    "hits": RANDOM.integers(-1, 2, 300).astype(float),
    "seconds": RANDOM.normal(0.3, 2, 300),
    "with outliers": RANDOM.lognormal(0, 2, 1_000),
}
OF_SCIPY = {"hits": (-0.0533, 0.1333), "seconds": (-0.0368, 0.3836), "with outliers": (5.6301, 13.2102)}
"""The intervals as SciPy finds them."""


def near(low: float, high: float) -> object:
    """What differs from an interval by no more than the draws of a bootstrap do."""
    return pytest.approx((low, high), abs=0.05 * (high - low))


@pytest.mark.parametrize("kind", DRAWN)
def test_the_interval_is_that_of_scipy(kind: str) -> None:
    ours = interval(DRAWN[kind])
    assert ours == near(*OF_SCIPY[kind])
    assert ours == interval(DRAWN[kind])


@pytest.mark.nightly
@pytest.mark.parametrize("kind", DRAWN)
def test_scipy_finds_the_intervals_on_record(kind: str) -> None:
    from scipy.stats import bootstrap  # a second or two, which no other test should wait for

    random = np.random.default_rng(1)
    found = bootstrap((DRAWN[kind],), np.mean, method="percentile", n_resamples=20_000, rng=random).confidence_interval
    assert (found.low, found.high) == near(*OF_SCIPY[kind])


def test_a_better_run_is_called_better_and_an_equal_one_nothing(tmp_path: Path) -> None:
    first, second = report(tmp_path / "a.json", values(1, 0.5)), report(tmp_path / "b.json", values(2, 0.9))
    (difference,) = compare(first, second).differences
    assert difference.is_certain
    assert difference.low > 0
    (same,) = compare(first, first).differences
    assert (same.low, same.high, same.is_certain) == (0, 0, False)


@pytest.mark.parametrize(
    ("measure", "of_less", "of_more"),
    [
        ("hit@1", ["hit@1"], []),
        ("refused", [], ["refuses where not"]),
        ("cost", [], ["cost"]),
        ("seconds", [], []),
        ("sources", [], []),
    ],
)
def test_what_is_worse_is_named_but_not_what_may_be_chance_or_the_machine(
    tmp_path: Path, measure: str, of_less: list[str], of_more: list[str]
) -> None:
    more, less = (report(tmp_path / f"{share}.json", values(1, share), measure=measure) for share in (0.9, 0.4))
    assert worse(compare(more, less)) == of_less
    assert worse(compare(less, more)) == of_more
    one, other = (report(tmp_path / f"{seed}.json", values(seed, 0.5), measure=measure) for seed in (1, 3))
    assert worse(compare(one, other)) == worse(compare(other, one)) == []


def test_languages_are_compared_each_by_itself_and_what_one_run_did_not_measure_is_left_out(tmp_path: Path) -> None:
    def write(name: str, rows: list[tuple[str, str, dict[str, float]]]) -> Path:
        written = [{"id": one, "question": "?", "language": tag, "measures": measures} for one, tag, measures in rows]
        path = tmp_path / name
        path.write_text(json.dumps({"format": FORMAT, "made": "now", "configuration": {}, "questions": written}))
        return path

    first = write("a.json", [("a", "de", {"hit@1": 1}), ("b", "el", {"hit@1": 0}), ("c", "el", {"hit@1": 1})])
    second = write("b.json", [("c", "el", {"seconds": 2}), ("b", "el", {"hit@1": 1}), ("a", "de", {"hit@1": 1})])
    found = [
        (one.language, one.measure, one.questions, one.first, one.second) for one in compare(first, second).differences
    ]
    assert found == [("", "hit@1", 2, 0.5, 1), ("de", "hit@1", 1, 1, 1), ("el", "hit@1", 1, 0, 1)]


def test_categories_are_compared_each_by_itself_and_do_not_fail_a_pipeline(tmp_path: Path) -> None:
    def write(name: str, value: float) -> Path:
        written = [
            {"id": f"{number}", "question": "?", "language": "", "category": kind, "measures": {"said_early": said}}
            for number, (kind, said) in enumerate([("table", 1.0)] * 9 + [("list", value)])
        ]
        path = tmp_path / name
        path.write_text(json.dumps({"format": FORMAT, "made": "now", "configuration": {}, "questions": written}))
        return path

    comparison = compare(write("a.json", 1), write("b.json", 0))
    found = [(one.category, one.questions, one.second) for one in comparison.differences]
    assert found == [("", 10, 0.9), ("list", 1, 0), ("table", 9, 1)]
    assert worse(comparison) == []
    assert "category list" in [*comparison_lines(comparison)]


def test_of_words_a_report_has_the_median() -> None:
    tally = Tally()
    for words in (10, 20, 600):
        tally.add({"words": words, "seconds": words})
    assert tally.group.means == {"words": 20, "seconds": 210}


def test_only_questions_that_both_have_and_that_are_the_same_are_compared(tmp_path: Path) -> None:
    first = report(tmp_path / "a.json", {"a": 1, "b": 0, "c": 1})
    second = report(tmp_path / "b.json", {"b": 1, "c": 1, "d": 0})
    compared = compare(first, second)
    assert (compared.shared, compared.left_out) == (2, 2)
    assert compared.differences[0].questions == 2
    with pytest.raises(EvaluationError, match="no question in common"):
        compare(first, report(tmp_path / "c.json", {"a": 1}, question="What else?"))


OTHER_ROWS = '{"format": 1, "made": "now", "configuration": {}, "questions": [{"id": 1}]}'


@pytest.mark.parametrize("content", ["", "[]", "{}", '{"format": 1}', "<html>", "\xff", OTHER_ROWS])
def test_what_is_no_report_is_named(tmp_path: Path, content: str) -> None:
    path = tmp_path / "a.json"
    path.write_bytes(content.encode("latin-1"))
    with pytest.raises(EvaluationError, match=r"a\.json is no report"):
        read_rows(path)


def test_a_report_of_another_version_and_a_missing_one_are_named(tmp_path: Path) -> None:
    path = report(tmp_path / "a.json", {"a": 1})
    path.write_text(path.read_text().replace(f'"format": {FORMAT}', '"format": 99'))
    with pytest.raises(EvaluationError, match="another version"):
        read_rows(path)
    with pytest.raises(EvaluationError, match="cannot be read"):
        read_rows(tmp_path / "none.json")


def test_a_difference_of_a_thousandth_of_a_cent_is_not_shown_as_none() -> None:
    shown = difference_cells(Difference("cost", "", 60, 0.00125, 0.00124, -0.0000111, -0.0000076))
    assert shown[4:] == ["-1e-05", "-1.11e-05 to -7.6e-06", "better"]
