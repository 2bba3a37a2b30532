"""The turn with its real parts: the SQLite index, and a model behind OpenAI's protocol."""

import asyncio
import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from copy import replace
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from shared.chat_models.openai_chat import OpenAIChatModel
from shared.chat_types import Access, ChatRequest, Json, JsonForm, Message, Overrides, Passage, RequestContext, Role
from shared.core.fold import Answer, fold
from shared.core.searching import NOT_REWRITTEN
from shared.core.source_images import SourceImages
from shared.core.turn import run_turn
from shared.documents.file_store import FileStore
from shared.errors import RateLimited, Unavailable
from shared.events import ChatEvent, CompletionStarted, Finished, Retrieved, TextDelta, Usage
from shared.outbound.asking import RetryPolicy
from shared.outbound.openai_service.connection import OpenAIConnection
from shared.outbound.openai_service.service import OpenAIService
from shared.retrieval.sqlite.retriever import SqliteRetriever
from shared.runtime.late_imports import Late
from shared.settings import Settings
from tests.small_index import PASSAGES, small_index
from tests.stand_ins.openai_service import OpenAIStandIn

QUESTION = "What does the plan pay for dental care?"
UNASKED = SourceImages(Late(lambda: FileStore(Path())), Late(lambda: FileStore(Path())), None)
"""Images that no request here asks for."""


@pytest.fixture
async def retriever(tmp_path: Path) -> AsyncGenerator[SqliteRetriever]:
    async with small_index(tmp_path) as retriever:
        yield retriever


@pytest.fixture
async def service() -> AsyncGenerator[OpenAIStandIn]:
    async with OpenAIStandIn() as service:
        yield service


@asynccontextmanager
async def chat_model(service: OpenAIStandIn) -> AsyncGenerator[OpenAIChatModel]:
    connection = OpenAIConnection.from_settings(Settings.read(service.settings))
    assert connection
    client = OpenAIService(connection, retries=RetryPolicy(retries=0))
    try:
        yield OpenAIChatModel(client)
    finally:
        await client.aclose()


def asked(question: str = QUESTION, *earlier: Message, **overrides: Any) -> ChatRequest:
    request = ChatRequest((*earlier, Message(Role.USER, question)))
    return replace(request, overrides=replace(Overrides(), **overrides))


def context(access: Access | None = None) -> RequestContext:
    return RequestContext("id-1", asyncio.get_running_loop().time() + 30, access=access)


async def events_of(
    service: OpenAIStandIn, retriever: SqliteRetriever, request: ChatRequest, access: Access | None = None
) -> list[ChatEvent]:
    async with chat_model(service) as model:
        return [event async for event in run_turn(request, context(access), model, retriever, UNASKED)]


async def answer_of(service: OpenAIStandIn, retriever: SqliteRetriever, request: ChatRequest) -> Answer:
    async with chat_model(service) as model:
        return await fold(run_turn(request, context(), model, retriever, UNASKED))


def prompt_of(service: OpenAIStandIn, number: int = -1) -> list[dict[str, str]]:
    messages = service.chats[number].body["messages"]
    assert isinstance(messages, list)
    return [
        {str(key): str(value) for key, value in message.items()} for message in messages if isinstance(message, dict)
    ]


async def test_the_sources_come_first_and_then_the_models_words(
    service: OpenAIStandIn, retriever: SqliteRetriever
) -> None:
    service.reply("It pays 80 %", " [plan.pdf#page=3].")
    first, started, *texts, last = await events_of(service, retriever, asked())
    assert isinstance(first, Retrieved)
    assert first.data_points[0].line == "plan.pdf#page=3: The Standard plan pays 80 % of dental care."
    assert [thought.title for thought in first.thoughts] == [
        "Original user query",
        "Generated search query",
        "Results",
        "Prompt",
    ]
    assert texts == [TextDelta("It pays 80 %"), TextDelta(" [plan.pdf#page=3].")]
    assert started == CompletionStarted("chatcmpl-1", 1_700_000_000, service.model, address=service.base_url)
    assert last == Finished("stop", Usage(7, 5))


async def test_the_prompt_has_the_rules_first_and_the_question_with_a_name_to_cite_after_its_sources(
    service: OpenAIStandIn, retriever: SqliteRetriever
) -> None:
    await events_of(service, retriever, asked())
    system, user = prompt_of(service)
    assert system["role"] == "system"
    assert "square brackets" in system["content"]
    sources, rest = user["content"].rsplit("</source>", 1)
    assert "<source>\nName: plan.pdf#page=3\n\nThe Standard plan pays 80 % of dental care.\n" in sources
    assert rest.index(QUESTION) < rest.index("such as [plan.pdf#page=3].")
    assert f"Today is {datetime.now(UTC):%A}" in user["content"]


async def test_the_version_of_the_prompt_changes_with_its_instructions_and_with_nothing_else(
    service: OpenAIStandIn, retriever: SqliteRetriever
) -> None:
    requests = (asked(), asked("Who pays for glasses?"), asked(prompt_template=">>>Be formal."), asked(language="de"))
    versions: list[str] = []
    for request in requests:
        first, *_ = await events_of(service, retriever, request)
        assert isinstance(first, Retrieved)
        assert first.thoughts[-1].props == {"version": first.prompt_version}
        instructions = prompt_of(service)[0]["content"]
        assert first.prompt_version == sha256(instructions.encode()).hexdigest()[:8]
        versions.append(first.prompt_version)
    assert versions[0] == versions[1]
    assert len({*versions}) == 3


async def test_a_first_question_is_searched_for_as_it_is(service: OpenAIStandIn, retriever: SqliteRetriever) -> None:
    await events_of(service, retriever, asked())
    assert len(service.chats) == 1


async def test_a_sentence_is_no_story_though_its_letters_have_more_bytes(
    service: OpenAIStandIn, tmp_path: Path
) -> None:
    question = (
        "Сколько дней отпуска в год получает сотрудник, который работает в компании больше пяти лет без "
        "перерыва на учёбу?"
    )
    passage = Passage("1", "Сотрудник, который работает больше пяти лет, получает 30 дней отпуска.", "o.md", "o.md")
    async with small_index(tmp_path, [passage]) as retriever:
        await events_of(service, retriever, asked(question))
    assert len(service.chats) == 1


@pytest.mark.parametrize(
    "question", ["¿Cuántos días de vacaciones hay en un año para los empleados?", "有給休暇は年に何日ありますか？"]
)
async def test_a_first_question_in_a_language_of_no_document_is_searched_for_in_theirs(
    service: OpenAIStandIn, retriever: SqliteRetriever, question: str
) -> None:
    service.call_tool("search_sources", {"search_queries": ["vacation days a year"]})
    service.reply("30 días [leave.md].")
    answer = await answer_of(service, retriever, asked(question))
    assert answer.data_points[0].sourcepage == "leave.md"
    assert [thought.description for thought in answer.thoughts[1:3]] == ["vacation days a year", question]
    assert "(ISO 639-1: en)" in prompt_of(service, 0)[0]["content"]
    assert answer.finished.usage == Usage(14, 10)


def asks_for_queries(service: OpenAIStandIn) -> list[bool]:
    """Of each call of the model, whether it asks for search queries and not for the answer."""
    return ["search_sources" in prompt_of(service, number)[0]["content"] for number in range(len(service.chats))]


STORY = (
    "Hello, I moved here from another city in spring and my son has been at the dentist's since, who says that he "
    "needs another appointment before summer. My colleagues told me many things. What is there to know about time off?"
)


async def test_a_long_first_question_is_searched_for_in_the_models_words_as_well(
    service: OpenAIStandIn, retriever: SqliteRetriever
) -> None:
    service.call_tool("search_sources", {"search_queries": ["vacation days a year"]})
    service.reply("30 days [leave.md].")
    answer = await answer_of(service, retriever, asked(STORY))
    assert answer.data_points[0].sourcepage == "leave.md"
    assert [thought.description for thought in answer.thoughts[1:3]] == ["vacation days a year", STORY]
    assert "another language" not in prompt_of(service, 0)[0]["content"]
    assert answer.finished.usage == Usage(14, 10)


async def test_a_long_first_question_is_searched_for_as_it_is_where_the_model_writes_no_query(
    service: OpenAIStandIn, retriever: SqliteRetriever
) -> None:
    service.reply("Time off?")
    service.reply("30 days [leave.md].")
    question = f"{STORY} How is it with vacation?"
    answer = await answer_of(service, retriever, asked(question))
    assert [thought.description for thought in answer.thoughts[1:2]] == [question]
    assert answer.data_points[0].sourcepage == "leave.md"
    assert answer.text == "30 days [leave.md]."


TWO_THINGS = "How much of dental care does the plan pay, and how long is the vacation in a year?"


async def test_a_first_question_of_two_things_does_not_wait_for_the_model_where_both_searches_are_sure(
    service: OpenAIStandIn, retriever: SqliteRetriever
) -> None:
    answer = await answer_of(service, retriever, asked(TWO_THINGS))
    assert asks_for_queries(service) == [False]
    assert {"plan.pdf#page=3", "leave.md"} <= {point.sourcepage for point in answer.data_points}


async def test_a_first_question_of_two_things_is_split_by_the_model_where_a_search_is_not_sure(
    service: OpenAIStandIn, tmp_path: Path
) -> None:
    talk = "In the vacation of the year people tell how long it was. " + "Then they go on with their work. " * 120
    others = [Passage(f"n{n}", f"{talk}{n}", f"n{n}.md", f"n{n}.md") for n in range(8)]  # 1,000 tokens each
    service.call_tool("search_sources", {"search_queries": ["dental care of the Standard plan", "vacation is 30 days"]})
    async with small_index(tmp_path / "more", (*PASSAGES, *others)) as retriever:
        answer = await answer_of(service, retriever, asked(TWO_THINGS))
    assert asks_for_queries(service) == [True, False]
    assert [point.sourcepage for point in answer.data_points[:2]] == ["plan.pdf#page=3", "leave.md"]


async def test_with_history_the_model_writes_the_query_by_a_tool_call(
    service: OpenAIStandIn, retriever: SqliteRetriever
) -> None:
    service.call_tool("search_sources", {"search_queries": ["vacation days"]})
    service.reply("30 days [leave.md].")
    earlier = (Message(Role.USER, QUESTION), Message(Role.ASSISTANT, "80 % [plan.pdf#page=3]."))
    answer = await answer_of(service, retriever, asked("And vacation?", *earlier))
    assert answer.data_points[0].sourcepage == "leave.md"
    assert answer.thoughts[1].description == "vacation days"
    assert [message["content"] for message in prompt_of(service)[1:3]] == [QUESTION, "80 % [plan.pdf#page=3]."]
    assert answer.finished.usage == Usage(14, 10)


async def test_a_question_of_several_parts_is_searched_for_in_parts(
    service: OpenAIStandIn, retriever: SqliteRetriever
) -> None:
    service.call_tool("search_sources", {"search_queries": ["vacation days", "dental implants", "glasses", "pensions"]})
    service.reply("30 days [leave.md], implants later [dental.md].")
    answer = await answer_of(service, retriever, asked("And both?", Message(Role.USER, "Hi"), top=2))
    assert {point.sourcepage for point in answer.data_points} == {"leave.md", "dental.md"}
    assert [thought.description for thought in answer.thoughts[1:4]] == ["vacation days", "dental implants", "glasses"]


async def test_what_several_queries_find_has_the_best_of_its_places(
    service: OpenAIStandIn, retriever: SqliteRetriever
) -> None:
    service.call_tool("search_sources", {"search_queries": ["dental implants", "dental care of the Standard plan"]})
    answer = await answer_of(service, retriever, asked("And both?", Message(Role.USER, "Hi")))
    assert [point.sourcepage for point in answer.data_points] == ["dental.md", "plan.pdf#page=3"]


async def test_thanks_are_answered_without_a_search(service: OpenAIStandIn, retriever: SqliteRetriever) -> None:
    service.call_tool("search_sources", {"search_queries": []})
    service.reply("You are welcome.")
    answer = await answer_of(service, retriever, asked("Thanks!", Message(Role.USER, "Hi")))
    assert (answer.text, answer.data_points) == ("You are welcome.", ())
    assert answer.thoughts[1].description == "(no search is needed)"
    assert "Sources:" not in prompt_of(service)[-1]["content"]


async def test_a_source_of_an_earlier_answer_can_be_cited_again(
    service: OpenAIStandIn, retriever: SqliteRetriever
) -> None:
    service.call_tool("search_sources", {"search_queries": ["vacation"]})
    service.reply("80 % [earlier.pdf#page=3], and 30 days [leave.md] [invented.md].")
    earlier = (Message(Role.USER, "Teeth? [invented.md]"), Message(Role.ASSISTANT, "80 % [earlier.pdf#page=3]."))
    answer = await answer_of(service, retriever, asked("And vacation?", *earlier))
    assert answer.thoughts[-1].description == ["invented.md"]


async def test_the_model_gets_what_fits_unless_the_caller_says_how_much(
    service: OpenAIStandIn, retriever: SqliteRetriever
) -> None:
    every = await answer_of(service, retriever, asked())
    one = await answer_of(service, retriever, asked(top=1))
    assert len(every.data_points) > len(one.data_points) == 1


@pytest.mark.parametrize(
    "arguments",
    [
        '{"search_queries": 5}',
        '{"search_queries": [" "]}',
        '{"query": "x"}',
        "{}",
        "",
        "{",
        "null",
        "[" * 5_000,
        f'{{"search_queries": ["{"y" * 2_000}"]}}',
        '{"search_queries": ["costs of the Plus plan for two children"]}',  # an example of the instructions
    ],
)
async def test_a_query_that_makes_no_sense_falls_back_to_the_question(
    service: OpenAIStandIn, retriever: SqliteRetriever, arguments: str
) -> None:
    call: Json = {"index": 0, "id": "1", "function": {"name": "search_sources", "arguments": arguments}}
    service.reply(service.chunk({"tool_calls": [call]}), finish_reason="tool_calls")
    answer = await answer_of(service, retriever, asked(QUESTION, Message(Role.USER, "Hi")))
    assert answer.thoughts[1].description == QUESTION
    assert (answer.thoughts[1].props or {})["note"] == NOT_REWRITTEN


async def test_a_query_that_is_an_example_of_the_instructions_is_taken_where_it_is_what_was_asked(
    service: OpenAIStandIn, retriever: SqliteRetriever
) -> None:
    query = "costs of the Plus plan for two children"
    service.call_tool("search_sources", {"search_queries": [query]})
    answer = await answer_of(service, retriever, asked("And for two?", Message(Role.USER, "What does plus cost?")))
    assert answer.thoughts[1].description == query


async def test_a_model_that_talks_instead_of_calling_falls_back_to_the_question(
    service: OpenAIStandIn, retriever: SqliteRetriever
) -> None:
    service.reply("dental care")
    answer = await answer_of(service, retriever, asked(QUESTION, Message(Role.USER, "Hi")))
    assert answer.thoughts[1].description == QUESTION
    assert (answer.thoughts[1].props or {})["note"] == NOT_REWRITTEN


async def test_a_first_question_is_answered_though_the_model_fails_to_rewrite_it(
    service: OpenAIStandIn, retriever: SqliteRetriever
) -> None:
    service.fail(429)
    service.reply("80 % [plan.pdf#page=3].")
    answer = await answer_of(service, retriever, asked("Was zahlt der Standard plan für die Zähne?"))
    assert answer.text == "80 % [plan.pdf#page=3]."
    assert "80 % of dental care" in prompt_of(service)[-1]["content"]


async def test_followups_leave_the_text_and_come_at_the_end(service: OpenAIStandIn, retriever: SqliteRetriever) -> None:
    service.reply("80 %.\n<", "<What about im", "plants?>", ">\n<<Since when?>>")
    answer = await answer_of(service, retriever, asked(suggest_followup_questions=True))
    assert answer.text == "80 %."
    assert answer.finished.followup_questions == ("What about implants?", "Since when?")
    assert "double angle brackets" in prompt_of(service)[0]["content"]


async def test_markers_are_text_when_no_followups_were_asked_for(
    service: OpenAIStandIn, retriever: SqliteRetriever
) -> None:
    service.reply("<<Why?>>")
    answer = await answer_of(service, retriever, asked())
    assert (answer.text, answer.finished.followup_questions) == ("<<Why?>>", None)


async def test_an_invented_citation_stays_and_is_named(service: OpenAIStandIn, retriever: SqliteRetriever) -> None:
    service.reply("So says [inv", "ented.pdf] and [dental.md].")
    answer = await answer_of(service, retriever, asked())
    assert answer.text == "So says [invented.pdf] and [dental.md]."
    assert answer.thoughts[-1].title == "Unverified citations"
    assert answer.thoughts[-1].description == ["invented.pdf"]


@pytest.mark.parametrize(
    ("said", "text", "title", "is_unsupported"),
    [
        (
            "The plan pays 80 % for dental care.",
            "The plan pays 80 % for dental care.\n\n*(Source found by the app: [plan.pdf#page=3])*",
            "Citation found by the app",
            False,
        ),
        ("The plan pays 85 % of it.", "The plan pays 85 % of it.", "Unsupported answer", True),
        ("The plan pays 80 % [ plan.pdf#page=3 ].", "The plan pays 80 % [plan.pdf#page=3].", "Prompt", False),
        ("I don't know.", "I don't know.", "Prompt", False),
    ],
)
async def test_a_citation_that_is_missing_is_found_and_an_answer_that_no_source_supports_is_marked(
    service: OpenAIStandIn, retriever: SqliteRetriever, said: str, text: str, title: str, *, is_unsupported: bool
) -> None:
    service.reply(*said.partition(" "))
    answer = await answer_of(service, retriever, asked())
    assert (answer.text, answer.thoughts[-1].title) == (text, title)
    assert answer.finished.is_unsupported is is_unsupported


SMALL: dict[str, Json] = {"data": [{"id": "small.gguf", "meta": {"n_ctx": 4096, "n_params": 1_543_714_304}}]}


async def test_a_small_model_answers_in_json_of_which_the_caller_sees_the_text_with_its_sources(
    service: OpenAIStandIn, retriever: SqliteRetriever
) -> None:
    for path, body in {"/models": SMALL, "/props": {}}.items():
        service.reply_raw(json.dumps(body).encode(), content_type="application/json", on=path)
    service.reply('{"sources": ["plan.pdf#pa', 'ge=3"], "answer": "It pays', ' 80 %.", "questions": ["Since when?"]}')
    answer = await answer_of(service, retriever, asked(suggest_followup_questions=True))
    assert answer.text == "It pays 80 %. [plan.pdf#page=3]"
    assert answer.finished.followup_questions == ("Since when?",)
    form = str(service.chats[0].body["response_format"])
    assert "'enum': ['plan.pdf#page=3'" in form
    assert "dental.md" in form
    assert service.chats[0].body["temperature"] == 0


@pytest.mark.parametrize("request_", [replace(asked(), form=JsonForm("format")), asked(prompt_template="Say hello.")])
async def test_a_small_model_is_not_asked_for_json_where_the_caller_asks_for_another_form(
    service: OpenAIStandIn, retriever: SqliteRetriever, request_: ChatRequest
) -> None:
    for path, body in {"/models": SMALL, "/props": {}}.items():
        service.reply_raw(json.dumps(body).encode(), content_type="application/json", on=path)
    service.reply("{}")
    assert (await answer_of(service, retriever, request_)).text == "{}"
    assert "sources that you use" not in str(prompt_of(service))


async def test_an_answer_that_goes_on_is_compared_with_its_sources_as_a_whole(
    service: OpenAIStandIn, retriever: SqliteRetriever
) -> None:
    service.reply(" 80 % of dental care.")
    begun = replace(asked(), steps=(Message(Role.ASSISTANT, "The plan [plan.pdf#page=3] pays"),))
    answer = await answer_of(service, retriever, begun)
    assert (answer.text, answer.thoughts[-1].title) == (" 80 % of dental care.", "Prompt")


async def test_overrides_reach_the_model_and_the_search(service: OpenAIStandIn, retriever: SqliteRetriever) -> None:
    answer = await answer_of(
        service, retriever, asked("dental vacation", temperature=0.25, seed=42, top=1, exclude_category="leave")
    )
    assert (service.chats[0].body["temperature"], service.chats[0].body["seed"]) == (0.25, 42)
    assert len(answer.data_points) == 1
    only = await answer_of(service, retriever, asked("dental vacation", include_category="leave"))
    assert [point.sourcepage for point in only.data_points] == ["leave.md"]
    none = await answer_of(service, retriever, asked(minimum_search_score=1e6))
    assert none.data_points == ()


async def test_a_prompt_template_replaces_or_extends_the_rules(
    service: OpenAIStandIn, retriever: SqliteRetriever
) -> None:
    await events_of(service, retriever, asked(prompt_template="Talk like a pirate."))
    assert prompt_of(service)[0]["content"] == "Talk like a pirate."
    await events_of(service, retriever, asked(prompt_template=">>> Be formal.", language="fr"))
    rules = prompt_of(service)[0]["content"]
    assert "square brackets" in rules
    assert "\n\nBe formal.\n\n" in rules
    # Pages send the language of their menus: it may be no order against that of the question.
    own, menus = rules.index("Answer in the language of the question"), rules.index("the question is not clear")
    assert own < menus < rules.index("tag fr")


async def test_a_single_turn_forgets_what_was_said(service: OpenAIStandIn, retriever: SqliteRetriever) -> None:
    request = replace(asked(QUESTION, Message(Role.USER, "Earlier")), single_turn=True)
    await events_of(service, retriever, request)
    assert len(service.chats) == 1
    assert "Earlier" not in str(prompt_of(service))


@pytest.mark.parametrize(
    ("access", "found"),
    [(Access("me"), ["leave.md"]), (Access("you", ("staff",)), ["leave.md"]), (Access("you"), []), (Access(), [])],
)
async def test_an_answer_is_made_only_from_what_its_caller_may_see(
    service: OpenAIStandIn, retriever: SqliteRetriever, access: Access, found: list[str]
) -> None:
    first, *_ = await events_of(service, retriever, asked("dental vacation"), access)
    assert isinstance(first, Retrieved)
    assert [point.sourcepage for point in first.data_points] == found


async def test_what_the_model_cannot_do_is_the_turns_error(service: OpenAIStandIn, retriever: SqliteRetriever) -> None:
    service.fail(429, headers={"Retry-After": "7"})
    with pytest.raises(RateLimited) as limited:
        await events_of(service, retriever, asked())
    assert limited.value.retry_after == 7
    service.reply_raw(b'data: {"choices":[{"delta":{"content":"Half an ans"}}]}\n\n', cut=True)
    with pytest.raises(Unavailable):
        await events_of(service, retriever, asked())


async def test_overrides_that_nothing_here_can_honour_are_named(
    service: OpenAIStandIn, retriever: SqliteRetriever
) -> None:
    first, *_ = await events_of(service, retriever, asked(semantic_ranker=True, vector_fields=("imageEmbedding",)))
    assert isinstance(first, Retrieved)
    props = first.thoughts[1].props
    assert props
    assert props["ignored_overrides"] == ["semantic_ranker", "vector_fields"]


async def test_an_answer_that_calls_what_nobody_offered_just_stops(
    service: OpenAIStandIn, retriever: SqliteRetriever
) -> None:
    call: Json = {"index": 0, "id": "1", "function": {"name": "launch", "arguments": "{}"}}
    service.reply("Well.", service.chunk({"tool_calls": [call]}), finish_reason="tool_calls")
    answer = await answer_of(service, retriever, asked())
    assert (answer.text, answer.finished.reason) == ("Well.", "stop")


FORMS = [JsonForm("response_format"), JsonForm("response_format", "cover", {"type": "object"}, strict=True)]


@pytest.mark.parametrize("form", FORMS, ids=["any object", "a schema"])
async def test_an_answer_in_json_is_asked_for_without_marks_of_its_sources(
    service: OpenAIStandIn, retriever: SqliteRetriever, form: JsonForm
) -> None:
    service.reply('{"share": ', "80}")
    answer = await answer_of(service, retriever, replace(asked(), form=form))
    assert (answer.text, answer.finished.reason) == ('{"share": 80}', "stop")
    assert "plan.pdf" in answer.data_points[0].sourcepage
    system = prompt_of(service)[0]["content"]
    assert "one JSON value" in system
    assert "for example [handbook.pdf#page=3]" not in system
    sent = service.chats[-1].body["response_format"]
    named = {"name": "cover", "schema": {"type": "object"}, "strict": True}
    assert sent == ({"type": "json_schema", "json_schema": named} if form.schema else {"type": "json_object"})


@pytest.mark.parametrize("text", ["80 %", '```json\n{"share": 80}\n```', "[80]", '{"share": 80', ""], ids=str)
async def test_what_is_not_the_json_that_was_asked_for_is_a_fault(
    service: OpenAIStandIn, retriever: SqliteRetriever, text: str
) -> None:
    service.reply(text)
    with pytest.raises(Unavailable, match="JSON that it was asked for"):
        await answer_of(service, retriever, replace(asked(), form=FORMS[0]))


async def test_json_that_reached_the_longest_answer_ends_as_any_text_does(
    service: OpenAIStandIn, retriever: SqliteRetriever
) -> None:
    service.reply('{"share": ', finish_reason="length")
    answer = await answer_of(service, retriever, replace(asked(), form=FORMS[0]))
    assert (answer.text, answer.finished.reason) == ('{"share": ', "length")
