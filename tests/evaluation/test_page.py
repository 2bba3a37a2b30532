"""The page of a report: whatever a question or an answer says, it is text there, and the page needs nothing else."""

from html.parser import HTMLParser
from pathlib import Path

from evaluation.answers import Answered
from evaluation.comparing import Comparison, Difference
from evaluation.judge import Judgement, Score
from evaluation.page import comparison_page, report_page
from evaluation.questions import Question
from evaluation.report import Group, Report, read_rows, write

HOSTILE = "<script>alert(1)</script><img src=x onerror=alert(1)> & \"'</dd>"


def report() -> Report:
    measures = {"seconds": 1.0, "unverified": 0.0, "hit@1": 0.5, "groundedness": 4.0, "sources": 1.0}
    group = Group()
    group.add(measures)
    score = Score(HOSTILE, 4)
    worst = Answered(
        Question(HOSTILE, HOSTILE, (HOSTILE,), (HOSTILE,), HOSTILE, HOSTILE),
        measures,
        text=HOSTILE,
        found=(HOSTILE,),
        cited=(HOSTILE,),
        judgement=Judgement(score, score, score),
        unjudged=HOSTILE,
        problem=HOSTILE,
    )
    return Report(
        made="2026-11-22T17:00:00+00:00",
        configuration={HOSTILE: HOSTILE},
        overall=group,
        languages={HOSTILE: group, "en": group},
        categories={"": group},
        seconds_median=1.0,
        seconds_95=2.0,
        models={},
        prompts={HOSTILE: 1},
        judge=None,
        judge_spent=None,
        problems={HOSTILE: 1},
        unknown_sources=[HOSTILE],
        worst=[worst],
    )


class Seen(HTMLParser):
    """The tags, attributes and texts of a page."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags = set[str]()
        self.attributes = set[str]()
        self.texts: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes |= {name for name, _ in attrs}

    def handle_data(self, data: str) -> None:
        self.texts.append(data)


TAGS = {
    *("html", "head", "meta", "title", "style", "body", "h1", "h2", "h3", "p", "small", "div", "article"),
    *("table", "tr", "th", "td", "dl", "dt", "dd"),
}
ATTRIBUTES = {"lang", "charset", "http-equiv", "content", "name", "class", "style"}


def test_a_report_holds_hostile_words_as_text_and_loads_nothing() -> None:
    page = report_page(report())
    seen = Seen(page)
    assert seen.tags <= TAGS
    assert seen.attributes <= ATTRIBUTES
    assert seen.texts.count(HOSTILE) >= 10
    assert "default-src 'none'" in page
    assert "url(" not in page


def test_a_comparison_holds_hostile_words_as_text() -> None:
    difference = Difference("hit@1", HOSTILE, 2, 0.5, 0.7, 0.1, 0.3)
    seen = Seen(comparison_page(Comparison({"report": HOSTILE}, {HOSTILE: "b"}, 2, 0, [difference])))
    assert seen.tags <= TAGS
    assert seen.attributes <= ATTRIBUTES
    assert (seen.texts.count(HOSTILE), seen.texts.count(f"language {HOSTILE}")) == (2, 1)
    assert "better" in seen.texts


def test_the_json_of_a_report_is_read_again(tmp_path: Path) -> None:
    path = tmp_path / "report.json"
    write(report(), report().worst * 2, path)
    rows = read_rows(path)
    assert [row.id for row in rows] == [HOSTILE, HOSTILE]
    assert rows.configuration == {HOSTILE: HOSTILE}
    write(report(), [], path)
    assert read_rows(path).questions == []
