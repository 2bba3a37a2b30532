"""Conversations with the built-in model about the sample documents: new questions, and questions that refer back."""

from collections.abc import AsyncGenerator
from itertools import permutations
from pathlib import Path

import pytest
import pytest_asyncio

from local.folder import FoundFile, list_folder
from shared.chat_models.extractive.model import ExtractiveModel
from shared.chat_types import ChatRequest, Message, Passage, Role
from shared.core.source_images import SourceImages
from shared.core.turn import run_turn
from shared.documents.file_store import FileStore
from shared.events import TextDelta
from shared.reading.readers import READERS
from shared.retrieval import FileEntry
from shared.retrieval.sqlite.index import SqliteIndex
from shared.retrieval.sqlite.retriever import SqliteRetriever
from shared.runtime.late_imports import Late
from tests.chat_models.model_contract import CONTEXT
from tests.ingestion.split_here import split
from tests.reading.sources import read_pages

pytestmark = pytest.mark.asyncio(loop_scope="module")

SAMPLES = Path(__file__).parents[2] / "samples" / "documents"

VACATION = "How many vacation days do I get after five years?"
QUESTIONS = (
    VACATION,
    "Does the Standard plan cover eye exams?",
    "How long do I have to appeal a refused claim?",
    "Wie lange bekomme ich bei Krankheit Lohnfortzahlung?",
    "How many vacation days carry over to the next year?",
    "What is the wellness allowance?",
    "What is the premium of the Plus plan?",
    "When can I retire?",
    "What is the deductible?",
    "Wie lange ist die Elternzeit?",
    "Is there a bonus?",
    "Gibt es einen Bonus?",
    "How does enrolment work this year?",
    "Is it possible to buy vacation days?",
    "Do I lose vacation days if I do not use them?",
)


@pytest.fixture(scope="module")
def passages() -> dict[str, list[Passage]]:
    return {
        found.sourcefile: split(found.sourcefile, read_pages(found.path.read_bytes(), found.path.suffix))
        for found in list_folder(SAMPLES, [], READERS)
        if isinstance(found, FoundFile)
    }


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def samples(
    passages: dict[str, list[Passage]], tmp_path_factory: pytest.TempPathFactory
) -> AsyncGenerator[SqliteRetriever]:
    file = tmp_path_factory.mktemp("samples") / "index.sqlite"
    index = SqliteIndex(file)
    for sourcefile, parts in passages.items():
        await index.replace(FileEntry(sourcefile, "1", parts))
    await index.aclose()
    retriever = SqliteRetriever(file, None)
    yield retriever
    await retriever.aclose()


async def answered(samples: SqliteRetriever, *conversation: str) -> str:
    """The answer to a conversation of user and assistant messages by turns, the last one a question."""
    roles = (Role.USER, Role.ASSISTANT)
    request = ChatRequest(tuple(Message(roles[number % 2], text) for number, text in enumerate(conversation)))
    documents = FileStore(SAMPLES)
    images = SourceImages(Late(lambda: documents), Late(lambda: documents), "The model sees no images.")
    events = run_turn(request, CONTEXT, ExtractiveModel(), samples, images)
    return "".join([event.text async for event in events if isinstance(event, TextDelta)])


async def test_a_new_question_after_an_answer_is_answered_as_if_it_were_alone(samples: SqliteRetriever) -> None:
    alone = {question: await answered(samples, question) for question in QUESTIONS}
    assert len(set(alone.values())) > len(QUESTIONS) / 2  # else this would prove nothing
    others = {
        (before, question): text
        for before, question in permutations(QUESTIONS, 2)
        if (text := await answered(samples, before, alone[before], question)) != alone[question]
    }
    assert others == {}


@pytest.mark.parametrize(
    ("before", "question", "expected"),
    [
        (VACATION, "And can I carry them over?", "You can carry over up to five vacation days to the next year."),
        (VACATION, "How many can I buy?", "You can buy up to five extra vacation days a year."),
        (
            "Can I buy vacation days?",
            "What does it cost?",
            "Each bought day costs one twentieth of your monthly salary.",
        ),
        (
            "What is the premium of the Plus plan?",
            "With family?",
            "140 euros for an employee alone, and 330 euros with",
        ),
        ("What is the deductible of the Standard plan?", "Basic?", "Basic: 1,500; Standard: 750; Plus: 250."),
        (
            "What is the deductible of the Standard plan?",
            "Is it the same for families?",
            "Annual deductible for a family",
        ),
    ],
)
async def test_a_question_that_refers_back_is_answered_about_the_subject_before_it(
    samples: SqliteRetriever, before: str, question: str, expected: str
) -> None:
    answer = await answered(samples, before, await answered(samples, before), question)
    assert expected in answer
    assert answer != await answered(samples, question)


async def test_a_subject_alone_after_an_answer_about_another_is_not_answered_with_the_old_answer(
    samples: SqliteRetriever,
) -> None:
    before = await answered(samples, VACATION)
    assert "deductible" in await answered(samples, VACATION, before, "Deductible?")
