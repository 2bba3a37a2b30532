"""The command as it is run, on a backend by its URL, and on the app with the sample documents."""

import asyncio
import json
import os
import signal
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from tests.evaluation.backend import ChatBackend, answer_ai_chat, raw
from tests.local.fork_server import REPOSITORY, ForkServer
from tests.stand_ins.openai_service import OpenAIStandIn

pytestmark = pytest.mark.timeout(300)

COMMANDS = ForkServer(
    sys.executable, modules=("evaluation.measuring", "evaluation.comparing", "evaluation.page", "evaluation.served")
)
INHERITED = {name: os.environ[name] for name in ("HOME", "LANG", "PATH", "TMPDIR") if name in os.environ}


class Command:
    """The command in a folder of a test's own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.questions = folder / "questions.jsonl"

    def write(self, count: int = 4, **keys: object) -> None:
        """Write questions whose answer is 30, and which the first source of `ChatBackend` answers."""
        lines = [
            {"id": str(n), "question": f"Number {n}?", "answers": ["30"], "sources": ["file0: a.md"], **keys}
            for n in range(count)
        ]
        self.questions.write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")

    async def start(self, *arguments: str, env: Mapping[str, str] | None = None) -> asyncio.subprocess.Process:
        return await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "evaluation", "--out", str(self.folder / "report"), *arguments),
            cwd=REPOSITORY,
            env=INHERITED | dict(env or {}),
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
        )

    async def run(self, *arguments: str, env: Mapping[str, str] | None = None) -> tuple[int | None, str]:
        """Run it to its end; return the exit code and what it printed."""
        more = INHERITED | dict(env or {})
        report = ("--out", self.folder / "report")
        done = await asyncio.to_thread(
            COMMANDS.run, "evaluation", *report, *arguments, env=more, folder=REPOSITORY, seconds=120
        )
        return done.returncode, done.stdout + done.stderr

    async def ask(self, base: str, *arguments: str, env: Mapping[str, str] | None = None) -> tuple[int | None, str]:
        return await self.run("--questions", str(self.questions), "--base", base, *arguments, env=env)

    def report(self) -> dict[str, Any]:
        return json.loads((self.folder / "report.json").read_text(encoding="utf-8"))


@pytest.fixture
def command(tmp_path: Path) -> Command:
    return Command(tmp_path)


async def test_a_backend_is_measured_and_the_report_says_how_it_did(command: Command) -> None:
    command.write(language="en", category="leave")
    prices = ("--prices", "gpt-4o=1/1,gpt-4o-mini=0.5/2")
    async with ChatBackend() as server:
        code, said = await command.ask(server.endpoint, *prices, env={"EVAL_TOKEN": "secret-token"})
    assert code == 0, said
    assert {headers["Authorization"] for headers in server.headers} == {"Bearer secret-token"}
    report = command.report()
    means = report["overall"]["means"]
    assert means["hit@1"] == means["answer_recall"] == means["citation_precision"] == 1
    assert means["sources"] == 10
    assert report["models"]["gpt-4o-mini-2024-07-18"] == {
        "answers": 4,
        "tokens_read": 4_000,
        "tokens_written": 400,
        "cost": pytest.approx(4 * (1_000 * 0.5 + 100 * 2) / 1e6),
    }
    assert report["prompts"] == {"v1": 4}
    assert [row["id"] for row in report["questions"]] == ["0", "1", "2", "3"]
    assert len(report["worst"]) == 4
    assert "answer recall" in said
    assert "secret-token" not in said + json.dumps(report)
    assert not (command.folder / "report.answers.jsonl").exists()
    code, said = await command.run("--compare", *[str(command.folder / "report.json")] * 2)
    assert (code, "4 questions in common" in said) == (0, True), said
    before, after = command.folder / "before.json", command.folder / "after.json"
    before.write_text(json.dumps(report))
    for row in report["questions"]:
        row["measures"]["answer_recall"] = 0
    after.write_text(json.dumps(report))
    code, said = await command.run("--compare", str(before), str(after))
    assert (code, "Worse than before: answer recall." in said) == (1, True), said
    assert "<h1>Two runs</h1>" in (command.folder / "report.html").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("number", "code"),
    [(signal.SIGKILL, -9), pytest.param(signal.SIGINT, 130, marks=pytest.mark.nightly), (signal.SIGTERM, 130)],
)
async def test_a_run_that_was_ended_goes_on_where_it_was(command: Command, number: signal.Signals, code: int) -> None:
    command.write(8)
    reached = asyncio.Event()

    async def hang_at_five(request: web.Request, body: dict[str, Any]) -> web.StreamResponse:
        if body["messages"][0]["content"] == "Number 5?" and not reached.is_set():
            reached.set()
            await asyncio.Event().wait()
        return await answer_ai_chat(request, body)

    async with ChatBackend(hang_at_five) as server:
        arguments = ("--questions", str(command.questions), "--base", server.endpoint, "--depth", "0", "--at-once", "1")
        process = await command.start(*arguments)
        await reached.wait()
        process.send_signal(number)
        said, _ = await process.communicate()
        assert process.returncode == code, said
        with (command.folder / "report.answers.jsonl").open("ab") as file:
            file.write(b'{"question":{"id":"5","questi')  # cut off by a crash
        again, said = await command.run(*arguments)
    assert again == 0, said
    assert server.asked == [f"Number {n}?" for n in (0, 1, 2, 3, 4, 5, 5, 6, 7)]
    assert command.report()["overall"]["questions"] == 8


async def test_answers_of_another_run_are_not_taken_over(command: Command) -> None:
    command.write(3)
    answers = command.folder / "report.answers.jsonl"
    async with ChatBackend(raw(b"", status=500)) as server:
        code, said = await command.ask(server.endpoint)
        assert code == 2
        assert "The first question got no answer from the backend: status 500" in said
        assert answers.exists()
        command.write(4)
        code, said = await command.ask(server.endpoint)
    assert code == 2
    assert "has the answers of a run with other questions or options" in said
    assert "Traceback" not in said


async def test_questions_without_an_answer_are_counted_and_ten_in_a_row_end_the_run(command: Command) -> None:
    command.write(30)

    async def some(request: web.Request, body: dict[str, Any]) -> web.StreamResponse:
        number = int(body["messages"][0]["content"].split()[1].rstrip("?"))
        return await (raw(b"<p>", "text/html") if number in wrong else answer_ai_chat)(request, body)

    wrong = {3, 7}
    async with ChatBackend(some) as server:
        code, said = await command.ask(server.endpoint)
        assert code == 1, said
        problem = "it answers with a page of HTML: is that the URL of a chat backend?"
        assert command.report()["problems"] == {problem: 2}
        assert {one["question"]["id"] for one in command.report()["worst"][:2]} == {"3", "7"}
        wrong = {*range(12, 30)}
        code, said = await command.ask(server.endpoint)
        assert (code, "10 questions, one after the other, got no answer" in said) == (2, True), said
        wrong = set[int]()
        asked = len(server.asked)
        code, said = await command.ask(server.endpoint, "--depth", "10")
    assert code == 0, said
    assert {*server.asked[asked:]} == {f"Number {n}?" for n in range(12, 30)}
    assert command.report()["problems"] == {}


async def test_a_judge_that_talks_nonsense_is_counted(command: Command) -> None:
    command.write(3)
    scores = {name: {"reason": "So.", "score": 4} for name in ("groundedness", "relevance", "completeness")}
    async with OpenAIStandIn() as service, ChatBackend() as server:
        service.reply(json.dumps(scores))
        service.reply("I would say: fine!")
        service.reply(json.dumps(scores))
        code, said = await command.ask(server.endpoint, "--at-once", "1", env=service.settings)
        assert code == 0, said
        judge = command.report()["judge"]
        assert (judge["judgements"], judge["compared"], judge["agreed"]) == (2, 2, 2)
        assert judge["unjudged"] == {"the judge did not answer as it was told to": 1}
        assert command.report()["overall"]["means"]["groundedness"] == 4
        assert "So." in (command.folder / "report.html").read_text(encoding="utf-8")
        asked = len(service.chats)
        code, said = await command.ask(server.endpoint, "--judge", "off", env=service.settings)
        assert (code, command.report()["judge"], len(service.chats)) == (0, None, asked), said


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ((), "one of the arguments --questions --samples --compare is required"),
        (("--samples", "--prices", "gpt-4o"), "is not MODEL=READ/WRITTEN"),
        (("--samples", "--base", "localhost"), "--base is a URL"),
        (("--samples", "--protocol", "openai"), "--protocol is for --base"),
        (("--samples", "--judge", "gpt-4o"), "A judge needs a language model"),
        (("--questions", "none.jsonl"), "none.jsonl cannot be read"),
        (("--compare", "none.json", "none.json"), "none.json cannot be read"),
        (("--samples", "--docs", "none"), "There is no folder"),
    ],
)
async def test_what_is_wrong_with_the_command_is_said(command: Command, arguments: tuple[str, ...], said: str) -> None:
    code, printed = await command.run(*arguments)
    assert code == 2
    assert said in printed
    assert "Traceback" not in printed


async def test_documents_are_not_indexed_into_a_service(command: Command) -> None:
    env = {"AZURE_SEARCH_ENDPOINT": "https://x.search.windows.net", "AZURE_SEARCH_INDEX": "x", "AZURE_SEARCH_KEY": "k"}
    code, said = await command.run("--samples", env=env)
    assert (code, "the settings name AZURE_SEARCH_ENDPOINT" in said) == (2, True), said


LEAST = {
    "hit@1": 0.93,
    "hit@3": 0.97,
    "hit@10": 0.98,
    "mrr@10": 0.95,
    "ndcg@10": 0.94,
    "answer_recall": 0.9,
    "citation_precision": 0.95,
    "cites": 1.0,
    "silent_refused": 0.9,
    "language_kept": 0.95,
}
MOST = {"refused": 0.1, "unverified": 0.0}


async def test_the_samples_are_answered_as_well_as_they_were(command: Command) -> None:
    code, said = await command.run("--samples")
    assert code == 0, said
    report = command.report()
    means = report["overall"]["means"]
    assert {name: means[name] for name, least in LEAST.items() if means[name] < least} == {}
    assert {name: means[name] for name, most in MOST.items() if means[name] > most} == {}
    assert report["languages"].keys() == {"de", "en"}
    assert report["models"].keys() == {"extractive"}
    assert report["unknown_sources"] == []
    assert len(report["prompts"]) == 1


@pytest.mark.nightly
async def test_sources_that_the_index_does_not_have_are_named(command: Command, tmp_path: Path) -> None:
    documents = tmp_path / "documents"
    documents.mkdir()
    (documents / "leave.md").write_text("# Leave\n\nAfter five years you get 30 vacation days.", encoding="utf-8")
    lines = [
        {"id": "a", "question": "How many vacation days after five years?", "answers": ["30"], "sources": [name]}
        | {"id": name}
        for name in ("leave.md", "leave.md#page=2", "gone.md")
    ]
    command.questions.write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
    code, said = await command.run("--questions", str(command.questions), "--docs", str(documents))
    assert code == 0, said
    assert "The index has no gone.md, which line 3 names." in said
    assert command.report()["unknown_sources"] == ["gone.md"]
    assert command.report()["overall"]["means"]["answer_recall"] == 1
