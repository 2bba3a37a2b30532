"""A turn behind Prompt Shields: what it says goes out when what it is based on is no attack.

The question, files, sources and results of tools are checked while the model already answers; until then events wait.
An attacked question or file ends the turn. If a source is attacked, or a result of the caller's tool, the turn begins
again without it, since the model may have obeyed it. What agents find and their tools return is checked before their
models read it. With `annotate` nothing waits but the end, which says what was found.
"""

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, Callable, Iterable
from contextlib import aclosing
from copy import replace

from shared import events
from shared.chat_types import ChatRequest, Json, Message, RequestContext, Role
from shared.errors import ContentFiltered, SwitchboardError
from shared.guard import Side, rules, source_guard
from shared.guard.shields import WITHHELD, Shields

_LONGEST_HELD = 256 * 1024
"""Characters of text that wait; with more, the model has to wait too."""
_MOST_TIMES = 4
"""How often a turn begins at most."""
_ALL_ATTACKED = "The safety check withheld the documents that this answer would be made of. Ask in other words."

type Begin = Callable[[ChatRequest, frozenset[events.DataPoint]], AsyncGenerator[events.ChatEvent]]
"""Begins a turn that does not use these sources."""


def shielded(
    begin: Begin, request: ChatRequest, context: RequestContext, shields: Shields
) -> AsyncGenerator[events.ChatEvent]:
    """Run a turn behind the shields.

    Raises:
        ContentFiltered: the question or a file is an attack.
        SwitchboardError: an error of the turn, or a fault of the check that is not forgiven.
    """
    return _ShieldedTurn(begin, request, context, shields).shown()


class _Again(Exception):
    """The turn has to begin again."""


class _ShieldedTurn:
    def __init__(self, begin: Begin, request: ChatRequest, context: RequestContext, shields: Shields) -> None:
        self._begin = begin
        self._request = request
        self._context = context
        self._shields = shields
        self._without = frozenset[events.DataPoint]()
        self._seen = set[events.DataPoint]()
        self._others = set[int | str]()
        """Attacked texts of the request by their places, and results of tools by the ids of their calls."""
        self._has_begun = False

    async def shown(self) -> AsyncGenerator[events.ChatEvent]:
        """Yield the events that may go out."""
        asked = asyncio.create_task(self._check_request())
        checks = {asked}
        try:
            for _ in range(_MOST_TIMES):
                try:
                    async with aclosing(self._attempt(checks)) as shown:
                        async for event in shown:
                            self._has_begun = True
                            yield event
                except _Again:
                    self._seen -= self._without
                else:
                    return
            raise ContentFiltered(_ALL_ATTACKED, earlier=())
        finally:
            for check in checks:
                check.cancel()
            await asyncio.gather(*checks, return_exceptions=True)

    async def _attempt(self, checks: set[asyncio.Task[None]]) -> AsyncGenerator[events.ChatEvent]:
        held = deque[events.ChatEvent]()
        async with aclosing(self._begin(self._request, self._without)) as turn:
            event: events.ChatEvent | None = None
            while True:
                if not (checks and self._shields.enforced):
                    for shown in self._released(held):
                        yield shown
                    event = await anext(turn, None)
                else:
                    if sum(len(one.text) for one in held if isinstance(one, events.TextDelta)) > _LONGEST_HELD:
                        await self._settled(checks)
                    pulled = asyncio.ensure_future(anext(turn, None))
                    try:
                        while checks and not pulled.done():
                            await asyncio.wait({pulled, *checks}, return_when=asyncio.FIRST_COMPLETED)
                            self._settle(checks)
                        for shown in self._released(held) if not checks else ():
                            yield shown
                        event = await pulled
                    finally:
                        pulled.cancel()
                        await asyncio.gather(pulled, return_exceptions=True)
                self._look_at(event, checks)
                if event is None or isinstance(event, events.Finished):
                    await self._settled(checks)
                if event is None:
                    break
                held.append(event)
        for shown in self._released(held):
            yield shown

    def _released(self, held: deque[events.ChatEvent]) -> Iterable[events.ChatEvent]:
        while held:
            yield from self._shown(held.popleft())

    def _look_at(self, event: events.ChatEvent | None, checks: set[asyncio.Task[None]]) -> None:
        """Begin to check the sources that are new."""
        if isinstance(event, events.Retrieved | events.AgentMessage):
            new = [source for source in source_guard.sources_of(event) if source not in self._seen]
            self._seen.update(new)
            if new:
                checks.add(asyncio.create_task(self._check_sources(new)))
        elif isinstance(event, events.ToolEnded) and event.text == WITHHELD:
            self._others.add(event.call_id)
        elif isinstance(event, events.ToolEnded) and not self._shields.enforced:
            checks.add(asyncio.create_task(self._check_result(event)))

    async def _settled(self, checks: set[asyncio.Task[None]]) -> None:
        if checks:
            await asyncio.wait(checks)
        self._settle(checks)

    def _settle(self, checks: set[asyncio.Task[None]]) -> None:
        """Take the checks that have ended; raise what they raised."""
        again = False
        for check in [check for check in checks if check.done()]:
            checks.discard(check)
            try:
                check.result()
            except _Again:
                again = True
        if again and self._shields.enforced and not self._has_begun:
            raise _Again

    async def _check_request(self) -> None:
        request = self._request
        first = len(request.messages) - 1 if request.single_turn else 0
        said = [(at, one) for at, one in enumerate((*request.messages, *request.steps)) if at >= first]
        prompts = [(at, one.content) for at, one in said if one.role is Role.USER]
        files = [(at, str(file)) for at, one in said for file in one.files]
        results = [(at, one.content) for at, one in said if one.role is Role.TOOL]
        attacks = await self._attacked([text for _, text in prompts], [text for _, text in (*files, *results)])
        places = [at for (at, _), is_attack in zip((*prompts, *files, *results), attacks, strict=True) if is_attack]
        refused = [at for at in places if (*request.messages, *request.steps)[at].role is not Role.TOOL]
        self._others.update(places)
        if refused and self._shields.enforced:
            earlier = tuple(refused) if all(at < len(request.messages) - 1 for at in refused) else ()
            found: Json = {"filtered": True, "detected": True}
            kind = "jailbreak" if any(attacks[: len(prompts)]) else "indirect_attack"
            raise ContentFiltered(
                rules.EARLIER_REFUSED if earlier else rules.REFUSED[Side.PROMPT], results={kind: found}, earlier=earlier
            )
        if places and self._shields.enforced:
            self._request = _without_results(request, frozenset(places))
            raise _Again

    async def _check_sources(self, sources: list[events.DataPoint]) -> None:
        attacks = await self._attacked([], [source.text for source in sources])
        attacked = frozenset(source for source, is_attack in zip(sources, attacks, strict=True) if is_attack)
        self._without |= attacked
        if attacked:
            raise _Again

    async def _check_result(self, ended: events.ToolEnded) -> None:
        if any(await self._attacked([], [ended.text])):
            self._others.add(ended.call_id)

    async def _attacked(self, prompts: list[str], documents: list[str]) -> tuple[bool, ...]:
        try:
            return await self._shields.attacked(prompts, documents, self._context)
        except SwitchboardError as fault:
            if not self._shields.forgive(fault):
                raise
            return (False,) * (len(prompts) + len(documents))

    def _shown(self, event: events.ChatEvent) -> Iterable[events.ChatEvent]:
        match event:
            case events.Retrieved() if self._without and self._shields.enforced:
                yield source_guard.without_sources(event, self._without)
            case events.CompletionStarted() if self._shields.enforced and not self._shields.fault:
                results: dict[str, Json] = {"jailbreak": {"filtered": False, "detected": False}}
                yield replace(event, prompt_filter_results=rules.merged_prompt(results, event.prompt_filter_results))
            case events.Finished():
                if not self._request.team:
                    yield events.ThoughtsAdded((self._thought(),))
                yield event
            case _:
                yield event

    def _thought(self) -> events.Thought:
        found = len(self._without) + len(self._others) + len(self._shields.withheld)
        if self._shields.fault:
            text = f"Not everything was checked for attacks. {self._shields.fault.message}"
        elif found:
            text = f"{found} of the texts that were checked hold orders to the model: "
            text += "they are withheld." if self._shields.enforced else "nothing is held back (RAI_MODE)."
        else:
            text = "The question and what the answer is based on are checked, and no attack was found."
        names: list[Json] = [source.sourcepage for source in self._without]
        return events.Thought("Prompt Shields", text, {"enforced": self._shields.enforced, "sources": names})


def _without_results(request: ChatRequest, places: frozenset[int]) -> ChatRequest:
    """Put a note in place of what tools of the caller returned at these places of its messages and steps."""

    def noted(at: int, message: Message) -> Message:
        return replace(message, content=WITHHELD) if at in places and message.role is Role.TOOL else message

    said = [noted(at, message) for at, message in enumerate((*request.messages, *request.steps))]
    count = len(request.messages)
    return replace(request, messages=tuple(said[:count]), steps=tuple(said[count:]))
