"""Encodes what a client sends to the RAI service, and decodes what it gets. Uses protobuf: import it late.

Bytes are exchanged over gRPC's generic stream. To use the service's own proto file, put it in place of `rai.proto`, run
`make proto`, and adapt this module, and `local/rai_service/wire.py`, which is the service's side.
"""

import json
from dataclasses import dataclass
from typing import cast

from google.protobuf import json_format
from google.protobuf.descriptor import Descriptor
from google.protobuf.message import DecodeError, Message
from google.protobuf.message_factory import GetMessageClass

from shared.chat_types import Json
from shared.guard import AnalysisResult, Api, Buffer, Completion, Finding, Place, SafetyEvent, Side, Watermark
from shared.guard.rai import rai_pb2 as pb

SERVICE = pb.DESCRIPTOR.services_by_name["ResponsibleAI"].full_name
"""The service's name, for a server's handlers."""
METHOD = "AnalyzeBySafetyPolicy"
"""Its one method: a stream of `ClientMessage` for a stream of `SafetyEvent`."""
PATH = f"/{SERVICE}/{METHOD}"
"""The method, for a client."""


@dataclass(frozen=True, slots=True)
class PolicyName:
    """First message of a stream: analyse by a policy that the service knows."""

    name: str
    """Name of the policy at the service."""


@dataclass(frozen=True, slots=True)
class InlinePolicy:
    """First message of a stream: analyse by the policy in it. Made by `read_policy`."""

    policy: dict[str, Json]
    """A `SafetyPolicy` as JSON, in camel case; values that were left out are false, 0 or empty."""


@dataclass(frozen=True, slots=True)
class Commit:
    """The side that was sent last is complete."""


@dataclass(frozen=True, slots=True)
class Stop:
    """Stop the analysis."""


type ClientMessage = PolicyName | InlinePolicy | Buffer | Commit | Stop


class MalformedMessage(ValueError):
    """Bytes that are no message of the service, or a message that cannot be encoded."""


class MalformedPolicy(ValueError):
    """A policy that is not valid; the message says where and why."""


def encode_request(message: ClientMessage) -> bytes:
    """Encode a message of a client.

    Raises:
        MalformedMessage: a text has half a surrogate pair, or a policy is not valid.
    """
    try:
        match message:
            case PolicyName(name):
                request = pb.AnalyzeBySafetyPolicyRequest(safety_policy_name=name)
            case InlinePolicy(policy):
                inline = json_format.ParseDict(policy, pb.SafetyPolicy())
                request = pb.AnalyzeBySafetyPolicyRequest(safety_policy_inline=inline)
            case Buffer(side, api, payload):
                raw = pb.AOAIRawBuffer(api_name=API_NUMBERS[api], source=SOURCE_NUMBERS[side], payload=payload)
                request = pb.AnalyzeBySafetyPolicyRequest(aoaiRawBuffer=raw)
            case Commit():
                request = pb.AnalyzeBySafetyPolicyRequest(commitBuffer=True)
            case Stop():
                request = pb.AnalyzeBySafetyPolicyRequest(stopProcessing=True)
        return request.SerializeToString()
    except (ValueError, json_format.ParseError):
        # `from None`, since protobuf's error quotes the text.
        raise MalformedMessage("This message cannot be written.") from None


def decode_response(data: bytes) -> SafetyEvent:
    """Decode an event of the service.

    Raises:
        MalformedMessage: it is none of the service's events, or its values contradict each other.
    """
    try:
        response = pb.AnalyzeBySafetyPolicyResponse.FromString(data)
    except DecodeError:
        raise MalformedMessage("These bytes are no response.") from None
    match response.WhichOneof("event"):
        case "analysisResult":
            return _result(response.analysisResult)
        case "watermark":
            mark = response.watermark
            return Watermark(_place(mark.sourceType, mark.messageId, mark.contentIndex), _offset(mark.offset))
        case "completion":
            return Completion(response.completion.end_reason, response.completion.error_description)
        case _:
            raise MalformedMessage("A response holds no event.")


def read_policy(document: str | bytes) -> InlinePolicy:
    """Read a policy that a person wrote as JSON.

    Raises:
        MalformedPolicy: it is no JSON, has an unknown key, or sets no task; names the place.
    """
    try:
        policy: Json = json.loads(document)
    except json.JSONDecodeError as exc:
        raise MalformedPolicy(f"it is no JSON, from line {exc.lineno}, column {exc.colno} on") from None
    except (UnicodeDecodeError, RecursionError):
        raise MalformedPolicy("it is no JSON in UTF-8") from None
    inline = inline_policy(_parsed(_check(policy, pb.SafetyPolicy, ""), pb.SafetyPolicy(), "it"))
    if not inline.policy["taskSettings"]:
        raise MalformedPolicy("taskSettings is missing or empty: say what to look for")
    return inline


def _check(value: Json, kind: type[Message], path: str) -> dict[str, Json]:
    """Check JSON against a message of protobuf, since the errors of protobuf's own parser are hard to understand."""
    if not isinstance(value, dict):
        raise MalformedPolicy(f"{path or 'it'} should be an object")
    fields = {field.json_name: field for field in kind.DESCRIPTOR.fields}
    for key, inner in value.items():
        where = f"{path}.{key}" if path else key
        field = fields.get(key)
        if field is None:
            raise MalformedPolicy(f"{where} is no key of a policy; known here: {', '.join(fields)}")
        if field.is_repeated and not isinstance(inner, list):
            raise MalformedPolicy(f"{where} should be a list")
        if field.message_type is None:
            _parsed({key: inner}, kind(), where)
            continue
        # The cast is needed since the stubs have two classes of descriptors that are alike.
        part = GetMessageClass(cast("Descriptor", field.message_type))
        if isinstance(inner, list):
            for index, item in enumerate(inner):
                _check(item, part, f"{where}[{index}]")
        else:
            _check(inner, part, where)
    return value


def _parsed[M: Message](value: dict[str, Json], message: M, path: str) -> M:
    try:
        return json_format.ParseDict(value, message)
    except (json_format.ParseError, ValueError):
        raise MalformedPolicy(f"{path} has a value of the wrong type") from None


def inline_policy(policy: pb.SafetyPolicy) -> InlinePolicy:
    """Convert a policy in a message to JSON."""
    return InlinePolicy(json_format.MessageToDict(policy, always_print_fields_with_no_presence=True))


API_NUMBERS = {
    Api.COMPLETION: pb.API_NAME_COMPLETION,
    Api.CHAT_COMPLETION: pb.API_NAME_CHATCOMPLETION,
    Api.REALTIME: pb.API_NAME_REALTIME,
    Api.IMAGE_GENERATION: pb.API_NAME_IMAGE_CREATE,
}

SOURCE_NUMBERS = {Side.PROMPT: pb.SOURCE_PROMPT, Side.COMPLETION: pb.SOURCE_COMPLETION}
_SOURCES = {number: source for source, number in SOURCE_NUMBERS.items()}


def read_source(number: pb.Source) -> Side:
    """Tell which side a number of the proto file stands for.

    Raises:
        MalformedMessage: it is neither.
    """
    if number not in _SOURCES:
        raise MalformedMessage("A source is neither the prompt nor the completion.")
    return _SOURCES[number]


def _place(source: pb.Source, message_id: str, content_index: int) -> Place:
    return Place(read_source(source), message_id, _offset(content_index))


def _offset(number: int) -> int:
    if number < 0:
        raise MalformedMessage("An offset or index is negative.")
    return number


def _result(message: pb.AnalysisResult) -> AnalysisResult:
    offset = message.offset
    start, end = _offset(offset.startOffset), offset.endOffset
    if end < start:
        raise MalformedMessage("A range ends before it starts.")
    place = _place(offset.sourceType, offset.messageId, offset.contentIndex)
    return AnalysisResult(place, start, end, tuple(map(_finding, message.harmCategoryTaskResults)))


def _finding(outcome: pb.HarmCategoryTaskOutcome) -> Finding:
    result = outcome.harmCategoryTaskResult
    return Finding(
        kind=outcome.kind,
        category=result.harmCategory,
        detected=result.isDetected,
        severity=result.severity,
        risk_level=result.riskLevel,
        blocking=outcome.isBlocking,
        result=outcome.result,
    )
