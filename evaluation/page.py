"""The report and the comparison as a page of HTML that needs nothing else, and in which every text is escaped."""

from collections.abc import Iterable, Sequence
from html import escape

from evaluation.answers import Answered
from evaluation.comparing import Comparison
from evaluation.report import MEASURES, Group, Report, goodness
from evaluation.tables import DIFFERENCE_HEAD, by_group, difference_cells, facts, groups, measured, shown, verdict

_STYLE = """
:root { color-scheme: light dark; --line: #8884; --bar: #3b82f633; --good: #16a34a; --bad: #dc2626; }
body { font: 15px/1.5 system-ui, sans-serif; max-width: 76rem; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.6rem; } h2 { font-size: 1.15rem; margin-top: 2rem; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
th, td { padding: .25rem .7rem; border-bottom: 1px solid var(--line); text-align: right; white-space: nowrap; }
th:first-child, td:first-child { text-align: left; position: sticky; left: 0; background: Canvas; }
.facts td, .words { text-align: left; white-space: normal; overflow-wrap: anywhere; }
.words { opacity: .75; min-width: 14rem; }
.bar { background: linear-gradient(to right, var(--bar) var(--part), transparent var(--part)); }
.better { color: var(--good); font-weight: 600; } .worse { color: var(--bad); font-weight: 600; }
article { border: 1px solid var(--line); border-radius: .5rem; padding: .6rem 1rem; margin: .8rem 0; }
article h3 { font-size: 1rem; margin: .2rem 0; overflow-wrap: anywhere; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .15rem 1rem; margin: .3rem 0; }
dt { opacity: .65; } dd { margin: 0; overflow-wrap: anywhere; white-space: pre-wrap; }
small { opacity: .7; }
"""


def report_page(report: Report) -> str:
    """The page of a report."""
    names = measured(report)
    parts = [
        f"<h1>Evaluation of {report.overall.questions:,} questions</h1><p><small>{escape(report.made)}</small></p>",
        _explained(report.overall, names),
        *(_groups(title, rows, names) for title, rows in groups(report) if len(rows) > 1),
        "<h2>Time, tokens, checks</h2>",
        _facts(facts(report)),
        "<h2>What was measured</h2>",
        _facts(report.configuration.items()),
        f"<h2>The {len(report.worst)} worst answers</h2>",
        *map(_worst, report.worst),
    ]
    return _page("Evaluation", parts)


def comparison_page(comparison: Comparison) -> str:
    """The page of a comparison."""
    left_out = f"; {comparison.left_out:,} are in one run only, or asked otherwise" if comparison.left_out else ""
    explained = (
        "With 95 % confidence the true difference, second minus first, is in the interval (paired bootstrap, the same "
        "each time); where that leaves out 0, the last column says which way."
    )
    parts = [f"<h1>Two runs</h1><p>{comparison.shared:,} questions in common{left_out}. {explained}</p>"]
    for part, differences in by_group(comparison).items():
        rows = [
            _row(difference_cells(one), "td", ["", "", "", "", "", "", f' class="{verdict(one)}"'])
            for one in differences
        ]
        parts += [f"<h2>{escape(part)}</h2>", _table([_row(DIFFERENCE_HEAD, "th"), *rows])]
    keys = dict.fromkeys([*comparison.first, *comparison.second])
    rows = [_row([key, comparison.first.get(key, "–"), comparison.second.get(key, "–")], "td") for key in keys]
    parts += ["<h2>What was measured</h2>", _table([_row(["", "first", "second"], "th"), *rows], "facts")]
    return _page("Comparison", parts)


def _page(title: str, parts: Iterable[str]) -> str:
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\n"
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(title)}</title>\n<style>{_STYLE}</style>\n</head>\n<body>\n"
        + "\n".join(parts)
        + "\n</body>\n</html>\n"
    )


def _groups(title: str, rows: Sequence[tuple[str, Group]], names: Sequence[str]) -> str:
    """A table with a line for each measure and a column for each group."""
    head = _row(["measure", *(f"{name} ({group.questions:,})" for name, group in rows)], "th")
    lines = [
        _row(
            [MEASURES[name].label, *(shown(name, group.means.get(name)) for _, group in rows)],
            "td",
            ["", *(_bar(name, group.means.get(name)) for _, group in rows)],
        )
        for name in names
    ]
    return f"<h2>By {escape(title)}</h2>\n{_table([head, *lines])}"


def _explained(group: Group, names: Sequence[str]) -> str:
    """The table of all questions, with what each measure is."""
    lines = [
        _row(
            [MEASURES[name].label, shown(name, group.means[name]), f"{group.counts[name]:,}", _meaning(name)],
            "td",
            ["", _bar(name, group.means[name]), "", ' class="words"'],
        )
        for name in names
    ]
    return _table([_row(["measure", "mean", "of questions", ""], "th"), *lines])


def _bar(name: str, value: float | None) -> str:
    whole = {"share": 1, "score": 5}.get(MEASURES[name].kind)
    if whole is None or value is None:
        return ""
    return f' class="bar" style="--part: {100 * value / whole:.0f}%"'


def _table(rows: Iterable[str], kind: str = "") -> str:
    return f'<div class="wide"><table class="{kind}">\n{"\n".join(rows)}\n</table></div>'


def _row(cells: Sequence[str], tag: str, attributes: Sequence[str] = ()) -> str:
    """A row of cells; the attributes are ours, the texts are escaped."""
    more = attributes or [""] * len(cells)
    inner = (f"<{tag}{attribute}>{escape(cell)}</{tag}>" for cell, attribute in zip(cells, more, strict=True))
    return f"<tr>{''.join(inner)}</tr>"


def _facts(pairs: Iterable[tuple[str, str]]) -> str:
    return _table((_row(pair, "td") for pair in pairs), "facts")


def _meaning(name: str) -> str:
    return MEASURES[name].meaning + ("; less is better" if MEASURES[name].more_is_better is False else "")


def _worst(answered: Answered) -> str:
    question = answered.question
    silent = "nothing: the documents are silent" if question.silent else ""
    entries = {
        "known": "; ".join(" / ".join(fact) for fact in question.wanted) or silent,
        "before": " / ".join(question.before),
        "wanted": ", ".join(question.sources),
        "found": ", ".join(answered.found),
        "cited": ", ".join(answered.cited),
        "answer": answered.text,
        "no answer": answered.problem,
        "measures": ", ".join(
            f"{MEASURES[name].label} {shown(name, answered.measures[name])}"
            for name in MEASURES
            if name in answered.measures
        ),
    }
    if judgement := answered.judgement:
        for name in judgement.__struct_fields__:
            score = getattr(judgement, name)
            entries[f"judge: {name}"] = f"{score.score}: {score.reason}"
    entries["not judged"] = answered.unjudged
    lines = "".join(f"<dt>{escape(name)}</dt><dd>{escape(text)}</dd>" for name, text in entries.items() if text)
    about = " · ".join(filter(None, (question.id, question.language, question.category)))
    place = "" if answered.problem else f" · {goodness(answered):.2f}"
    return (
        f"<article><small>{escape(about)}{place}</small><h3>{escape(question.question)}</h3><dl>{lines}</dl></article>"
    )
