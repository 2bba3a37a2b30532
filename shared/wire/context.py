"""The answer's `context` object, which several protocols share (rag-chat-http-protocol, ai-chat-protocol)."""

from collections.abc import Iterable, Sequence

from shared.chat_types import Json
from shared.core.fold import Answer
from shared.events import AgentMessage, DataPoint, Finished, SourceImage, Thought, Usage


def retrieved_context(
    data_points: Sequence[DataPoint], thoughts: Iterable[Thought], images: Sequence[SourceImage] = ()
) -> dict[str, Json]:
    """Where the answer comes from: `data_points`, with `images` if the model was shown some, and `thoughts`.

    `citations` are the sources' names, each once: newer front ends of azure-search-openai-demo make links of no other.
    """
    citations = dict.fromkeys(point.sourcepage for point in data_points)
    points: dict[str, Json] = {"text": [point.line for point in data_points], "citations": list[Json](citations)}
    if images:
        points["images"] = [{"detail": "auto", "url": shown.image.data_url} for shown in images]
    return {"data_points": points, "thoughts": thoughts_json(thoughts)}


def answer_context(answer: Answer) -> dict[str, Json]:
    """The same of a whole answer, with `followup_questions` if they were asked for, and whose it is in a team."""
    context = retrieved_context(answer.data_points, answer.thoughts, answer.images)
    if answer.message:
        context |= agent_context(answer.message)
    if answer.finished.followup_questions is not None:
        context["followup_questions"] = list[Json](answer.finished.followup_questions)
    return context


def agent_context(message: AgentMessage) -> dict[str, Json]:
    """Which agent said it; if it failed, `error` has the code and the text says why."""
    context: dict[str, Json] = {"agent": message.agent}
    return context | {"error": message.error.code} if message.error else context


def thoughts_json(thoughts: Iterable[Thought]) -> list[Json]:
    """The steps of the turn."""
    return [
        {"title": thought.title, "description": thought.description, "props": thought.props} for thought in thoughts
    ]


def finished_context(model: str, finished: Finished) -> dict[str, Json]:
    """How the answer ended: the reason, the model, and the tokens where they were counted.

    The documents leave the context's other keys to the application; the names are those of OpenAI's answers.
    """
    context: dict[str, Json] = {"finish_reason": finished.reason, "model": model}
    if finished.usage:
        context["usage"] = usage_json(finished.usage)
    return context


def filtered_context(prompt: Json = None, answer: Json = None, offsets: Json = None) -> dict[str, Json]:
    """What Azure's content filter found, as far as it tells.

    Args:
        prompt: In the prompt.
        answer: In the answer, or a part of it.
        offsets: Which part.
    """
    found = {"prompt_filter_results": prompt, "content_filter_results": answer, "content_filter_offsets": offsets}
    return {key: value for key, value in found.items() if value}


def usage_json(usage: Usage) -> dict[str, Json]:
    """The tokens, as OpenAI's answers have them."""
    return {
        "prompt_tokens": usage.prompt_tokens,
        "completion_tokens": usage.completion_tokens,
        "total_tokens": usage.total_tokens,
    }
