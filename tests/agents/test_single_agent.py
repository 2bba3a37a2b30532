"""Single chat through one agent: the same events as single chat, whatever the agent does to answer."""

import asyncio
from contextlib import aclosing
from copy import replace
from pathlib import Path
from typing import Any

import pytest

from shared.agents.definitions import Pattern
from shared.agents.turns import agents_turn
from shared.chat_models.extractive.model import ExtractiveModel
from shared.chat_types import ChatRequest, FileText, Json, Message, Passage, RetrievalMode, Role
from shared.core.fold import Answer, fold
from shared.errors import BadRequest, RateLimited, Unavailable
from shared.events import (
    ChatEvent,
    CompletionStarted,
    DataPoint,
    FilterAnnotation,
    Finished,
    Retrieved,
    TextDelta,
    Usage,
)
from shared.retrieval import FileEntry
from shared.retrieval.sqlite.index import SqliteIndex
from shared.retrieval.sqlite.retriever import SqliteRetriever
from tests.agents.teams import QUESTION, Office, agent, agents, asked, context

ADA = agent("Ada", ("search",))
PLAN = DataPoint("plan.pdf#page=3", "The Standard plan pays 80 % of dental care.")


def turn(office: Office, request: ChatRequest) -> Any:
    return agents_turn(request, context(), ADA, office.parts(agents(Pattern.CONCURRENT, ADA)))


async def events_of(office: Office, request: ChatRequest | None = None) -> list[ChatEvent]:
    return [event async for event in turn(office, request or asked())]


async def answer_of(office: Office, request: ChatRequest) -> Answer:
    return await fold(turn(office, request))


async def test_what_was_found_comes_first_then_the_text_as_it_is_made(office: Office) -> None:
    office.service.call_tool("search", {"query": "Standard plan"})
    office.service.reply("It pays 80 %", " [plan.pdf#page=3].")
    first, started, *texts, last = await events_of(office, asked(top=1))
    assert isinstance(first, Retrieved)
    assert first.data_points == (PLAN,)
    assert first.tool_inputs == ("Standard plan",)
    assert [thought.title for thought in first.thoughts] == [
        "Original user query",
        "Agent",
        "Generated search query",
        "Results",
    ]
    assert first.thoughts[1].description == "Ada"
    service = office.service
    assert started == CompletionStarted("chatcmpl-1", 1_700_000_000, service.model, address=service.base_url)
    assert texts == [TextDelta("It pays 80 %"), TextDelta(" [plan.pdf#page=3].")]
    assert last == Finished("stop", Usage(14, 10))


async def test_what_a_filter_says_of_the_text_comes_with_it_and_after_the_sources(office: Office) -> None:
    office.service.call_tool("search", {"query": "Standard plan"})
    piece = office.service.chunk({"content": "80 %."})
    choices: Any = piece["choices"]
    choices[0]["content_filter_results"] = {"hate": {"severity": "safe"}}
    office.service.reply(piece)
    events = await events_of(office, asked(top=1))
    annotated = [type(event) for event in events]
    assert annotated == [Retrieved, CompletionStarted, FilterAnnotation, TextDelta, Finished]


async def test_an_agent_is_shown_no_images_of_sources_and_says_so(office: Office) -> None:
    office.service.call_tool("search", {"query": "Standard plan"})
    office.service.reply("80 %.")
    request = asked(top=1)
    seeing = replace(request, overrides=replace(request.overrides, use_gpt4v=True))
    answer = await answer_of(office, seeing)
    (search,) = [thought for thought in answer.thoughts if thought.title == "Generated search query"]
    assert search.props
    assert search.props["ignored_overrides"] == ["use_gpt4v"]
    assert answer.images == ()


async def test_text_streams_while_the_model_goes_on(office: Office) -> None:
    rest = asyncio.Event()
    office.service.reply("First.", rest, " Rest.")
    async with aclosing(turn(office, asked())) as events:
        begun = [await anext(events) for _ in range(3)]
        rest.set()
        ended = [event async for event in events]
    assert begun[-1] == TextDelta("First.")
    assert ended == [TextDelta(" Rest."), Finished("stop", Usage(7, 5))]


async def test_a_search_after_the_first_text_shows_all_sources_again(office: Office) -> None:
    call: Json = {"index": 0, "id": "1", "function": {"name": "search", "arguments": '{"query":"Standard plan"}'}}
    office.service.reply("Let me look.", office.service.chunk({"tool_calls": [call]}), finish_reason="tool_calls")
    office.service.reply("80 % [plan.pdf#page=3].")
    events = await events_of(office, asked(top=1))
    assert [type(event) for event in events] == [
        Retrieved,
        CompletionStarted,
        TextDelta,
        Retrieved,
        TextDelta,
        TextDelta,
        Finished,
    ]
    found = [event.data_points for event in events if isinstance(event, Retrieved)]
    assert found == [(), (PLAN,)]
    assert "".join(event.text for event in events if isinstance(event, TextDelta)) == (
        "Let me look.\n\n80 % [plan.pdf#page=3]."
    )


async def test_an_agent_that_says_nothing_still_says_where_it_looked(office: Office) -> None:
    office.service.call_tool("search", {"query": "Standard plan"})
    office.service.reply()
    async with aclosing(turn(office, asked(top=1))) as events:
        assert [type(await anext(events)) for _ in range(2)] == [Retrieved, CompletionStarted]
        with pytest.raises(Unavailable, match="answered with nothing"):
            await anext(events)


async def test_followups_leave_the_text_and_an_invented_citation_is_named(office: Office) -> None:
    office.service.reply("80 % [invented.pdf].\n<", "<Since when?>>")
    answer = await answer_of(office, asked(suggest_followup_questions=True))
    assert answer.text == "80 % [invented.pdf]."
    assert answer.finished.followup_questions == ("Since when?",)
    assert answer.thoughts[-1].title == "Unverified citations"
    assert "double angle brackets" in str(office.service.chats[0].body["messages"])


async def test_a_file_may_be_cited_and_reaches_the_agent(office: Office) -> None:
    office.service.reply("80 % [note.txt].")
    request = replace(asked(), messages=(Message(Role.USER, QUESTION, files=(FileText("note.txt", "80 %."),)),))
    answer = await answer_of(office, request)
    assert [thought.title for thought in answer.thoughts] == ["Original user query", "Attached files", "Agent"]
    assert "Name: note.txt\n" in office.prompts("Ada")[0][0]


async def test_the_conversation_reaches_the_agent_unless_a_single_turn_is_asked_for(office: Office) -> None:
    request = asked(QUESTION, Message(Role.USER, "Hi"), Message(Role.ASSISTANT, "Hello"))
    await events_of(office, request)
    await events_of(office, replace(request, single_turn=True))
    first, _, second, _ = office.prompts("Ada")
    assert first == ["user: Hi", "assistant: Hello", f"user: {QUESTION}"]
    assert second == [f"user: {QUESTION}"]
    assert all("Today is " in str(chat.body["messages"]) for chat in office.service.chats)


async def test_a_source_of_an_earlier_answer_can_be_cited_again(office: Office) -> None:
    office.service.reply("80 % [earlier.pdf], says [invented.pdf].")
    answer = await answer_of(office, asked("Sure?", Message(Role.ASSISTANT, "80 % [earlier.pdf].")))
    assert answer.thoughts[-1].description == ["invented.pdf"]


async def test_a_prompt_template_replaces_or_extends_the_agents_instructions(office: Office) -> None:
    versions = set[str]()
    for template in ("Talk like a pirate.", ">>>Be formal."):
        office.service.reply("Aye.")
        first, *_ = await events_of(office, asked(prompt_template=template))
        assert isinstance(first, Retrieved)
        assert first.thoughts[1].props == {"version": first.prompt_version}
        versions.add(first.prompt_version)
    assert len(versions) == 2
    replaced, extended = (str(chat.body["messages"]) for chat in office.service.chats)
    assert "Be Ada." not in replaced
    assert "Be Ada." in extended
    assert "Be formal." in extended


async def test_what_the_model_cannot_do_is_the_turns_error(office: Office) -> None:
    office.service.fail(429)
    with pytest.raises(RateLimited):
        await events_of(office)
    office.service.reply_raw(b'data: {"choices":[{"delta":{"content":"Half an ans"}}]}\n\n', cut=True)
    with pytest.raises(Unavailable):
        await events_of(office)


async def test_what_the_search_cannot_do_is_the_turns_error(office: Office) -> None:
    office.service.call_tool("search", {"query": "dental"})
    with pytest.raises(BadRequest):
        await events_of(office, asked(retrieval_mode=RetrievalMode.VECTORS))


async def test_who_leaves_stops_the_models_call(office: Office) -> None:
    office.service.reply("First.", asyncio.Event())
    async with aclosing(turn(office, asked())) as events:
        for _ in range(3):
            await anext(events)
    await office.service.chats[0].disconnected.wait()


async def test_the_built_in_model_answers_through_an_agent(office: Office) -> None:
    answer = await answer_of(replace(office, model=ExtractiveModel()), asked(suggest_followup_questions=True))
    assert "80 % of dental care. [plan.pdf#page=3]" in answer.text
    assert PLAN in answer.data_points
    assert answer.finished.followup_questions is not None


async def test_the_built_in_model_knows_through_an_agent_how_rare_words_are_in_the_whole_index(
    office: Office, tmp_path: Path
) -> None:
    index = SqliteIndex(tmp_path / "towers.sqlite")
    texts = {f"{number}.md": f"The tower of the town hall number {number} was built of stone." for number in range(300)}
    await index.replace(*(FileEntry(name, "1", [Passage(name, text, name, name)]) for name, text in texts.items()))
    await index.aclose()
    retriever = SqliteRetriever(tmp_path / "towers.sqlite", None)
    towers = replace(office, model=ExtractiveModel(), retriever=retriever)
    answer = await answer_of(towers, asked("Who built the tower of Zanzibar?"))
    await retriever.aclose()
    assert answer.text.startswith("The documents do not seem to have this.")
