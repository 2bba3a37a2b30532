"""`python -m evaluation.fitting QUESTIONS=DATA_DIR=EMBEDDINGS …`: fit the weights of the built-in model anew.

Each argument names a file of questions, as `make eval` reads it, the `DATA_DIR` of an index of what they are about, and
what the index has its vectors from, such as `local`, or nothing. A question is asked as it is in the app, and what the
built-in model is given is kept. Two models are fitted then, each with a small penalty on its weights:

1. Which statement holds an accepted answer, among all of the question's: a conditional logit model.
2. Whether the quotes that are chosen so hold all that is asked, which questions that nothing answers never do: a
   logistic model.
"""

import asyncio
import sys
from collections.abc import AsyncGenerator, Callable
from pathlib import Path
from typing import NamedTuple

import msgspec
import numpy as np

from evaluation.measures import holds, uncited
from evaluation.questions import Question, read
from shared import parts
from shared.chat_models import ModelEvent, ModelRequest
from shared.chat_models.extractive import questions as queries
from shared.chat_models.extractive import relevance
from shared.chat_models.extractive.model import ExtractiveModel
from shared.chat_models.extractive.quotes import best_quotes, written
from shared.chat_models.extractive.statements import Statement
from shared.chat_types import Caller, RequestContext
from shared.runs.begin import Arrival, begin
from shared.settings import Settings
from shared.turns.accept import Asker, RouteOptions, accept
from shared.wire.request_body import Body
from shared.wire.table import PROTOCOLS

type Floats = np.ndarray[tuple[int, ...], np.dtype[np.float64]]

WEIGHTS = Path(relevance.__file__).with_name("weights.txt")
_SECONDS = 600
_PENALTIES = (0.005, 0.02)
"""Of the weights of a statement and of a decision, for features of a standard deviation of 1."""


class Case(NamedTuple):
    """A question with the statements of its sources, in the order of their features."""

    question: Question
    request: ModelRequest
    statements: list[Statement]
    features: list[dict[str, float]]
    asked: relevance.Asked


class Recorder(ExtractiveModel):
    """The built-in model, keeping what it is asked."""

    last: ModelRequest

    async def stream(self, request: ModelRequest, context: RequestContext) -> AsyncGenerator[ModelEvent]:
        """Keep the request, and answer it."""
        self.last = request
        async for event in super().stream(request, context):
            yield event


async def cases_of(file: Path, data: str, embeddings: str) -> list[Case]:
    """Ask the questions of a file about an index."""
    settings = Settings.read({"DATA_DIR": data, "EMBEDDINGS": embeddings})
    recorder = Recorder()
    service = msgspec.structs.replace(await asyncio.to_thread(parts.build_service, settings), model=recorder)
    wire = PROTOCOLS["ai-chat"]
    found: list[Case] = []
    for question in read(file):
        said = [*question.before, question.question]
        body = Body({"messages": [{"role": "user", "content": text} for text in said]})
        asker = Asker(caller=Caller(), budget_key="", invocation_id="")
        until = asyncio.get_running_loop().time() + _SECONDS
        options = RouteOptions()
        accepted = accept(wire, body, asker, settings, options)
        arrival = Arrival(asker=asker, until=until, options=options, protocol="ai-chat")
        await (await begin(service, _no_runs, accepted, arrival, body)).answer()
        statements = relevance.read_sources(recorder.last.sources)
        query = queries.standalone_query(said)
        asked = relevance.weighted(query, statements, recorder.last.rarities)
        if asked and statements:
            features = [*relevance.statement_features(query, statements, asked)]
            found.append(Case(question, recorder.last, statements, features, asked))
    return found


async def _no_runs() -> None:
    """Runs are not kept here."""


def fit_statements(cases: list[Case]) -> dict[str, float]:
    """Fit the weights of statements by what tells those that hold an answer from the others of the question."""
    groups: list[tuple[Floats, Floats]] = []
    for case in cases:
        right = [any(holds(one.text, fact) for fact in case.question.wanted) for one in case.statements]
        if any(right):
            groups.append((np.array([[*of.values()] for of in case.features]), np.array(right, float)))

    def slope(weights: Floats) -> Floats:
        total = np.zeros_like(weights)
        for features, right in groups:
            odds = np.exp((scores := features @ weights) - scores.max())
            total += features.T @ (odds * right / (odds @ right) - odds / odds.sum())
        return total / len(groups)

    scale = np.concatenate([features for features, _ in groups]).std(0) + 1e-9
    groups = [(features / scale, right) for features, right in groups]
    return dict(zip(cases[0].features[0], map(float, _climb(slope, scale, _PENALTIES[0]) / scale), strict=True))


def fit_decision(cases: list[Case]) -> dict[str, float]:
    """Fit the weights of a decision by whether the quotes hold all that is asked."""
    rows: list[dict[str, float]] = []
    right: list[bool] = []
    for case in cases:
        query = queries.standalone_query([*case.question.before, case.question.question])
        ranked = relevance.ranked(query, case.statements, case.request.rarities)
        text = uncited(written(best_quotes(ranked.statements)))
        rows.append({"sure": 1.0} | relevance.decision_features(ranked.statements, case.asked))
        right.append(bool(case.question.wanted) and all(holds(text, fact) for fact in case.question.wanted))
    features, target = np.array([[*row.values()] for row in rows]), np.array(right, float)
    scale = np.maximum(features.std(0), 1e-9)
    scale[0] = 1.0

    def slope(weights: Floats) -> Floats:
        return (features / scale).T @ (target - (1 + np.tanh((features / scale) @ weights / 2)) / 2) / len(target)

    penalty = np.where(np.arange(len(scale)), _PENALTIES[1], 0.0)  # the first is no feature's
    return dict(zip(rows[0], map(float, _climb(slope, scale, penalty) / scale), strict=True))


def _climb(slope: Callable[[Floats], Floats], like: Floats, penalty: Floats | float) -> Floats:
    """Find the weights at which a likelihood less the penalty is highest, by steps along its slope."""
    weights, speed = np.zeros_like(like), np.zeros_like(like)
    for _ in range(5_000):
        speed = 0.9 * speed + 0.05 * (slope(weights) - penalty * weights)
        weights = weights + speed
    return weights


def lines_with(fitted: dict[str, float]) -> list[str]:
    """The lines of the file of weights, with those that were fitted."""
    lines = WEIGHTS.read_text(encoding="utf-8").splitlines()
    names = [line.partition(": ")[0] for line in lines]
    return [f"{name}: {fitted[name]:.2f}" if name in fitted else line for name, line in zip(names, lines, strict=True)]


async def main(arguments: list[str]) -> None:
    """Fit the weights, and write them."""
    cases: list[Case] = []
    for argument in arguments:
        file, data, embeddings = argument.split("=")
        cases += await cases_of(Path(file), data, embeddings)
    fitted = fit_statements(cases)
    relevance.WEIGHTS.update(fitted)
    fitted |= fit_decision(cases)
    WEIGHTS.write_text("\n".join(lines_with(fitted)) + "\n", encoding="utf-8")
    print(f"{len(cases)} questions: {fitted}")


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1:]))
