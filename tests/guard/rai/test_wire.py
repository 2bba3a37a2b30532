"""The messages of the RAI service as bytes: nothing is lost either way, and what is none of them is refused."""

import json
import re
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from local.rai_service.wire import decode_request, encode_response
from shared.chat_types import Json
from shared.guard import AnalysisResult, Api, Buffer, Completion, Finding, Place, SafetyEvent, Side, Watermark
from shared.guard.rai.wire import (
    PATH,
    ClientMessage,
    Commit,
    InlinePolicy,
    MalformedMessage,
    MalformedPolicy,
    PolicyName,
    Stop,
    decode_response,
    encode_request,
    read_policy,
)

ROOT = Path(__file__).parents[3]
GUARD = ROOT / "shared" / "guard" / "rai"

TASK: dict[str, Json] = {
    "settingId": "hate",
    "settingEnabled": True,
    "appliedFor": [{"role": "user", "source": "prompt"}],
    "kind": "harmCategory",
    "harmCategoryTaskSetting": {"harmCategory": "hate"},
    "blockingCriteria": {"enabled": True, "kind": "severity", "allowedSeverity": 0},
}
POLICY: dict[str, Json] = {"name": "strict", "taskSettings": [TASK]}

places = st.builds(Place, st.sampled_from(Side), st.text(), st.integers(0, 2**31 - 1))
findings = st.builds(
    Finding,
    kind=st.text(),
    category=st.text(),
    detected=st.booleans(),
    severity=st.integers(-(2**31), 2**31 - 1),
    risk_level=st.text(),
    blocking=st.booleans(),
    result=st.text(),
)
offsets = st.integers(0, 2**63 - 1)


@st.composite
def results(draw: st.DrawFn) -> AnalysisResult:
    start, end = sorted([draw(offsets), draw(offsets)])
    return AnalysisResult(draw(places), start, end, tuple(draw(st.lists(findings))))


@st.composite
def policies(draw: st.DrawFn) -> InlinePolicy:
    task = st.fixed_dictionaries({"settingId": st.text(), "settingEnabled": st.booleans()})
    return read_policy(json.dumps({"name": draw(st.text()), "taskSettings": draw(st.lists(task, min_size=1))}))


events = st.one_of(results(), st.builds(Watermark, places, offsets), st.builds(Completion, st.text(), st.text()))
messages = st.one_of(
    st.builds(PolicyName, st.text()),
    policies(),
    st.builds(Buffer, st.sampled_from(Side), st.sampled_from(Api), st.text()),
    st.just(Commit()),
    st.just(Stop()),
)


@given(messages)
@example(read_policy(json.dumps(POLICY)))
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


def test_a_policy_is_read_with_every_value_that_it_leaves_out() -> None:
    assert read_policy(json.dumps(POLICY).encode()) == InlinePolicy(POLICY)
    read = read_policy('{"taskSettings": [{"settingId": "x", "blockingCriteria": {}}]}').policy
    assert read["name"] == ""
    assert read["taskSettings"] == [
        {
            "settingId": "x",
            "settingEnabled": False,
            "appliedFor": [],
            "kind": "",
            "blockingCriteria": {"enabled": False, "kind": "", "allowedSeverity": 0},
        }
    ]


@pytest.mark.parametrize(
    ("document", "words"),
    [
        ('{"taskSettings": [', "no JSON, from line 1, column 19"),
        (b"\xff\xfe{", "no JSON in UTF-8"),
        ("[" * 100_000, "no JSON in UTF-8"),
        ("[]", "it should be an object"),
        ("{}", "taskSettings is missing or empty"),
        ('{"taskSettings": null}', "taskSettings should be a list"),
        ('{"taskSettings": {}}', "taskSettings should be a list"),
        ('{"taskSettings": [3]}', "taskSettings[0] should be an object"),
        (
            '{"taskSettings": [{}, {"blocking": {}}]}',
            "taskSettings[1].blocking is no key of a policy; known here: sett",
        ),
        ('{"taskSettings": [{"settingEnabled": "yes"}]}', "taskSettings[0].settingEnabled has a value of the wrong"),
        ('{"taskSettings": [{"blockingCriteria": 3}]}', "taskSettings[0].blockingCriteria should be an object"),
        (
            '{"taskSettings": [{"blockingCriteria": {"allowedSeverity": 1.5}}]}',
            "taskSettings[0].blockingCriteria.allowedSeverity has a value of the wrong type",
        ),
        ('{"name": "\\ud83d", "taskSettings": [{}]}', "name has a value of the wrong type"),
        ('{"task_settings": [{}]}', "task_settings is no key of a policy; known here: taskSettings, name"),
    ],
)
def test_a_policy_that_is_none_is_refused_with_the_place(document: str | bytes, words: str) -> None:
    with pytest.raises(MalformedPolicy, match=re.escape(words)):
        read_policy(document)


def test_each_line_of_the_proto_file_is_marked_as_published_or_ours() -> None:
    lines = (GUARD / "rai.proto").read_text().splitlines()
    substance = [line for line in lines if line.partition("//")[0].strip(" }")]
    assert len(substance) > 80
    assert not [line for line in substance if not line.endswith((" // published", " // ours"))]


def test_what_is_generated_is_what_the_proto_file_says(tmp_path: Path) -> None:
    subprocess.run([sys.executable, ROOT / "tools" / "proto.py", tmp_path], check=True, timeout=60)
    generated = {file.name: file.read_bytes() for file in tmp_path.iterdir()}
    assert generated == {name: (GUARD / name).read_bytes() for name in ("rai_pb2.py", "rai_pb2.pyi")}
