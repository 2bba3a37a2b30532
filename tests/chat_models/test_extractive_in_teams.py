"""The extractive model as an agent: what it looks up, what it adds to the others, and how it sums them up."""

import json
from copy import replace

import pytest

from shared.agents.instructions import DONE
from shared.chat_models import ModelRequest, ToolDefinition
from shared.chat_models.extractive.model import ExtractiveModel
from shared.chat_types import FileText, Message, Passage, Role, ToolCall
from tests.chat_models.model_contract import Answer, answer

QUESTION = "What does the plan pay for glasses?"
SEARCH = ToolDefinition(
    "search",
    "Search the documents.",
    {"type": "object", "properties": {"query": {"type": "string"}}, "required": ["query"]},
    "query",
)
HANDOFF = ToolDefinition("handoff_to_Writer", "Hand over.", {"type": "object", "properties": {}})
CHATTY_HANDOFF = ToolDefinition(
    "handoff_to_Critic", "Hand over.", {"type": "object", "properties": {"context": {"type": "string"}}}
)
PLAN = Passage(
    "plan",
    "The plan pays 150 euros for glasses. For glasses of children the plan pays 80 euros. Lunch is at noon.",
    "plan.pdf#page=2",
    "plan.pdf",
)
ABOUT_ADULTS = "The plan pays 150 euros for glasses. [plan.pdf#page=2]"
ABOUT_CHILDREN = "For glasses of children the plan pays 80 euros. [plan.pdf#page=2]"
BOTH = "The plan pays 150 euros for glasses. For glasses of children the plan pays 80 euros. [plan.pdf#page=2]"
DISCUSSION = f"You are one of three. When nothing is left to add, end with {DONE} on a line of its own."


def by(author: str, text: str) -> Message:
    return Message(Role.USER, text, author=author)


def own(text: str) -> Message:
    return Message(Role.ASSISTANT, text)


def team_request(*said: Message, instructions: str = "You are one of three.", question: str = QUESTION) -> ModelRequest:
    """The prompt of an agent without tools."""
    return ModelRequest((Message(Role.SYSTEM, instructions), Message(Role.USER, question), *said), question)


def having_found(request: ModelRequest, *found: Passage) -> ModelRequest:
    """The same for an agent with a search tool, after its search."""
    call = Message(Role.ASSISTANT, "", tool_calls=(ToolCall("call_1", "search", '{"query": "glasses"}'),))
    result = Message(Role.TOOL, "\n".join(f"{one.sourcepage}: {one.content}" for one in found), tool_call_id="call_1")
    return replace(request, messages=(*request.messages, call, result), sources=found, tools=(SEARCH,))


async def ask(request: ModelRequest) -> Answer:
    got = await answer(ExtractiveModel(), request)
    assert (await answer(ExtractiveModel(), request)).text == got.text
    return got


@pytest.mark.parametrize("said", [(), (by("Researcher", ABOUT_ADULTS),), (own(ABOUT_ADULTS), by("Critic", "And?"))])
async def test_an_agent_that_can_search_first_searches_for_the_users_question(said: tuple[Message, ...]) -> None:
    got = await ask(replace(team_request(*said), tools=(HANDOFF, SEARCH)))
    [call] = got.calls
    assert (call.name, json.loads(call.arguments)) == ("search", {"query": QUESTION})
    assert [finished.reason for finished in got.finished] == ["tool_calls"]


async def test_the_query_takes_the_subject_from_the_users_messages_and_not_from_the_agents() -> None:
    conversation = (Message(Role.USER, QUESTION), own("150 euros."), Message(Role.USER, "And for lenses?"))
    request = ModelRequest((*conversation, by("Critic", "Parking is free.")), "And for lenses?", tools=(SEARCH,))
    [call] = (await ask(request)).calls
    assert json.loads(call.arguments) == {"query": "And for lenses? plan pay glasses"}


async def test_once_it_has_searched_it_answers_from_what_was_found() -> None:
    got = await ask(having_found(team_request(), PLAN))
    assert got.calls == []
    assert got.text == BOTH


async def test_a_search_that_found_nothing_is_not_made_again() -> None:
    got = await ask(having_found(team_request()))
    assert got.calls == []
    assert got.text == "The documents do not seem to have this."


async def test_a_source_that_cites_sources_has_not_been_said_yet() -> None:
    found = replace(PLAN, content="The plan pays 150 euros for glasses. [1] Lunch is at noon. [2]")
    assert (await ask(having_found(team_request(), found))).text.startswith("The plan pays 150 euros for glasses.")


@pytest.mark.parametrize("tools", [(HANDOFF,), (CHATTY_HANDOFF,), (HANDOFF, CHATTY_HANDOFF)])
async def test_it_hands_over_to_nobody_but_answers(tools: tuple[ToolDefinition, ...]) -> None:
    got = await ask(replace(team_request(by("Researcher", ABOUT_ADULTS)), tools=tools))
    assert got.calls == []
    assert got.text == ABOUT_ADULTS


async def test_an_agent_that_searches_adds_what_the_others_have_not_said() -> None:
    got = await ask(having_found(team_request(by("Researcher", ABOUT_ADULTS)), PLAN))
    assert got.text == ABOUT_CHILDREN


async def test_it_adds_half_of_an_answer_at_most() -> None:
    content = " ".join(
        f"The plan pays {number} euros for glasses of class {number} wood." for number in range(110, 120)
    )
    found = replace(PLAN, content=content)
    got = await ask(having_found(team_request(by("Researcher", ABOUT_CHILDREN)), found))
    assert got.text.count("The plan pays") == 3


async def test_what_everybody_has_said_is_not_said_again() -> None:
    said = by("Researcher", f"{ABOUT_ADULTS} {ABOUT_CHILDREN}")
    assert (await ask(having_found(team_request(said), PLAN))).text == "I found nothing to add to that."
    german = team_request(by("A", "Die Frist für Brillen endet im März. [a.md]"), question="Wann endet die Frist?")
    assert (await ask(having_found(german))).text == "Dem habe ich nichts hinzuzufügen."


async def test_an_agent_without_a_search_sums_the_others_up_with_their_citations() -> None:
    said = (
        by("Researcher", ABOUT_ADULTS),
        by("Critic", f"{ABOUT_CHILDREN} {ABOUT_ADULTS}"),
        by("Lawyer", "I found nothing to add to that."),
    )
    assert (await ask(team_request(*said))).text == f"{ABOUT_ADULTS} {ABOUT_CHILDREN}"


async def test_it_sums_the_others_up_though_the_user_attached_a_file() -> None:
    request = team_request(by("Researcher", ABOUT_ADULTS))
    system, question, said = request.messages
    asked = replace(question, files=(FileText("letter.txt", "The plan pays nothing for glasses of pets."),))
    assert (await ask(replace(request, messages=(system, asked, said)))).text == ABOUT_ADULTS


async def test_a_summary_has_at_most_six_statements_the_first_ones_first() -> None:
    numbers = ("one", "two", "three", "four", "five", "six", "seven", "eight")
    said = [by(f"Agent {number}", f"Gate {number} is open (always). [{number}.md]") for number in numbers]
    got = await ask(team_request(*said))
    assert got.text == " ".join(f"Gate {number} is open (always). [{number}.md]" for number in numbers[:6])


async def test_brackets_inside_a_statement_are_no_citation_of_it() -> None:
    said = "Take form [A] or [B] to the office. [forms.md] Then wait. [forms.md]"
    assert (await ask(team_request(by("Researcher", said)))).text == said


async def test_when_nobody_knows_it_does_not_know_either() -> None:
    said = by("Researcher", "The documents do not seem to have this.")
    assert (await ask(team_request(said))).text == said.content


async def test_an_agent_with_nothing_to_read_says_that_it_has_nothing() -> None:
    assert (await ask(team_request())).text == "I cannot answer that: I have no documents to look it up in."
    german = await ask(team_request(question="Was zahlt der Plan für Brillen?"))
    assert german.text.startswith("Das kann ich nicht beantworten:")


async def test_earlier_answers_of_the_conversation_are_not_taken_for_what_agents_say_now() -> None:
    earlier = (Message(Role.USER, "When is lunch?"), own("Lunch is at noon. [plan.pdf#page=2]"))
    request = team_request()
    got = await ask(having_found(replace(request, messages=(*earlier, *request.messages)), PLAN))
    assert got.text == BOTH


async def test_a_summary_ends_a_discussion_if_the_instructions_have_a_mark_for_it() -> None:
    summary = await ask(team_request(by("Researcher", ABOUT_ADULTS), instructions=DISCUSSION))
    assert summary.text == f"{ABOUT_ADULTS}\n{DONE}"
    facts = await ask(having_found(team_request(instructions=DISCUSSION), PLAN))
    assert DONE not in facts.text


async def test_a_discussion_ends_when_the_one_who_sums_up_has_nothing_to_sum_up() -> None:
    unknown = by("Researcher", "The documents do not seem to have this.")
    assert (await ask(team_request(unknown, instructions=DISCUSSION))).text == f"{unknown.content}\n{DONE}"
    assert DONE not in (await ask(team_request(instructions=DISCUSSION))).text
    assert DONE not in (await ask(having_found(team_request(unknown, instructions=DISCUSSION)))).text


async def test_a_discussion_ends_in_its_second_round_when_there_is_nothing_to_add() -> None:
    known = by("Critic", f"{ABOUT_ADULTS} {ABOUT_CHILDREN}")
    first = await ask(having_found(team_request(known, instructions=DISCUSSION), PLAN))
    assert first.text == "I found nothing to add to that."
    second = await ask(having_found(team_request(own(first.text), known, instructions=DISCUSSION), PLAN))
    assert second.text == f"I found nothing to add to that.\n{DONE}"
