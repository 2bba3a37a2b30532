"""Encodes and decodes the messages of the RAI service: the only module that uses protobuf. Import it late.

The client and the reference server exchange bytes over gRPC's generic stream, and call these functions. To use the
service's own proto file, put it in place of `rai.proto`, run `make proto`, and adapt this module.
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
                raw = pb.AOAIRawBuffer(api_name=_API_NUMBERS[api], source=_SOURCE_NUMBERS[side], payload=payload)
                request = pb.AnalyzeBySafetyPolicyRequest(aoaiRawBuffer=raw)
            case Commit():
                request = pb.AnalyzeBySafetyPolicyRequest(commitBuffer=True)
            case Stop():
                request = pb.AnalyzeBySafetyPolicyRequest(stopProcessing=True)
        return request.SerializeToString()
    except (ValueError, json_format.ParseError):
        # `from None`, since protobuf's error quotes the text.
        raise MalformedMessage("This message cannot be written.") from None


def decode_request(data: bytes) -> ClientMessage:
    """Decode a message of a client.

    Raises:
        MalformedMessage: it is none of the messages of the AOAI protocol alignment mode.
    """
    try:
        request = pb.AnalyzeBySafetyPolicyRequest.FromString(data)
    except DecodeError:
        raise MalformedMessage("These bytes are no request.") from None
    match request.WhichOneof("request"):
        case "safety_policy_name":
            return PolicyName(request.safety_policy_name)
        case "safety_policy_inline":
            return _inline(request.safety_policy_inline)
        case "aoaiRawBuffer":
            raw = request.aoaiRawBuffer
            if raw.api_name not in _APIS:
                raise MalformedMessage("A buffer's api_name is unknown, or its payloads have no published rules.")
            return Buffer(_source(raw.source), _APIS[raw.api_name], raw.payload)
        case "commitBuffer":
            return Commit()
        case "stopProcessing":
            return Stop()
        case _:
            raise MalformedMessage("A request holds none of the messages of this mode.")


def encode_response(event: SafetyEvent) -> bytes:
    """Encode an event of the service.

    Raises:
        MalformedMessage: a text has half a surrogate pair, or a number is too large.
    """
    try:
        match event:
            case AnalysisResult():
                response = pb.AnalyzeBySafetyPolicyResponse(analysisResult=_result_message(event))
            case Watermark(place, offset):
                watermark = pb.Watermark(
                    sourceType=_SOURCE_NUMBERS[place.side],
                    messageId=place.message_id,
                    contentIndex=place.content_index,
                    offset=offset,
                )
                response = pb.AnalyzeBySafetyPolicyResponse(watermark=watermark)
            case Completion(end_reason, error_description):
                completion = pb.Completion(end_reason=end_reason, error_description=error_description)
                response = pb.AnalyzeBySafetyPolicyResponse(completion=completion)
        return response.SerializeToString()
    except ValueError:
        raise MalformedMessage("This event cannot be written.") from None


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
    inline = _inline(_parsed(_check(policy, pb.SafetyPolicy, ""), pb.SafetyPolicy(), "it"))
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


def _inline(policy: pb.SafetyPolicy) -> InlinePolicy:
    return InlinePolicy(json_format.MessageToDict(policy, always_print_fields_with_no_presence=True))


_API_NUMBERS = {
    Api.COMPLETION: pb.API_NAME_COMPLETION,
    Api.CHAT_COMPLETION: pb.API_NAME_CHATCOMPLETION,
    Api.REALTIME: pb.API_NAME_REALTIME,
    Api.IMAGE_GENERATION: pb.API_NAME_IMAGE_CREATE,
}
_APIS = {number: api for api, number in _API_NUMBERS.items()}

_SOURCE_NUMBERS = {Side.PROMPT: pb.SOURCE_PROMPT, Side.COMPLETION: pb.SOURCE_COMPLETION}
_SOURCES = {number: source for source, number in _SOURCE_NUMBERS.items()}


def _source(number: pb.Source) -> Side:
    if number not in _SOURCES:
        raise MalformedMessage("A source is neither the prompt nor the completion.")
    return _SOURCES[number]


def _place(source: pb.Source, message_id: str, content_index: int) -> Place:
    return Place(_source(source), message_id, _offset(content_index))


def _offset(number: int) -> int:
    if number < 0:
        raise MalformedMessage("An offset or index is negative.")
    return number


def _result_message(event: AnalysisResult) -> pb.AnalysisResult:
    offset = pb.ContentOffset(
        sourceType=_SOURCE_NUMBERS[event.place.side],
        messageId=event.place.message_id,
        contentIndex=event.place.content_index,
        startOffset=event.start,
        endOffset=event.end,
    )
    return pb.AnalysisResult(offset=offset, harmCategoryTaskResults=map(_outcome_message, event.findings))


def _outcome_message(finding: Finding) -> pb.HarmCategoryTaskOutcome:
    result = pb.HarmCategoryTaskResult(
        harmCategory=finding.category,
        isDetected=finding.detected,
        severity=finding.severity,
        riskLevel=finding.risk_level,
    )
    return pb.HarmCategoryTaskOutcome(
        result=finding.result, isBlocking=finding.blocking, kind=finding.kind, harmCategoryTaskResult=result
    )


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
