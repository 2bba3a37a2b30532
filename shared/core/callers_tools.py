"""Tools that the caller defines and runs: when they can be used, and which of the model's calls the caller gets.

A turn ends with the calls. The caller sends their results with the conversation, in `ChatRequest.steps`, and the next
turn answers the same question with them.
"""

from collections.abc import Collection, Iterable, Sequence
from copy import replace

import msgspec

from shared.chat_types import ChatRequest, ToolCall
from shared.core.context_window import estimate_tokens
from shared.errors import BadRequest, TooLarge, Unavailable

MOST_STEPS_TOKENS = 32_000
"""Tokens of the calls and results since the question. They are never cut: the model would call again."""
LONGEST_ID = 40
"""Characters of a call's id that OpenAI accepts in the next request."""


def brings_tools(request: ChatRequest) -> bool:
    """Whether a request has tools of its caller, or results of such tools."""
    return bool(request.tools) or any(step.tool_calls for step in request.steps)


def check_tools(request: ChatRequest, *, team: bool, takes_tools: bool, own: Collection[str]) -> ChatRequest:
    """Return the request if its tools can be called, or without them if they are only an offer.

    Args:
        request: The request.
        team: Whether the team of agents answers.
        takes_tools: Whether the model can call them.
        own: Names of the tools that the agent which answers has here.

    Raises:
        BadRequest: the tools cannot be called.
    """
    if not brings_tools(request):
        return request
    if (team or not takes_tools) and request.tool_choice.is_offer and not request.steps:
        return replace(request, tools=())
    if team:
        raise BadRequest(
            "tools: a team of agents cannot call the tools of a request. Leave them out, or ask one agent alone."
        )
    if not takes_tools:
        raise BadRequest(
            "tools: the built-in model is no language model and calls no tools. Leave them out, or set "
            "OPENAI_CHAT_MODEL or AZURE_OPENAI_CHAT_DEPLOYMENT."
        )
    for place, tool in enumerate(request.tools):
        if tool.name in own:
            raise BadRequest(f"tools[{place}]: its name is that of a tool of this app. Give it another name.")
    return request


def check_steps(request: ChatRequest) -> None:
    """Raise TooLarge if the calls and results since the question are too long."""
    if (count := sum(map(estimate_tokens, request.steps))) > MOST_STEPS_TOKENS:
        raise TooLarge(
            f"The calls of tools since the question, with their results, take some {count:,} tokens, and this app "
            f"takes {MOST_STEPS_TOKENS:,}: shorten the results."
        )


def calls_for_caller(request: ChatRequest, made: Sequence[ToolCall], reason: str) -> tuple[ToolCall, ...]:
    """Return those of the model's calls that the caller gets: calls of offered tools whose arguments are JSON objects.

    Args:
        request: The request.
        made: The model's calls.
        reason: Why its answer ended. The last call of one that reached the longest answer may be cut off.

    Raises:
        Unavailable: the arguments of a call are no object, or there is none where there has to be one.
    """
    offered = {tool.name for tool in request.tools}
    calls = [call for call in made if call.name in offered]
    whole = [call for call in calls if is_object(call.arguments or "{}")]
    if reason != "length" and len(whole) < len(calls):
        raise Unavailable("The model called a tool with arguments that are no JSON object. Try again.")
    if request.tool_choice.must_call and not calls and reason != "content_filter":
        raise Unavailable("tool_choice: the model called no tool although it has to. Try again.")
    if request.tool_choice.parallel is False:
        del whole[1:]
    return tuple(_with_own_ids(request, whole))


def _with_own_ids(request: ChatRequest, calls: Iterable[ToolCall]) -> Iterable[ToolCall]:
    """Give each call an id that is new since the question: some services count from 0 in each answer."""
    ids = {call.id for message in request.steps for call in message.tool_calls}
    for call in calls:
        is_own = call.id not in ids and 0 < len(call.id) <= LONGEST_ID
        call_id = call.id if is_own else f"call_{request.answer_id[:28]}_{len(ids)}"
        ids.add(call_id)
        yield replace(call, id=call_id, arguments=call.arguments or "{}")


def is_object(arguments: str) -> bool:
    """Whether the arguments of a call are a JSON object."""
    try:
        return isinstance(msgspec.json.decode(arguments), dict)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return False
