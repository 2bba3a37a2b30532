"""Request bodies and JSON answers of the companion function (safety analysis).

Source: rai-aoai-alignment-mode, 'Request Event' and 'Events Returned by the Service'. A key whose value is null or
the empty string counts as missing: workflow designers send these for fields that were left empty.
"""

from typing import Annotated, Any, Literal, assert_never

from pydantic import AfterValidator, BeforeValidator, Field, WithJsonSchema

from shared.chat_types import Json
from shared.errors import BadRequest, TooLarge
from shared.guard import NO_MODEL, AnalysisResult, Api, Buffer, Completion, Finding, Place, SafetyEvent, Side, Watermark
from shared.wire.framing import Framing, encode_json
from shared.wire.request_body import MAX_VALUES, BodyModel, read_json_object

EVENTS = "events"
"""Key of the list of a conversation. A body that is a list is read as an object with this key."""
MAX_EVENTS = 1_000
"""Events of one conversation."""
ANALYSIS_EXAMPLE = '{"text": "…", "sourceType": "PROMPT"}'
ANALYSIS_LINES = Framing("application/json-lines", b"", b"\n", b"{}\n")
"""The events as lines of JSON. The keep-alive is an empty object."""

_NO_OBJECT = "should be a JSON object, or a string that holds one"
_API_WORDS = {api.value.lower(): api.value for api in Api}


def _source_word(value: object) -> object:
    return value.upper() if isinstance(value, str) else value


def _api_word(value: object) -> object:
    return _API_WORDS.get(value.lower(), value) if isinstance(value, str) else value


def _not_blank(text: str) -> str:
    if not text.strip():
        raise ValueError("is empty")
    return text


def _payload(value: Json) -> str | dict[str, Json]:
    """Check a payload. One that is a string is forwarded as it is."""
    if isinstance(value, dict):
        return value
    if not isinstance(value, str):
        raise ValueError(_NO_OBJECT)  # noqa: TRY004 (pydantic wants this one)
    try:
        read_json_object(_not_blank(value).encode())
    except TooLarge:
        raise ValueError(f"holds more than {MAX_VALUES:,} values") from None
    except BadRequest:
        raise ValueError(_NO_OBJECT) from None
    return value


SourceWord = Annotated[Literal["PROMPT", "COMPLETION"], BeforeValidator(_source_word)]


class TextBody(BodyModel):
    """A text on its own."""

    text: Annotated[str, AfterValidator(_not_blank)] = Field(description="The text to analyse.")
    source_type: SourceWord = Field(
        default="PROMPT", alias="sourceType", description="Whether it goes to a model or comes from it."
    )


class RequestEventBody(BodyModel):
    """A payload as it goes to a model, or comes from it."""

    source_type: SourceWord = Field(alias="sourceType", description="Whether it goes to a model or comes from it.")
    api_name: Annotated[
        Literal["Chatcompletion", "Realtime", "Completion", "Imagegeneration"], BeforeValidator(_api_word)
    ] = Field(alias="apiName", description="The API that the payload is of.")
    payload: Annotated[
        Any, BeforeValidator(_payload), WithJsonSchema({"anyOf": [{"type": "string"}, {"type": "object"}]})
    ] = Field(description="The request or the answer, as JSON or as a string that holds it; forwarded as it is.")


def parse_analysis(body: dict[str, Json], model: str = "") -> list[Buffer]:
    """Read the payloads of one conversation.

    Args:
        body: A text, an event, or a list of these under the key `EVENTS`.
        model: Name of the model that a plain text is for or by.

    Raises:
        BadRequest: a key is wrong; names each wrong key and its accepted values.
    """
    items = body.get(EVENTS)
    if items in (None, ""):
        return [_parse_event(body, model)]
    if not isinstance(items, list):
        raise BadRequest(f"{EVENTS}: should be a list.")
    if not items:
        raise BadRequest("The list is empty. Send at least one event.")
    if len(items) > MAX_EVENTS:
        raise BadRequest(f"{EVENTS}: should have at most {MAX_EVENTS:,} items.")
    buffers = [_parse_item(number, item, model) for number, item in enumerate(items, 1)]
    _refuse_second_text(items, buffers)
    return buffers


def event_json(event: SafetyEvent) -> dict[str, Json]:
    """The JSON of an event of the service."""
    match event:
        case AnalysisResult(place, start, end, findings):
            offset: Json = {**_place(place), "startOffset": start, "endOffset": end}
            results: Json = [_finding(finding) for finding in findings]
            return {"analysisResult": {"offset": offset, "harmCategoryTaskResults": results}}
        case Watermark(place, offset):
            return {"watermark": {**_place(place), "offset": offset}}
        case Completion(end_reason, error_description):
            return {"completion": {"end_reason": end_reason, "error_description": error_description}}
        case _:
            assert_never(event)


def analysis_json(events: list[SafetyEvent]) -> dict[str, Json]:
    """The JSON of a complete analysis."""
    results = [event for event in events if isinstance(event, AnalysisResult)]
    missing = {finding.name for result in results for finding in result.findings if finding.result == NO_MODEL}
    return {
        "blocked": any(result.blocking for result in results),
        "withoutModel": [*sorted(missing)],
        "events": [event_json(event) for event in events],
    }


def _parse_item(number: int, item: Json, model: str) -> Buffer:
    if not isinstance(item, dict):
        raise BadRequest(f"Event {number} of the list: should be an object.")
    try:
        return _parse_event(item, model)
    except BadRequest as wrong:
        raise BadRequest(f"Event {number} of the list: {wrong.message}") from None


def _refuse_second_text(items: list[Json], buffers: list[Buffer]) -> None:
    """Refuse two texts of one side in a row: both would count as the same message of the conversation."""
    is_text = [isinstance(item, dict) and item.get("text") not in (None, "") for item in items]
    for number in range(1, len(items)):
        if is_text[number - 1] and is_text[number] and buffers[number - 1].side is buffers[number].side:
            raise BadRequest(
                f"Event {number + 1} of the list: two texts of one side follow each other. Send each in a request of "
                "its own, or both as the messages of one payload."
            )


def _parse_event(body: dict[str, Json], model: str) -> Buffer:
    given = {key: value for key, value in body.items() if value not in (None, "")}
    if "text" in given:
        if "payload" in given:
            raise BadRequest("text, payload: send one of the two.")
        text = TextBody.read(given)
        return _chat_buffer(Side(text.source_type), text.text, model)
    if "payload" not in given and "apiName" not in given:
        raise BadRequest("text: is missing or empty. Send one, or an event with sourceType, apiName and payload.")
    event = RequestEventBody.read(given)
    payload = event.payload if isinstance(event.payload, str) else encode_json(event.payload).decode()
    return Buffer(Side(event.source_type), Api(event.api_name), payload)


def _chat_buffer(side: Side, text: str, model: str) -> Buffer:
    """Wrap a text as the only message of a conversation, or as the only choice of an answer."""
    if side is Side.PROMPT:
        payload: Json = {"model": model, "messages": [{"role": "user", "content": text}]}
    else:
        payload = {"model": model, "choices": [{"index": 0, "message": {"role": "assistant", "content": text}}]}
    return Buffer(side, Api.CHAT_COMPLETION, encode_json(payload).decode())


def _place(place: Place) -> dict[str, Json]:
    return {"sourceType": place.side.value, "messageId": place.message_id, "contentIndex": place.content_index}


def _finding(finding: Finding) -> Json:
    result: Json = {
        "harmCategory": finding.category,
        "isDetected": finding.detected,
        "severity": finding.severity,
        "riskLevel": finding.risk_level,
    }
    return {
        "result": finding.result,
        "isBlocking": finding.blocking,
        "kind": finding.kind,
        "harmCategoryTaskResult": result,
    }
