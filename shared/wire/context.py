"""The answer's `context` object, which several protocols share (rag-chat-http-protocol, ai-chat-protocol)."""

from collections.abc import Iterable, Sequence

from shared import events
from shared.chat_types import ChatRequest, Json
from shared.core.citation_links import path_of
from shared.core.fold import Answer
from shared.events import AgentMessage, DataPoint, Finished


def takes_plain_images(request: ChatRequest) -> bool:
    """Whether the client shows images of sources as plain URLs, and not as objects.

    The front end of azure-search-openai-demo does since f2007b27 (2025-08-29), which replaced `use_gpt4v` by
    `send_image_sources` (app/frontend/src/components/SupportingContent/SupportingContent.tsx).
    """
    return request.overrides.use_gpt4v is None


def retrieved_context(
    request: ChatRequest,
    data_points: Sequence[DataPoint],
    thoughts: Iterable[events.Thought],
    images: Sequence[events.SourceImage] = (),
    *,
    plain_images: bool = False,
) -> dict[str, Json]:
    """Make the part of the context about sources: `data_points`, with `images` if the model got some, and `thoughts`.

    The answer's id comes with it.

    `citations` are the sources' names without duplicates: newer front ends of azure-search-openai-demo link only these.
    """
    citations = dict.fromkeys(point.sourcepage for point in data_points)
    points: dict[str, Json] = {"text": [point.line for point in data_points], "citations": list[Json](citations)}
    if images:
        urls = [shown.image.data_url for shown in images]
        points["images"] = list[Json](urls) if plain_images else [{"detail": "auto", "url": url} for url in urls]
    return {"answer_id": request.answer_id, "data_points": points, "thoughts": thoughts_json(thoughts)}


def answer_context(request: ChatRequest, answer: Answer, *, plain_images: bool = False) -> dict[str, Json]:
    """Make the context of a whole answer, with `followup_questions` if requested, and the agent in a team's answer."""
    context = retrieved_context(request, answer.data_points, answer.thoughts, answer.images, plain_images=plain_images)
    if answer.message:
        context |= agent_context(answer.message)
    if answer.finished.followup_questions is not None:
        context["followup_questions"] = list[Json](answer.finished.followup_questions)
    return context


def agent_context(message: AgentMessage) -> dict[str, Json]:
    """Make the part of the context with the agent's name; if the agent failed, `error` has the error's code."""
    context: dict[str, Json] = {"agent": message.agent}
    return context | {"error": message.error.code} if message.error else context


def thoughts_json(thoughts: Iterable[events.Thought]) -> list[Json]:
    """Convert the steps of the turn to JSON, in order."""
    return [
        {"title": thought.title, "description": thought.description, "props": thought.props} for thought in thoughts
    ]


def finished_context(model: str, finished: Finished) -> dict[str, Json]:
    """Make the part of the context about the end of the answer: finish reason, model, and token usage if known.

    The protocol documents leave further keys of the context to the application; the names are those of OpenAI's API.
    """
    context: dict[str, Json] = {"finish_reason": finished.reason, "model": model}
    if finished.usage:
        context["usage"] = usage_json(finished.usage)
    return context | ({"unsupported": True} if finished.is_unsupported else {})


def filtered_context(prompt: Json = None, answer: Json = None, offsets: Json = None) -> dict[str, Json]:
    """Make the part of the context with the results of Azure's content filter; empty results are left out.

    Args:
        prompt: Results for the prompt.
        answer: Results for the answer, or a part of it.
        offsets: The part of the answer that the results are for.
    """
    found = {"prompt_filter_results": prompt, "content_filter_results": answer, "content_filter_offsets": offsets}
    return {key: value for key, value in found.items() if value}


def usage_json(usage: events.Usage) -> dict[str, Json]:
    """Convert the token counts to JSON, with the keys of OpenAI's API."""
    return {
        "prompt_tokens": usage.prompt_tokens,
        "completion_tokens": usage.completion_tokens,
        "total_tokens": usage.total_tokens,
    }


def input_output_tokens(usage: events.Usage) -> dict[str, Json]:
    """Convert the token counts to JSON, with the keys that AG-UI and the AI SDK have for them."""
    return {
        "inputTokens": usage.prompt_tokens,
        "outputTokens": usage.completion_tokens,
        "totalTokens": usage.total_tokens,
    }


def texts_by_source(points: Iterable[DataPoint]) -> dict[str, str]:
    """Return all that was found in each source by the source's name, in the order of the sources."""
    return {name: "\n\n".join(found) for name, found in passages_by_source(points).items()}


def passages_by_source(points: Iterable[DataPoint]) -> dict[str, list[str]]:
    """Return the passages that were found in each source, best first."""
    passages: dict[str, list[str]] = {}
    for point in points:
        passages.setdefault(point.sourcepage, []).append(point.text)
    return passages


def link_to(sourcepage: str, base_url: str) -> str:
    """Return the URL of a source.

    Args:
        sourcepage: The source's name, as answers cite it.
        base_url: The URL below which the routes are; empty: the link is relative to it.
    """
    return f"{base_url}{'/' if base_url else ''}content/{path_of(sourcepage)}"
