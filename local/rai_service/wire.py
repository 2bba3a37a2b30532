"""Decodes what the RAI service gets, and encodes what it sends: the counterpart of `shared/guard/rai/wire.py`."""

from google.protobuf.message import DecodeError

from shared.guard import AnalysisResult, Buffer, Completion, Finding, SafetyEvent, Watermark
from shared.guard.rai import rai_pb2 as pb
from shared.guard.rai.wire import (
    API_NUMBERS,
    SOURCE_NUMBERS,
    Commit,
    MalformedMessage,
    PolicyName,
    Stop,
    read_source,
)

_APIS = {number: api for api, number in API_NUMBERS.items()}


type Received = PolicyName | Buffer | Commit | Stop
"""What a client may send. A policy of its own is refused, since nobody here knows how it is encoded (`rai.proto`)."""


def decode_request(data: bytes) -> Received:
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
        case "aoaiRawBuffer":
            raw = request.aoaiRawBuffer
            if raw.api_name not in _APIS:
                raise MalformedMessage("A buffer's api_name is unknown, or its payloads have no published rules.")
            return Buffer(read_source(raw.source), _APIS[raw.api_name], raw.payload)
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
                    sourceType=SOURCE_NUMBERS[place.side],
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


def _result_message(event: AnalysisResult) -> pb.AnalysisResult:
    offset = pb.ContentOffset(
        sourceType=SOURCE_NUMBERS[event.place.side],
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
