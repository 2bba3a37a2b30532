"""Asks the questions, some at a time, and measures each answer."""

import asyncio
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from evaluation import EvaluationError
from evaluation.answers import Answered, AnswersFile
from evaluation.backends import Backend, NoAnswer
from evaluation.judge import Judge, NoJudgement
from evaluation.measures import of_answer
from evaluation.prices import Prices
from evaluation.questions import Question

_MOST_FAILED = 10
"""Questions without an answer one after the other, after which a run stops."""
_SHOWN_LETTERS = 2_000
"""Of an answer and of a question, in the file of answers and in reports."""
_SHOWN_NAME = 300
_MOST_CITED = 50


@dataclass(frozen=True, slots=True)
class Asking:
    """How questions are asked."""

    backend: Backend
    """What answers."""
    judge: Judge | None
    """What judges the answers."""
    prices: Prices
    """Of tokens."""
    depth: int
    """Sources to find, where the answer is made from fewer; 0: those of the answer are enough."""

    async def answer(self, question: Question) -> Answered:
        """Ask a question and measure the answer."""
        shown = _shown(question)
        try:
            before = await self.backend.converse(question.before)
            reply = await self.backend.ask(question.question, before)
            ranking = reply.sources
            if question.sources and len(ranking) < self.depth:
                ranking = await self.backend.ranking(question.question, self.depth, before) or ranking
        except NoAnswer as problem:
            return Answered(shown, problem=str(problem))
        # Long texts take a while, and other answers' times are being taken.
        measures = await asyncio.to_thread(of_answer, question, reply, ranking)
        if (cost := self.prices.of(reply.model, reply.tokens)) is not None:
            measures["cost"] = cost
        judgement, unjudged, judge_tokens = None, "", (0, 0)
        if self.judge:
            try:
                judgement, judge_tokens = await self.judge.judge(question, reply)
                scores = {name: getattr(judgement, name).score for name in judgement.__struct_fields__}
                measures |= {name: float(score) for name, score in scores.items()}
            except NoJudgement as problem:
                unjudged = str(problem)
        return Answered(
            question=shown,
            measures=measures,
            text=reply.text[:_SHOWN_LETTERS],
            found=tuple(source.name[:_SHOWN_NAME] for source in ranking),
            cited=tuple(name[:_SHOWN_NAME] for name in reply.cited[:_MOST_CITED]),
            model=reply.model[:_SHOWN_NAME],
            prompt=reply.prompt[:_SHOWN_NAME],
            judgement=judgement,
            unjudged=unjudged,
            judge_tokens=judge_tokens,
        )


async def ask_all(
    questions: Iterable[Question], asking: Asking, answers: AnswersFile, at_once: int, advance: Callable[[], object]
) -> None:
    """Ask all questions that have no answer yet, and write the answers in the order of the questions.

    The first is asked alone: a backend that is down or misspelt is known before the others are asked.

    Raises:
        EvaluationError: the first question, or ten one after the other, got no answer.
    """
    waiting: deque[asyncio.Task[Answered]] = deque()
    failed = 0

    async def write_next() -> None:
        nonlocal failed
        answered = await waiting[0]
        waiting.popleft()
        answers.append(answered)
        advance()
        failed = failed + 1 if answered.problem else 0
        if failed and (failed == _MOST_FAILED or is_first):
            count = "The first question" if is_first else f"{failed} questions, one after the other,"
            raise EvaluationError(f"{count} got no answer from the backend: {answered.problem}.")

    is_first = True
    try:
        for question in questions:
            if question.id in answers.done:
                advance()
                continue
            waiting.append(asyncio.create_task(asking.answer(question)))
            if is_first or len(waiting) == at_once:
                await write_next()
            is_first = False
        while waiting:
            await write_next()
    finally:
        for task in waiting:
            task.cancel()
        await asyncio.gather(*waiting, return_exceptions=True)


def _shown(question: Question) -> Question:
    """What is kept of a question: a line of the file may have a million bytes."""
    return Question(
        id=question.id,
        question=question.question[:_SHOWN_LETTERS],
        answers=tuple(text[:_SHOWN_NAME] for text in question.answers[:10]),
        facts=tuple(tuple(text[:_SHOWN_NAME] for text in fact[:10]) for fact in question.facts[:10]),
        before=tuple(text[:_SHOWN_LETTERS] for text in question.before[-10:]),
        sources=tuple(text[:_SHOWN_NAME] for text in question.sources[:10]),
        language=question.language[:_SHOWN_NAME],
        category=question.category[:_SHOWN_NAME],
        silent=question.silent,
    )
