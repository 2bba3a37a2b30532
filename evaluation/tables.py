"""The tables of a report and of a comparison: rows of words, for the terminal and for the page."""

from collections.abc import Iterator, Sequence

from evaluation.comparing import Comparison, Difference
from evaluation.report import MEASURES, Group, Report

_KINDS = {"share": "{:.3f}", "score": "{:.2f}"}


def shown(measure: str, value: float | None) -> str:
    """A value of a measure, in its digits; a dash for none."""
    if value is None:
        return "–"
    return _KINDS.get(MEASURES[measure].kind, "{:.3g}" if abs(value) < 100 else "{:,.0f}").format(value)


def groups(report: Report) -> Iterator[tuple[str, list[tuple[str, Group]]]]:
    """The questions, all and by what they are grouped by, where there is more than one group."""
    yield "questions", [("all", report.overall)]
    for title, by_name in (("language", report.languages), ("category", report.categories)):
        if len(by_name) > 1:
            yield title, list(by_name.items())


def measured(report: Report) -> list[str]:
    """The measures that some question has."""
    return [name for name in MEASURES if name in report.overall.counts]


def facts(report: Report) -> Iterator[tuple[str, str]]:
    """What else is known of a run."""
    if report.seconds_median is not None and report.seconds_95 is not None:
        yield "seconds", f"half of the answers took less than {report.seconds_median:.2f}, 95 % {report.seconds_95:.2f}"
    for name, spent in report.models.items():
        cost = "" if spent.cost is None else f", cost {spent.cost:.4g}"
        yield (
            f"model {name}",
            f"{spent.answers:,} answers, {spent.tokens_read:,} tokens read, {spent.tokens_written:,} written{cost}",
        )
    for version, count in report.prompts.items():
        yield f"prompt {version}", f"{count:,} answers"
    yield from _of_judge(report)
    for problem, count in report.problems.items():
        yield "no answer", f"{count:,}: {problem}"
    if report.unknown_sources:
        yield "not in the index", ", ".join(report.unknown_sources)


def _of_judge(report: Report) -> Iterator[tuple[str, str]]:
    judge, spent = report.judge, report.judge_spent
    if not judge or not spent:
        return
    cost = "" if spent.cost is None else f", cost {spent.cost:.4g}"
    yield (
        f"judge {judge.version}",
        f"{judge.judgements:,} judgements, {spent.tokens_read:,} tokens read, {spent.tokens_written:,} written{cost}",
    )
    if judge.compared:
        kappa = "" if judge.kappa is None else f" (Cohen's kappa {judge.kappa:.2f})"
        yield "judge and known answers", f"agree on {judge.agreed:,} of {judge.compared:,} answers{kappa}"
    for reason, count in judge.unjudged.items():
        yield "not judged", f"{count:,}: {reason}"


def report_lines(report: Report) -> Iterator[str]:
    """A report for the terminal."""
    names = measured(report)
    for title, rows in groups(report):
        table = [[title, *(name for name, _ in rows)], ["questions", *(f"{group.questions:,}" for _, group in rows)]]
        table += [[MEASURES[name].label, *(shown(name, group.means.get(name)) for _, group in rows)] for name in names]
        yield from _aligned(table)
        yield ""
    for name, value in facts(report):
        yield f"{name}: {value}"


def difference_cells(difference: Difference) -> list[str]:
    """A difference: both values, the difference, its interval, and what it means."""
    name = difference.measure
    change = "{:+.3g}" if MEASURES[name].kind == "number" else "{:+.3f}"  # a cost is far below a thousandth
    return [
        MEASURES[name].label,
        f"{difference.questions:,}",
        shown(name, difference.first),
        shown(name, difference.second),
        change.format(difference.second - difference.first),
        f"{change.format(difference.low)} to {change.format(difference.high)}",
        verdict(difference),
    ]


def verdict(difference: Difference) -> str:
    """Whether a difference is one, and which way."""
    more_is_better = MEASURES[difference.measure].more_is_better
    if more_is_better is None or not difference.is_certain:
        return ""
    return "better" if (difference.low > 0) is more_is_better else "worse"


def worse(comparison: Comparison) -> list[str]:
    """Return what is worse in the second run, over all questions; not the time, which depends on the machine too."""
    return [
        MEASURES[one.measure].label
        for one in comparison.differences
        if not (one.language or one.category) and one.measure != "seconds" and verdict(one) == "worse"
    ]


DIFFERENCE_HEAD = ["measure", "questions", "first", "second", "difference", "95 % sure", ""]


def by_group(comparison: Comparison) -> dict[str, list[Difference]]:
    """The differences, first over all questions."""
    parts: dict[str, list[Difference]] = {}
    for difference in comparison.differences:
        kind = "language " if difference.language else "category " if difference.category else "all"
        parts.setdefault(f"{kind}{difference.language}{difference.category}", []).append(difference)
    return parts


def comparison_lines(comparison: Comparison) -> Iterator[str]:
    """A comparison for the terminal."""
    yield f"{comparison.first['report']} and {comparison.second['report']}: {comparison.shared:,} questions in common"
    if comparison.left_out:
        yield f"{comparison.left_out:,} questions are in one of them only, or asked otherwise"
    for part, differences in by_group(comparison).items():
        yield ""
        yield part
        yield from _aligned([DIFFERENCE_HEAD, *map(difference_cells, differences)])


def _aligned(rows: Sequence[Sequence[str]]) -> Iterator[str]:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        first, *others = (
            cell.ljust(width) if not place else cell.rjust(width)
            for place, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        yield "  ".join([first, *others]).rstrip()
