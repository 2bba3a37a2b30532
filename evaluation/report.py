"""The report of a run: sums over its answers, one at a time, and the JSON that other runs are compared with."""

import heapq
from array import array
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import msgspec
import numpy as np

from evaluation import EvaluationError
from evaluation.answers import Answered
from evaluation.judge import PASSES
from evaluation.prices import Prices

FORMAT = 1
"""Of the JSON; another one cannot be compared."""
_WORST = 10
MOST_GROUPS = 100
_OTHER = "(others)"
_NONE = "(none)"


@dataclass(frozen=True, slots=True)
class Measure:
    """How a measure is shown."""

    label: str
    """In tables."""
    meaning: str
    """In a sentence."""
    kind: str = "share"
    """`share` of 0 to 1, `score` of 1 to 5, or a `number`."""
    more_is_better: bool | None = True
    """Whether a higher value is a better one; None: neither is."""


MEASURES = {
    "hit@1": Measure("hit@1", "the first source that is found is a right one"),
    "hit@3": Measure("hit@3", "one of the first three is"),
    "hit@10": Measure("hit@10", "one of the first ten is"),
    "mrr@10": Measure("MRR", "1 divided by the rank of the first right source, 0 below the tenth"),
    "ndcg@10": Measure("nDCG", "how near the order of the first ten is to the best one"),
    "in_prompt": Measure("gold in the prompt", "the right sources that the model is shown hold what has to be said"),
    "answer_recall": Measure("answer recall", "the answer has a known answer in it, or all facts"),
    "said_early": Measure("said within 90 words", "it has them among its first 90 words"),
    "claimed": Measure(
        "claimed though not there", "it states something, and none of what is known", more_is_better=False
    ),
    "citation_precision": Measure("citation precision", "the share of the cited sources that hold the answer"),
    "cites": Measure("cites", "an answer that states something cites a source that was found"),
    "unverified": Measure("unverified citations", "it cites a file that was not found", more_is_better=False),
    "silent_refused": Measure("refuses where silent", "it says that it does not know what the documents do not say"),
    "refused": Measure("refuses where not", "it says so of what they do say", more_is_better=False),
    "markup": Measure("markup", "it has tags, comments or front matter in it", more_is_better=False),
    "words": Measure("words (median)", "of an answer", "number", more_is_better=None),
    "language_kept": Measure("language kept", "it is in the language of the question"),
    "groundedness": Measure("groundedness", "the judge: the sources say what the answer says", "score"),
    "relevance": Measure("relevance", "the judge: it is what was asked", "score"),
    "completeness": Measure("completeness", "the judge: it is all that the sources say", "score"),
    "seconds": Measure("seconds", "until the answer was complete", "number", more_is_better=False),
    "question_tokens": Measure(
        "tokens of a question", "of the prompt, one per four bytes", "number", more_is_better=False
    ),
    "prompt_tokens": Measure("tokens read", "by the model", "number", more_is_better=False),
    "completion_tokens": Measure("tokens written", "by the model", "number", more_is_better=False),
    "cost": Measure("cost", "of an answer, in the currency of the prices", "number", more_is_better=False),
    "sources": Measure("sources", "that were found", "number", more_is_better=None),
}
"""In the order of the report."""
_GOODNESS = ("mrr@10", "answer_recall", "citation_precision", "silent_refused", "language_kept")
"""What the worst questions are chosen by: the mean of those that were measured."""


class Group(msgspec.Struct):
    """The means over some questions."""

    questions: int = 0
    """How many."""
    means: dict[str, float] = {}
    """By measure."""
    counts: dict[str, int] = {}
    """How many questions each is a mean of."""

    def add(self, measures: dict[str, float]) -> None:
        """Take in a question."""
        self.questions += 1
        for name, value in measures.items():
            count = self.counts[name] = self.counts.get(name, 0) + 1
            mean = self.means.get(name, 0.0)
            self.means[name] = mean + (value - mean) / count


class Spent(msgspec.Struct):
    """What a model took."""

    answers: int = 0
    """Or judgements."""
    tokens_read: int = 0
    """In all."""
    tokens_written: int = 0
    """In all."""
    cost: float | None = None
    """In all; None: no price is known."""


class Judged(msgspec.Struct):
    """How the judge did."""

    version: str
    """Of its instructions."""
    judgements: int = 0
    """How many there are."""
    unjudged: dict[str, int] = {}
    """Why there are none of the other answers, with the number of them."""
    compared: int = 0
    """Judged answers to questions with a known answer, or to which the documents say nothing."""
    agreed: int = 0
    """Those that are complete for the judge and hold a known answer, or say that they do not know; or neither."""
    kappa: float | None = None
    """Cohen's: 1 for full agreement, 0 for that of chance; None: one of both always says the same."""


class Row(msgspec.Struct, frozen=True):
    """A question's measures, for a comparison."""

    id: str
    """The question's."""
    question: str
    """Its beginning: a comparison leaves out questions that have changed."""
    language: str
    """Of the question."""
    measures: dict[str, float]
    """By name."""
    category: str = ""
    """Of the question."""


class Report(msgspec.Struct, kw_only=True):
    """The report, without its rows."""

    format: int = FORMAT
    """Of the JSON."""
    made: str
    """When, in UTC."""
    configuration: dict[str, str]
    """What was measured, and how."""
    overall: Group
    """All questions."""
    languages: dict[str, Group]
    """By language."""
    categories: dict[str, Group]
    """By category."""
    seconds_median: float | None
    """Half of the answers took less."""
    seconds_95: float | None
    """95 of 100 answers took less."""
    models: dict[str, Spent]
    """What answered, by name."""
    prompts: dict[str, int]
    """Answers by the version of their prompt."""
    judge: Judged | None
    """The judge, if there was one."""
    judge_spent: Spent | None
    """What judging took."""
    problems: dict[str, int]
    """Why questions got no answer, with the number of them."""
    unknown_sources: list[str]
    """Sources that questions name and that the index does not have."""
    worst: list[Answered]
    """The questions with the worst answers."""


@dataclass(slots=True)
class Tally:
    """What is added up over some questions."""

    sums: Group = field(default_factory=Group)
    words: array[float] = field(default_factory=lambda: array("d"))
    """Of each answer."""

    def add(self, measures: dict[str, float]) -> None:
        """Take in a question."""
        self.sums.add(measures)
        if "words" in measures:
            self.words.append(measures["words"])

    @property
    def group(self) -> Group:
        """The means, but of the words the median: one long answer says little of the others."""
        if self.words:
            self.sums.means["words"] = float(np.median(np.frombuffer(self.words)))
        return self.sums


@dataclass(slots=True)
class Sums:
    """What is added up over the answers; its size does not grow with them, but for one number each."""

    prices: Prices
    """Of tokens."""
    overall: Tally = field(default_factory=Tally)
    languages: dict[str, Tally] = field(default_factory=dict[str, Tally])
    categories: dict[str, Tally] = field(default_factory=dict[str, Tally])
    seconds: array[float] = field(default_factory=lambda: array("d"))
    models: dict[str, Spent] = field(default_factory=dict[str, Spent])
    prompts: Counter[str] = field(default_factory=Counter[str])
    problems: Counter[str] = field(default_factory=Counter[str])
    unjudged: Counter[str] = field(default_factory=Counter[str])
    judging: Spent = field(default_factory=Spent)
    verdicts: Counter[tuple[bool, bool]] = field(default_factory=Counter[tuple[bool, bool]])
    """Whether the judge finds the answer complete, and whether it holds what is known, or rightly says nothing."""
    worst: list[tuple[float, int, Answered]] = field(default_factory=list[tuple[float, int, Answered]])

    def add(self, answered: Answered) -> None:
        """Take in an answer."""
        question, measures = answered.question, answered.measures
        entry = (-goodness(answered), -self.overall.sums.questions, answered)
        if len(self.worst) < _WORST:
            heapq.heappush(self.worst, entry)
        else:
            heapq.heappushpop(self.worst, entry)
        _entry(self.languages, question.language, Tally).add(measures)
        _entry(self.categories, question.category, Tally).add(measures)
        self.overall.add(measures)
        if answered.problem:
            self.problems[answered.problem] += 1
            return
        self.seconds.append(measures["seconds"])
        spent = _entry(self.models, answered.model, Spent)
        spent.answers += 1
        spent.tokens_read += int(measures.get("prompt_tokens", 0))
        spent.tokens_written += int(measures.get("completion_tokens", 0))
        if "cost" in measures:
            spent.cost = (spent.cost or 0.0) + measures["cost"]
        if answered.prompt:
            self.prompts[answered.prompt] += 1
        self._judged(answered)

    def _judged(self, answered: Answered) -> None:
        if answered.unjudged:
            self.unjudged[answered.unjudged] += 1
        if answered.judgement:
            self.judging.answers += 1
            self.judging.tokens_read += answered.judge_tokens[0]
            self.judging.tokens_written += answered.judge_tokens[1]
            known = answered.measures.get("answer_recall", answered.measures.get("silent_refused"))
            if known is not None:
                complete = answered.judgement.completeness.score >= PASSES
                self.verdicts[complete, known == 1] += 1

    def judged(self, version: str) -> Judged:
        """How the judge did."""
        both, compared = self.verdicts, self.verdicts.total()
        agreed = both[True, True] + both[False, False]
        return Judged(version, self.judging.answers, dict(self.unjudged), compared, agreed, _kappa(both))


def goodness(answered: Answered) -> float:
    """How good an answer is, 0 to 1; -1 for none."""
    if answered.problem:
        return -1.0
    found = [value for name in _GOODNESS if (value := answered.measures.get(name)) is not None]
    found += [1 - answered.measures["unverified"]]
    return sum(found) / len(found)


def seconds_of(sums: Sums) -> tuple[float, float] | None:
    """The median and the 95th percentile of the times."""
    if not sums.seconds:
        return None
    median, most = np.quantile(np.frombuffer(sums.seconds), (0.5, 0.95)).tolist()
    return median, most


def _entry[T](groups: dict[str, T], name: str, new: type[T]) -> T:
    name = name or _NONE
    if name not in groups and len(groups) >= MOST_GROUPS:
        name = _OTHER
    if name not in groups:
        groups[name] = new()
    return groups[name]


def _kappa(verdicts: Counter[tuple[bool, bool]]) -> float | None:
    """Cohen's kappa of two who say yes or no."""
    total = verdicts.total()
    if not total:
        return None
    judge = (verdicts[True, True] + verdicts[True, False]) / total
    known = (verdicts[True, True] + verdicts[False, True]) / total
    by_chance = judge * known + (1 - judge) * (1 - known)
    agreed = (verdicts[True, True] + verdicts[False, False]) / total
    return (agreed - by_chance) / (1 - by_chance) if by_chance < 1 else None


def write(report: Report, answers: Iterable[Answered], path: Path) -> None:
    """Write the JSON: the report, and then a line for each question."""
    head = msgspec.json.format(msgspec.json.encode(report), indent=1).decode()
    fresh = path.with_name(f"{path.name}.new")
    with fresh.open("w", encoding="utf-8") as file:
        file.write(f'{head.rstrip().removesuffix("}").rstrip()},\n "questions": [')
        for number, row in enumerate(map(row_of, answers)):
            file.write(f"{',' if number else ''}\n  {msgspec.json.encode(row).decode()}")
        file.write("\n ]\n}\n")
    fresh.replace(path)


def row_of(answered: Answered) -> Row:
    """What a comparison needs of an answer."""
    question = answered.question
    return Row(question.id, question.question[:80], question.language, answered.measures, question.category)


class Rows(msgspec.Struct):
    """The part of the JSON that a comparison reads; it yields its questions one at a time."""

    format: int
    """As written."""
    made: str
    """When."""
    configuration: dict[str, str]
    """What was measured."""
    questions: list[msgspec.Raw]
    """All of them, in JSON: read at once they would take ten times the memory."""

    def __iter__(self) -> Iterator[Row]:
        return (msgspec.json.decode(one, type=Row) for one in self.questions)


def read_rows(path: Path) -> Rows:
    """Read a report's JSON.

    Raises:
        EvaluationError: it is none.
    """
    try:
        rows = msgspec.json.decode(path.read_bytes(), type=Rows)
        for _ in rows:
            pass
    except OSError as fault:
        raise EvaluationError(f"{path} cannot be read: {fault.strerror}.") from fault
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        raise EvaluationError(f"{path} is no report of `make eval` in JSON.") from None
    if rows.format != FORMAT:
        raise EvaluationError(f"{path} is a report of another version; measure again.")
    return rows
