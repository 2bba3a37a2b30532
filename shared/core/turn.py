"""The turn: answers one question, as a stream of events (DESIGN, 'The turn (RAG)')."""

from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from copy import replace

from shared.chat_models import ChatModel
from shared.chat_types import ChatRequest, Json, Message, Passage, RequestContext
from shared.citations import citable_in
from shared.core.answering import Answering
from shared.core.attachments import attached_thoughts
from shared.core.callers_tools import brings_tools
from shared.core.context_window import fit_history, history_of
from shared.core.json_answers import can_be_json, json_form
from shared.core.links import KnownLinks
from shared.core.prompts import answer_prompt, model_request, task_prompt, version_of
from shared.core.searching import search_of_turn, search_thoughts
from shared.core.source_images import ImagesShown, SourceImages
from shared.events import ChatEvent, DataPoint, Retrieved, Thought
from shared.retrieval import Retriever, SearchQuery, SearchResult


async def run_turn(
    request: ChatRequest,
    context: RequestContext,
    model: ChatModel,
    retriever: Retriever,
    images: SourceImages,
) -> AsyncGenerator[ChatEvent]:
    """Answer the request: search for sources, then let the model answer from them.

    Yields:
        `Retrieved`, `CompletionStarted`, `TextDelta`s, `ThoughtsAdded` if there are further thoughts, `Finished`.

    Raises:
        SwitchboardError: the model or the retriever failed.
    """
    room = await model.room()
    history = history_of(request, room.history)
    searches, found, spent, note = await search_of_turn(request, history, context, model, retriever, room.sources)
    shown = await images.shown(request, found.passages, context)
    texts = shown.texts(found.passages) if searches else None
    first = found.passages[0].sourcepage if found.passages else ""
    is_json = room.answers_json and bool(texts) and not shown.images and can_be_json(request)
    prompt = answer_prompt(request, history, texts, [one.image for one in shown.images], first, is_json=is_json)
    yield _retrieved(request, searches, found, shown, prompt, note)

    want_followups = request.overrides.suggest_followup_questions
    call = replace(
        model_request(request, prompt, want_followups=want_followups),
        sources=() if shown.without_sources else found.passages,
        rarities=found.rarities,
        titles=found.titles,
        foreign=found.foreign,
    )
    if is_json:
        form = json_form(found.passages, want_followups=want_followups)
        call = replace(call, form=form, temperature=call.temperature or 0.0)
    known_links = KnownLinks(request, context, lambda: found.passages)
    citable = {passage.sourcepage for passage in found.passages} | citable_in(prompt)
    answering = Answering(request, known_links, lambda: citable, want_followups=want_followups, is_json=is_json)
    async with aclosing(model.stream(call, context)) as said:
        async for event in said:
            if part := answering.take(event):
                yield part
    # The built-in model cites by itself; tools and images hold what no text of a source does.
    compares = model.takes_tools and searches and not (brings_tools(request) or shown.images or request.form)
    for event in answering.end(found.passages if compares else None, spent):
        yield event


def _retrieved(
    request: ChatRequest,
    searches: Sequence[SearchQuery],
    found: SearchResult,
    shown: ImagesShown,
    prompt: Sequence[Message],
    note: str,
) -> Retrieved:
    data_points = tuple(map(DataPoint.of, found.passages))
    thoughts = (
        Thought("Original user query", request.question),
        *attached_thoughts(request),
        *search_thoughts(searches, found, request.overrides, images_as_asked=shown.as_asked, note=note),
        *shown.thoughts,
        _prompt_thought(prompt, data_points),
    )
    return Retrieved(
        data_points,
        thoughts,
        tool_inputs=tuple(search.text for search in searches if search.text != request.question),
        images=shown.images,
        prompt_version=version_of(prompt[0].content),
    )


async def run_task(request: ChatRequest, context: RequestContext, model: ChatModel) -> AsyncGenerator[ChatEvent]:
    """Do a task of the front end, such as a chat's title, from the words of the request alone; else as `run_turn`."""
    prompt = task_prompt(request, fit_history(request.messages[:-1]))
    thoughts = (Thought("Original user query", request.question), _prompt_thought(prompt, ()))
    yield Retrieved((), thoughts, prompt_version=version_of(prompt[0].content))
    call = replace(model_request(request, prompt, want_followups=False), language=None, is_task=True)
    answering = Answering(request, KnownLinks(request, context, tuple[Passage]), tuple[str], want_followups=False)
    async with aclosing(model.stream(call, context)) as said:
        async for event in said:
            if shown := answering.take(event):
                yield shown
    for event in answering.end(None):
        yield event


def _prompt_thought(prompt: Sequence[Message], data_points: tuple[DataPoint, ...]) -> Thought:
    """Make the thought that shows the prompt, with the name and the size of each image in place of its bytes.

    Its version is that of the system message, which comes first.
    """
    shown: list[Json] = [
        {"role": message.role.value, "content": "\n".join([*map(str, message.images), message.text, *_calls(message)])}
        for message in prompt
    ]
    return Thought("Prompt", shown, {"version": version_of(prompt[0].content)}, quotes=data_points)


def _calls(message: Message) -> list[str]:
    return [f"{call.name}({call.arguments})" for call in message.tool_calls]
