"""What the answers of OpenAI's two protocols share: where a text comes from, a team's text, and errors."""

from collections.abc import Iterable, Iterator, Sequence

from shared.chat_types import ChatRequest, Json
from shared.citations import citations_in
from shared.core.fold import Answer
from shared.errors import ContentFiltered, NotFound, SwitchboardError, error_text
from shared.events import AgentMessage, DataPoint, Finished, Thought
from shared.wire.context import link_to, thoughts_json
from shared.wire.framing import encode_json
from shared.wire.openai_request import OpenaiDetails
from shared.wire.protocol import Record

_ERROR_TYPES = {401: "authentication_error", 429: "rate_limit_error"}


def said(message: AgentMessage) -> str:
    """Make an agent's part of the text: its name on a line of its own, and what it says."""
    return f"**{message.agent}**\n\n{message.text}"


def joined(*several: Sequence[DataPoint]) -> tuple[DataPoint, ...]:
    """Join lists of sources; each source stays once, at its first place."""
    return tuple(dict.fromkeys(point for points in several for point in points))


def gathered(answer: Answer) -> tuple[tuple[DataPoint, ...], list[Thought]]:
    """Return the sources and the steps of an answer, with those of all messages of a team."""
    points = joined(answer.data_points, *(message.data_points for message in answer.messages))
    return points, [*answer.thoughts, *(thought for message in answer.messages for thought in message.thoughts)]


def citations(request: ChatRequest, text: str, points: Iterable[DataPoint]) -> Iterator[Record]:
    """Make the citation of each place of the text that names a source; the place is counted in characters.

    JSON names none, so that each source that was found is cited, with an empty place.
    """
    urls = {point.sourcepage: link_to(point.sourcepage, request.base_url) for point in points}
    for name, url in urls.items() if request.form else ():
        yield {"url": url, "title": name, "start_index": 0, "end_index": 0}
    for place in () if request.form else citations_in(text):
        if url := urls.get(place[1]):
            start, end = place.span()
            yield {"url": url, "title": place[1], "start_index": start, "end_index": end}


def sources_context(
    request: ChatRequest, points: Iterable[DataPoint], thoughts: Sequence[Thought], finished: Finished
) -> Record:
    """Make the key `context`, which is ours and Azure's: the sources, the search queries and the follow-ups.

    Source: Azure OpenAI 'On Your Data' API reference, 'Context'.
    """
    context: Record = {
        "citations": [
            {
                "content": point.text,
                "title": point.sourcepage,
                "url": link_to(point.sourcepage, request.base_url),
                "filepath": point.sourcepage.partition("#page=")[0],
                "chunk_id": str(number),
            }
            for number, point in enumerate(points)
        ]
    }
    if queries := [thought.description for thought in thoughts if thought.title == "Generated search query"]:
        context["intent"] = encode_json(queries).decode()
    if finished.followup_questions is not None:
        context["followup_questions"] = list[Json](finished.followup_questions)
    if OpenaiDetails.of(request).shows_thoughts:
        context["thoughts"] = thoughts_json(thoughts)
    return context


def known(**values: Json) -> Record:
    """Return the values that are not empty."""
    return {key: value for key, value in values.items() if value}


def error_keys(error: SwitchboardError, invocation_id: str) -> Record:
    """Make the keys of an error."""
    kind = "server_error" if error.status >= 500 else _ERROR_TYPES.get(error.status, "invalid_request_error")
    key, colon, _ = error.message.partition(": ")
    param = key if colon and " " not in key else None
    code = "model_not_found" if isinstance(error, NotFound) and param == "model" else error.code
    record: Record = {"message": error_text(error, invocation_id), "type": kind, "param": param, "code": code}
    if isinstance(error, ContentFiltered):
        record["param"] = "prompt"
        if error.results:
            record["innererror"] = {"code": "ResponsibleAIPolicyViolation", "content_filter_result": error.results}
    return record


def error_object(error: SwitchboardError, invocation_id: str) -> Record:
    """Make the error document. Its error is an object: the SDKs show nothing of an error that is a string."""
    return {"error": error_keys(error, invocation_id)}
