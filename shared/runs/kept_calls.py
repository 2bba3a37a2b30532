"""A model that repeats no call of a run that has ended: a run that another runner takes over goes on from there."""

from collections import Counter
from collections.abc import AsyncGenerator
from contextlib import aclosing, suppress
from copy import replace

import msgspec

from shared.chat_models import ChatModel, ModelEvent, ModelFinished, ModelRequest
from shared.chat_types import Message, RequestContext
from shared.errors import SwitchboardError
from shared.runs import NEW, Conflict, ObjectStore, packing, records


class KeptCalls:
    """A `ChatModel` that keeps each call that ends, and answers the same call from what is kept.

    A call is the same if it has the same place in the turn, where that is known. Else it is the same if it has the same
    request, and as many before it in this run had the same request too: if a search finds something else in a later
    run, or the date has changed, the request differs, and the model is asked.

    Args:
        model: Answers what is not kept.
        store: Keeps calls. They hold what the guard has not seen: nobody is shown them.
        run_id: The run.
        is_new: Whether no earlier runner can have kept calls of it.
    """

    def __init__(self, model: ChatModel, store: ObjectStore, run_id: str, *, is_new: bool = False) -> None:
        self.takes_images = model.takes_images
        self.takes_tools = model.takes_tools
        self.room = model.room
        self.check = model.check
        self._model = model
        self._store = store
        self._folder = f"{run_id}/calls"
        self._is_new = is_new
        self._times: Counter[str] = Counter()

    async def stream(self, request: ModelRequest, context: RequestContext) -> AsyncGenerator[ModelEvent]:
        """Yield the answer as it is made, or the kept one at once. It is kept before its end goes out."""
        key = _key(request)
        name = f"{self._folder}/{key}-{self._times[key]}"
        self._times[key] += 1
        kept = list[ModelEvent]()
        with suppress(SwitchboardError, ValueError):  # if it cannot be read, the model is asked again
            found = None if self._is_new else await self._store.read(name)
            kept = packing.unpack(found.data) if found else []
        if kept:
            for event in kept:
                yield event
            return
        events: list[ModelEvent] = []
        async with aclosing(self._model.stream(request, context)) as answer:
            async for event in answer:
                events.append(event)
                if not isinstance(event, ModelFinished):
                    yield event
        if events:
            # Conflict: the runner that had the run before this one has kept it meanwhile.
            with suppress(Conflict, SwitchboardError):
                await self._store.write(name, packing.pack(packing.joined(events)), NEW)
        for event in events:
            if isinstance(event, ModelFinished):
                yield event


def _key(request: ModelRequest) -> str:
    """Hash a request. The ids of tool calls count by their order only: an agent replaces some by random ones."""
    ids: dict[str, str] = {}

    def known(made: str) -> str:
        return ids.setdefault(made, str(len(ids)))

    def plain(message: Message) -> Message:
        calls = tuple(replace(call, id=known(call.id)) for call in message.tool_calls)
        answered = None if message.tool_call_id is None else known(message.tool_call_id)
        return replace(message, tool_calls=calls, tool_call_id=answered)

    if request.place:
        return records.digest(request.place)[:40]
    return records.digest(msgspec.json.encode(replace(request, messages=tuple(map(plain, request.messages)))))[:40]
