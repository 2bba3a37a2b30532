"""Encodes what a client sends to the RAI service, and decodes what it gets. Uses protobuf: import it late.

Bytes are exchanged over gRPC's generic stream. To use the service's own proto file, put it in place of `rai.proto`, run
`make proto`, and adapt this module, and `local/rai_service/wire.py`, which is the service's side.
"""

from dataclasses import dataclass

from google.protobuf import json_format
from google.protobuf.message import DecodeError

from shared import guard
from shared.guard.rai import rai_pb2 as pb

SERVICE = pb.DESCRIPTOR.services_by_name["ResponsibleAI"].full_name
"""The service's name, for a server's handlers."""
METHOD = "AnalyzeBySafetyPolicy"
"""Its one method: a stream of `ClientMessage` for a stream of `SafetyEvent`."""
PATH = f"/{SERVICE}/{METHOD}"
"""The method, for a client."""
KNOWS_POLICIES = pb.TaskSetting.DESCRIPTOR.fields_by_name["kind"].enum_type is not None
"""Whether the service reads a policy as we write it: in its own file the kind of a task is an enum, in ours a text."""


@dataclass(frozen=True, slots=True)
class PolicyName:
    """First message of a stream: analyse by a policy that the service knows."""

    name: str
    """Name of the policy at the service."""


@dataclass(frozen=True, slots=True)
class Commit:
    """The side that was sent last is complete."""


@dataclass(frozen=True, slots=True)
class Stop:
    """Stop the analysis."""


type ClientMessage = PolicyName | pb.SafetyPolicy | guard.Buffer | Commit | Stop


LARGEST_EVENT = 64 * 1024
"""Maximum bytes of one response; one with a result for each of 500 tasks has less."""


class MalformedMessage(ValueError):
    """Bytes that are no message of the service, or a message that cannot be encoded. Says why, and quotes nothing."""


class MalformedPolicy(ValueError):
    """A policy that is not valid; the message says where and why."""


def encode_request(message: ClientMessage) -> bytes:
    """Encode a message of a client.

    Raises:
        MalformedMessage: a text has half a surrogate pair.
    """
    try:
        match message:
            case PolicyName(name):
                request = pb.AnalyzeBySafetyPolicyRequest(safety_policy_name=name)
            case pb.SafetyPolicy():
                request = pb.AnalyzeBySafetyPolicyRequest(safety_policy_inline=message)
            case guard.Buffer(side, api, payload):
                raw = pb.AOAIRawBuffer(api_name=API_NUMBERS[api], source=SOURCE_NUMBERS[side], payload=payload)
                request = pb.AnalyzeBySafetyPolicyRequest(aoaiRawBuffer=raw)
            case Commit():
                request = pb.AnalyzeBySafetyPolicyRequest(commitBuffer=True)
            case Stop():
                request = pb.AnalyzeBySafetyPolicyRequest(stopProcessing=True)
        return request.SerializeToString()
    except ValueError:
        # `from None`, since protobuf's error quotes the text.
        raise MalformedMessage("This message cannot be written.") from None


def decode_response(data: bytes) -> guard.SafetyEvent:
    """Decode an event of the service, of which every byte has to be understood: what is not may be a block.

    Raises:
        MalformedMessage: it is none of the service's events, has fields that `rai.proto` does not have, or its values
            contradict each other.
    """
    if len(data) > LARGEST_EVENT:
        raise MalformedMessage(f"A response has more than {LARGEST_EVENT // 1024} KiB.")
    try:
        response = pb.AnalyzeBySafetyPolicyResponse.FromString(data)
    except DecodeError:
        raise MalformedMessage("These bytes are no response.") from None
    size = response.ByteSize()
    response.DiscardUnknownFields()  # in all messages within it
    if response.ByteSize() != size:
        raise MalformedMessage("A response has fields that rai.proto does not have.")
    match response.WhichOneof("event"):
        case "analysisResult":
            return _result(response.analysisResult)
        case "watermark":
            mark = response.watermark
            return guard.Watermark(_place(mark.sourceType, mark.messageId, mark.contentIndex), _offset(mark.offset))
        case "completion" if response.completion.end_reason:
            return guard.Completion(response.completion.end_reason, response.completion.error_description)
        case "completion":
            raise MalformedMessage("A completion has no end reason.")
        case _:
            raise MalformedMessage("A response holds no event.")


def read_policy(document: bytes) -> ClientMessage:
    """Read a policy that a person wrote as JSON.

    Raises:
        MalformedPolicy: it is no JSON, or no policy; says where.
    """
    try:
        policy = json_format.Parse(document, pb.SafetyPolicy())
    except (json_format.ParseError, ValueError) as exc:
        raise MalformedPolicy(str(exc)) from None
    if not policy.task_settings:
        raise MalformedPolicy("it names no task")
    return policy


API_NUMBERS = {
    guard.Api.COMPLETION: pb.API_NAME_COMPLETION,
    guard.Api.CHAT_COMPLETION: pb.API_NAME_CHATCOMPLETION,
    guard.Api.REALTIME: pb.API_NAME_REALTIME,
    guard.Api.IMAGE_GENERATION: pb.API_NAME_IMAGE_CREATE,
}

SOURCE_NUMBERS = {guard.Side.PROMPT: pb.SOURCE_PROMPT, guard.Side.COMPLETION: pb.SOURCE_COMPLETION}
_SOURCES = {number: source for source, number in SOURCE_NUMBERS.items()}


def read_source(number: pb.Source) -> guard.Side:
    """Tell which side a number of the proto file stands for.

    Raises:
        MalformedMessage: it is neither.
    """
    if number not in _SOURCES:
        raise MalformedMessage("A source is neither the prompt nor the completion.")
    return _SOURCES[number]


def _place(source: pb.Source, message_id: str, content_index: int) -> guard.Place:
    return guard.Place(read_source(source), message_id, _offset(content_index))


def _offset(number: int) -> int:
    if number < 0:
        raise MalformedMessage("An offset or index is negative.")
    return number


def _result(message: pb.AnalysisResult) -> guard.AnalysisResult:
    offset = message.offset
    start, end = _offset(offset.startOffset), offset.endOffset
    if end < start:
        raise MalformedMessage("A range ends before it starts.")
    place = _place(offset.sourceType, offset.messageId, offset.contentIndex)
    return guard.AnalysisResult(place, start, end, tuple(map(_finding, message.harmCategoryTaskResults)))


def _finding(outcome: pb.HarmCategoryTaskOutcome) -> guard.Finding:
    if outcome.result not in ("OK", guard.NO_MODEL):
        raise MalformedMessage("The result of an outcome is neither OK nor NoModel.")
    if not outcome.kind:
        raise MalformedMessage("An outcome has no kind.")
    result = outcome.harmCategoryTaskResult
    return guard.Finding(
        kind=outcome.kind,
        category=result.harmCategory,
        detected=result.isDetected,
        severity=result.severity,
        risk_level=result.riskLevel,
        blocking=outcome.isBlocking,
        result=outcome.result,
    )
