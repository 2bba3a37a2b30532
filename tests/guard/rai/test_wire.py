"""The messages of the RAI service as bytes: nothing is lost either way, and what is none of them is refused."""

import re
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest
from google.protobuf.message import Message
from hypothesis import given
from hypothesis import strategies as st

from local.rai_service.wire import decode_request, encode_response
from shared.guard import AnalysisResult, Api, Buffer, Completion, Finding, Place, SafetyEvent, Side, Watermark
from shared.guard.rai import rai_pb2 as pb
from shared.guard.rai.wire import (
    PATH,
    ClientMessage,
    Commit,
    MalformedMessage,
    MalformedPolicy,
    PolicyName,
    Stop,
    decode_response,
    encode_request,
    read_policy,
)
from tests.stand_ins.rai_variants import RIGHT, VARIANTS

ROOT = Path(__file__).parents[3]
GUARD = ROOT / "shared" / "guard" / "rai"

places = st.builds(Place, st.sampled_from(Side), st.text(), st.integers(0, 2**31 - 1))
findings = st.builds(
    Finding,
    kind=st.text(min_size=1),
    category=st.text(),
    detected=st.booleans(),
    severity=st.integers(-(2**31), 2**31 - 1),
    risk_level=st.text(),
    blocking=st.booleans(),
    result=st.sampled_from(["OK", "NoModel"]),
)
offsets = st.integers(0, 2**63 - 1)


@st.composite
def results(draw: st.DrawFn) -> AnalysisResult:
    start, end = sorted([draw(offsets), draw(offsets)])
    return AnalysisResult(draw(places), start, end, tuple(draw(st.lists(findings))))


events = st.one_of(
    results(), st.builds(Watermark, places, offsets), st.builds(Completion, st.text(min_size=1), st.text())
)
messages = st.one_of(
    st.builds(PolicyName, st.text()),
    st.builds(Buffer, st.sampled_from(Side), st.sampled_from(Api), st.text()),
    st.just(Commit()),
    st.just(Stop()),
)


@given(messages)
def test_what_a_client_writes_a_server_reads(message: ClientMessage) -> None:
    assert decode_request(encode_request(message)) == message


@given(events)
def test_what_a_server_writes_a_client_reads(event: SafetyEvent) -> None:
    assert decode_response(encode_response(event)) == event


@given(st.binary())
def test_garbage_is_read_as_a_message_or_refused_with_one_error(data: bytes) -> None:
    for decode in (decode_request, decode_response):
        with suppress(MalformedMessage):
            decode(data)


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"not a message",
        b"\x12\x00",  # a watermark from neither side
        b"\x12\x04\x08\x01\x20\xff",  # cut off
        b"\x12\x0d\x08\x01\x20" + b"\xff" * 9 + b"\x01",  # a negative offset
        b"\x0a\x06\x0a\x04\x08\x01\x20\x05",  # a range from 5 to 0
    ],
)
def test_a_response_that_makes_no_sense_by_itself_is_refused(data: bytes) -> None:
    with pytest.raises(MalformedMessage):
        decode_response(data)


@pytest.mark.parametrize("data", [b"", b"\x1a\x00", b"\x32\x04\x08\x04\x10\x01", b"\x32\x02\x08\x02"])
def test_a_request_that_this_mode_does_not_have_is_refused(data: bytes) -> None:
    with pytest.raises(MalformedMessage):
        decode_request(data)


def test_half_a_surrogate_pair_cannot_be_sent_and_is_not_quoted() -> None:
    with pytest.raises(MalformedMessage) as raised:
        encode_request(Buffer(Side.PROMPT, Api.CHAT_COMPLETION, "secret \ud83d"))
    assert "secret" not in str(raised.value)
    assert raised.value.__cause__ is None
    with pytest.raises(MalformedMessage):
        encode_response(Completion("\ud83d"))


@pytest.mark.parametrize(
    ("message", "data"),
    [
        (PolicyName("default"), b"\x12\x07default"),
        (Commit(), b"\x28\x01"),
        (Stop(), b"\x20\x01"),
        (Buffer(Side.PROMPT, Api.COMPLETION, "{}"), b"\x32\x08\x08\x01\x10\x01\x1a\x02{}"),
        (Buffer(Side.COMPLETION, Api.CHAT_COMPLETION, "{}"), b"\x32\x08\x08\x02\x10\x02\x1a\x02{}"),
        (Buffer(Side.PROMPT, Api.REALTIME, "{}"), b"\x32\x08\x08\x03\x10\x01\x1a\x02{}"),
        (Buffer(Side.PROMPT, Api.IMAGE_GENERATION, "{}"), b"\x32\x08\x08\x05\x10\x01\x1a\x02{}"),
    ],
)
def test_requests_have_the_published_numbers(message: ClientMessage, data: bytes) -> None:
    assert encode_request(message) == data


def test_the_method_has_the_published_name() -> None:
    assert PATH == "/rai.ResponsibleAI/AnalyzeBySafetyPolicy"


POLICY = """{"name": "strict", "taskSettings": [{"settingId": "hate", "settingEnabled": true,
 "harmCategoryTaskSetting": {"harmCategory": "hate"}, "blockingCriteria": {"enabled": true, "allowedSeverity": 0}}]}"""


def test_a_policy_is_sent_as_it_is_written() -> None:
    sent = pb.AnalyzeBySafetyPolicyRequest.FromString(encode_request(read_policy(POLICY.encode())))
    assert sent.safety_policy_inline.name == "strict"
    assert [task.harm_category_task_setting.harm_category for task in sent.safety_policy_inline.task_settings] == [
        "hate"
    ]


@pytest.mark.parametrize(
    ("document", "words"),
    [
        (b'{"taskSettings": [', "JSON"),
        (b"\xff\xfe{", "utf-8"),
        (b"[" * 100_000, "recursion"),
        (b"{}", "names no task"),
        (b'{"taskSettings": [{}, {"blocking": {}}]}', 'no field named "blocking" at "SafetyPolicy.taskSettings[1]"'),
        (b'{"taskSettings": [{"settingEnabled": "yes"}]}', "settingEnabled"),
    ],
)
def test_a_policy_that_is_none_is_refused_with_the_place(document: bytes, words: str) -> None:
    with pytest.raises(MalformedPolicy, match=re.escape(words)):
        read_policy(document)


def _found(result: str = "OK", kind: str = "HARM_CATEGORY") -> pb.AnalyzeBySafetyPolicyResponse:
    harm = pb.HarmCategoryTaskResult(harmCategory="HATE", isDetected=True, severity=3, riskLevel="HIGH")
    offset = pb.ContentOffset(sourceType=pb.SOURCE_PROMPT, messageId="0", endOffset=50)
    outcomes = [pb.HarmCategoryTaskOutcome(result=result, isBlocking=True, kind=kind, harmCategoryTaskResult=harm)]
    return pb.AnalyzeBySafetyPolicyResponse(
        analysisResult=pb.AnalysisResult(offset=offset, harmCategoryTaskResults=outcomes)
    )


def _cleared() -> pb.AnalyzeBySafetyPolicyResponse:
    mark = pb.Watermark(sourceType=pb.SOURCE_PROMPT, messageId="0", offset=5)
    return pb.AnalyzeBySafetyPolicyResponse(watermark=mark)


def _over(reason: str = "END_REASON_END_OF_STREAM") -> pb.AnalyzeBySafetyPolicyResponse:
    return pb.AnalyzeBySafetyPolicyResponse(completion=pb.Completion(end_reason=reason))


WITHIN: dict[str, tuple[pb.AnalyzeBySafetyPolicyResponse, Callable[[pb.AnalyzeBySafetyPolicyResponse], Message]]] = {
    "a response": (_found(), lambda it: it),
    "a result": (_found(), lambda it: it.analysisResult),
    "its offset": (_found(), lambda it: it.analysisResult.offset),
    "an outcome": (_found(), lambda it: it.analysisResult.harmCategoryTaskResults[0]),
    "its category": (_found(), lambda it: it.analysisResult.harmCategoryTaskResults[0].harmCategoryTaskResult),
    "a watermark": (_cleared(), lambda it: it.watermark),
    "a completion": (_over(), lambda it: it.completion),
}


@pytest.mark.parametrize("name", WITHIN)
def test_a_field_that_nobody_knows_is_found_wherever_it_is(name: str) -> None:
    response, part = WITHIN[name]
    decode_response(response.SerializeToString())
    for more in (b"\xf8\x06\x01", b"\xfa\x06\x00", b"\xfd\x06\x00\x00\x00\x00"):  # number 111: a varint, bytes, a float
        grown = pb.AnalyzeBySafetyPolicyResponse.FromString(response.SerializeToString())
        part(grown).MergeFromString(more)
        with pytest.raises(MalformedMessage, match=r"fields that rai\.proto does not have"):
            decode_response(grown.SerializeToString())


@pytest.mark.parametrize(
    ("response", "words"),
    [
        (_found(result=""), "neither OK nor NoModel"),
        (_found(result="ERROR"), "neither OK nor NoModel"),
        (_found(result="ok"), "neither OK nor NoModel"),
        (_found(kind=""), "no kind"),
        (_over(""), "no end reason"),
        (pb.AnalyzeBySafetyPolicyResponse(), "no event"),
    ],
)
def test_what_says_too_little_is_no_event(response: pb.AnalyzeBySafetyPolicyResponse, words: str) -> None:
    with pytest.raises(MalformedMessage, match=words):
        decode_response(response.SerializeToString())


def test_an_event_with_a_million_outcomes_is_none() -> None:
    response = _found()
    outcome = response.analysisResult.harmCategoryTaskResults[0]
    response.analysisResult.harmCategoryTaskResults.extend([outcome] * 1_000_000)
    with pytest.raises(MalformedMessage, match="64 KiB"):
        decode_response(response.SerializeToString())


@pytest.mark.parametrize("name", VARIANTS)
def test_what_another_file_encodes_is_refused(name: str) -> None:
    finding = Finding("HARM_CATEGORY", "HATE", detected=True, severity=3, risk_level="HIGH", blocking=True)
    found = AnalysisResult(Place(Side.COMPLETION, "0", 0), 2, 9, (finding,))
    assert decode_response(RIGHT(found)) == found
    with pytest.raises(MalformedMessage):
        decode_response(VARIANTS[name](found))


def test_each_line_of_the_proto_file_is_marked_as_published_or_ours() -> None:
    lines = (GUARD / "rai.proto").read_text().splitlines()
    substance = [line for line in lines if line.partition("//")[0].strip(" }")]
    assert len(substance) > 80
    assert not [line for line in substance if not line.endswith((" // published", " // ours"))]


def test_what_is_generated_is_what_the_proto_file_says(tmp_path: Path) -> None:
    subprocess.run([sys.executable, ROOT / "tools" / "proto.py", tmp_path], check=True, timeout=60)
    generated = {file.name: file.read_bytes() for file in tmp_path.iterdir()}
    assert generated == {name: (GUARD / name).read_bytes() for name in ("rai_pb2.py", "rai_pb2.pyi")}
