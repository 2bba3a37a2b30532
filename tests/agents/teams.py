"""A team at work: what the tests of each pattern share."""

import asyncio
from collections.abc import Awaitable, Callable
from copy import replace
from dataclasses import dataclass
from typing import Any

from shared.agents import AgentParts
from shared.agents.definitions import AgentDefinition, Agents, Pattern, Team
from shared.agents.turns import agents_turn
from shared.chat_models import ChatModel
from shared.chat_types import Access, ChatRequest, Json, Message, Overrides, RequestContext, Role
from shared.events import AgentMessage, ChatEvent, CompletionStarted, Finished
from shared.retrieval import Retriever
from tests.stand_ins.openai_service import OpenAIStandIn, Received

QUESTION = "What does the plan pay for dental care?"

SECONDS = 30.0
"""Of a turn, where a test does not say otherwise."""


def agent(name: str, tools: tuple[str, ...] = (), **more: Any) -> AgentDefinition:
    return AgentDefinition(name=name, instructions=f"Be {name}.", tools=tools, **more)


def agents(pattern: Pattern, *members: str | AgentDefinition, max_rounds: int = 6) -> Agents:
    named = tuple(agent(member) if isinstance(member, str) else member for member in members)
    return Agents(team=Team(pattern=pattern, max_rounds=max_rounds), agents=named)


def asked(question: str = QUESTION, *earlier: Message, **overrides: Any) -> ChatRequest:
    return ChatRequest((*earlier, Message(Role.USER, question)), overrides=replace(Overrides(), **overrides))


def context(seconds: float = SECONDS, access: Access | None = None) -> RequestContext:
    return RequestContext("id-1", asyncio.get_running_loop().time() + seconds, access=access)


@dataclass(frozen=True, slots=True)
class Office:
    """Where teams work: a model, a retriever, and the stand-in behind the model."""

    service: OpenAIStandIn
    model: ChatModel
    retriever: Retriever

    def parts(self, team: Agents, concurrent_calls: int = 8) -> AgentParts:
        return AgentParts(team, self.model, self.retriever, concurrent_calls=concurrent_calls)

    async def events(
        self,
        team: Agents,
        request: ChatRequest | None = None,
        *,
        seconds: float = SECONDS,
        access: Access | None = None,
        concurrent_calls: int = 8,
        seen: Callable[[ChatEvent], Awaitable[None]] | None = None,
    ) -> list[ChatEvent]:
        """The events of a turn; `seen` is told each as it comes."""
        turn = agents_turn(request or asked(), context(seconds, access), None, self.parts(team, concurrent_calls))
        events: list[ChatEvent] = []
        async for event in turn:
            events.append(event)
            if seen:
                await seen(event)
        return events

    async def messages(self, team: Agents, request: ChatRequest | None = None, **how: Any) -> list[AgentMessage]:
        """The messages as they came, checked for what holds of every turn that does not fail."""
        first, *messages, last = await self.events(team, request, **how)
        assert isinstance(first, CompletionStarted)
        assert isinstance(last, Finished)
        said = [message for message in messages if isinstance(message, AgentMessage)]
        assert len(said) == len(messages)
        assert sorted(message.position for message in said) == [*range(len(said))]
        assert [message.total_usage for message in said[:-1]] == [None] * (len(said) - 1)
        assert said[-1].total_usage == last.usage
        return said

    def chats(self, name: str) -> list[Received]:
        """The requests of the agent's model."""
        return [chat for chat in self.service.chats if f"Be {name}." in str(chat.body["messages"])]

    def prompts(self, name: str) -> list[list[str]]:
        """What the agent's model was sent each time: `role: text`, without the instructions."""
        return [shown(chat.body) for chat in self.chats(name)]


def shown(body: dict[str, Json]) -> list[str]:
    messages = body["messages"]
    assert isinstance(messages, list)
    lines: list[str] = []
    for message in messages[1:]:
        assert isinstance(message, dict)
        calls = message.get("tool_calls")
        lines.append(f"{message['role']}: {message.get('content') or calls}")
    return lines


def texts(messages: list[AgentMessage]) -> list[tuple[str, str]]:
    return [(message.agent, message.text) for message in messages]
