"""How services might encode their events otherwise than `rai.proto` guesses: each is a file of its own, made of ours.

`VARIANTS` has an encoder for each, which `RaiStandIn.encode` takes. All of them forbid what they detect, as does the
right one, `RIGHT`.
"""

from collections.abc import Callable, Mapping
from typing import cast

from google.protobuf import json_format
from google.protobuf.descriptor_pb2 import DescriptorProto, FieldDescriptorProto, FileDescriptorProto
from google.protobuf.descriptor_pool import DescriptorPool
from google.protobuf.message_factory import GetMessageClass

from shared.chat_types import Json
from shared.guard import SafetyEvent
from shared.guard.rai import rai_pb2
from shared.wire.rai_body import event_json

type Encode = Callable[[SafetyEvent], bytes]
type Messages = Mapping[str, DescriptorProto]
type Change = Callable[[Messages], None]
type Say = Callable[[Json], Json]

OUTCOME = "HarmCategoryTaskOutcome"
RESULT = "HarmCategoryTaskResult"
RESPONSE = "AnalyzeBySafetyPolicyResponse"


def variant(change: Change = lambda _: None, *, say: Say = lambda it: it) -> Encode:
    """Make an encoder.

    Args:
        change: Changes the messages of our file; enums of the file are `Results` and `Words`.
        say: Changes the JSON of each outcome.
    """
    file = FileDescriptorProto()
    rai_pb2.DESCRIPTOR.CopyToProto(file)
    for name, values in {
        "Results": ("UNKNOWN", "OK", "NoModel", "ERROR"),
        "Words": ("NOTHING", "HARM_CATEGORY", "JAILBREAK", "HATE", "VIOLENCE", "LOW", "MEDIUM", "HIGH"),
    }.items():
        enum = file.enum_type.add(name=name)
        for number, value in enumerate(values):
            enum.value.add(name=value, number=number)
    change({message.name: message for message in file.message_type})
    pool = DescriptorPool()
    pool.AddSerializedFile(file.SerializeToString())
    response = GetMessageClass(pool.FindMessageTypeByName(f"rai.{RESPONSE}"))

    def encode(event: SafetyEvent) -> bytes:
        said = cast("dict[str, Json]", _said(event_json(event), say))
        return json_format.ParseDict(said, response()).SerializeToString()

    return encode


def numbers(message: str, **of: int) -> Change:
    """Give fields of a message other numbers."""

    def change(messages: Messages) -> None:
        for field in messages[message].field:
            field.number = of.get(field.name, field.number)

    return change


def enums(message: str, **of: str) -> Change:
    """Make fields of a message enums."""

    def change(messages: Messages) -> None:
        for field in messages[message].field:
            if name := of.get(field.name):
                field.type, field.type_name = FieldDescriptorProto.TYPE_ENUM, f".rai.{name}"

    return change


def more(message: str) -> Change:
    """Give a message a field that ours does not have."""

    def change(messages: Messages) -> None:
        messages[message].field.add(
            name="more", number=15, type=FieldDescriptorProto.TYPE_BOOL, label=FieldDescriptorProto.LABEL_OPTIONAL
        )

    return change


def both(*changes: Change) -> Change:
    """Change one after the other."""

    def change(messages: Messages) -> None:
        for each in changes:
            each(messages)

    return change


def _said(event: Json, say: Say) -> Json:
    """Name the sides as the file does, forbid what is detected, and change outcomes."""
    if isinstance(event, list):
        return [_said(each, say) for each in event]
    if not isinstance(event, dict):
        return event
    said = {key: _said(value, say) for key, value in event.items()}
    if "sourceType" in said:
        said["sourceType"] = f"SOURCE_{said['sourceType']}"
    if found := said.get("harmCategoryTaskResult"):
        assert isinstance(found, dict)
        said["isBlocking"] = said["isBlocking"] or found["isDetected"]
        said = say(said)
    return said


def _with(**values: Json) -> Say:
    return lambda outcome: {**outcome, **values} if isinstance(outcome, dict) else outcome


RIGHT = variant()
VARIANTS: dict[str, Encode] = {
    "isBlocking has another number": variant(numbers(OUTCOME, isBlocking=6)),
    "result and kind change places": variant(numbers(OUTCOME, result=3, kind=1)),
    "the result of a category has another number": variant(numbers(OUTCOME, harmCategoryTaskResult=5)),
    "all numbers of an outcome are others": variant(
        numbers(OUTCOME, result=4, isBlocking=3, kind=2, harmCategoryTaskResult=1)
    ),
    "result and kind are enums": variant(enums(OUTCOME, result="Results", kind="Words")),
    "result and kind are enums, and isBlocking has another number": variant(
        both(enums(OUTCOME, result="Results", kind="Words"), numbers(OUTCOME, isBlocking=6))
    ),
    "result is an enum in the place of isBlocking": variant(
        both(enums(OUTCOME, result="Results"), numbers(OUTCOME, result=2, isBlocking=1))
    ),
    "kind is an enum": variant(enums(OUTCOME, kind="Words")),
    "category and risk are enums": variant(enums(RESULT, harmCategory="Words", riskLevel="Words")),
    "events have other numbers": variant(numbers(RESPONSE, analysisResult=11, watermark=12, completion=13)),
    "results are in the place of watermarks": variant(numbers(RESPONSE, analysisResult=2, watermark=1)),
    "a result that nobody knows": variant(say=_with(result="Blocked")),
    "no result": variant(say=_with(result="")),
    "no kind": variant(say=_with(kind="")),
    "an outcome with one field more": variant(more(OUTCOME), say=_with(more=True)),
}
"""Services that are not understood, by what is different about them."""
