"""What the companion function reads and writes."""

import json

import pytest

from shared.chat_types import Json
from shared.errors import BadRequest
from shared.guard import AnalysisResult, Api, Buffer, Completion, Finding, Place, Side, Watermark
from shared.guard.payloads import PlacedText, read_texts
from shared.wire.rai_body import analysis_json, event_json, parse_analysis

EVENT: dict[str, Json] = {"sourceType": "PROMPT", "apiName": "Chatcompletion", "payload": '{"messages": []}'}
PLACE = Place(Side.PROMPT, "0", 0)
DONE = Completion("END_REASON_END_OF_STREAM")


def result(*, blocking: bool) -> AnalysisResult:
    return AnalysisResult(PLACE, 0, 50, (Finding("HARM_CATEGORY", "HATE", True, 3, "HIGH", blocking),))


def test_a_payload_that_is_a_string_is_forwarded_as_it_is() -> None:
    text = '{ "messages":[ ] ,"x":1.50}\n'
    assert parse_analysis(EVENT | {"payload": text}) == [Buffer(Side.PROMPT, Api.CHAT_COMPLETION, text)]


def test_a_payload_that_is_an_object_is_written_compactly_with_its_keys_in_order() -> None:
    payload: Json = {"model": "m", "messages": [{"role": "user", "content": "Grüße"}], "a": None}
    [buffer] = parse_analysis(EVENT | {"payload": payload})
    assert buffer.payload == '{"model":"m","messages":[{"role":"user","content":"Grüße"}],"a":null}'


@pytest.mark.parametrize("api", Api)
@pytest.mark.parametrize("source", Side)
def test_words_count_in_any_case(api: Api, source: Side) -> None:
    for change in (str.lower, str.upper, str.title):
        [buffer] = parse_analysis(EVENT | {"apiName": change(api.value), "sourceType": change(source.value)})
        assert (buffer.api, buffer.side) == (api, source)


@pytest.mark.parametrize("source", Side)
def test_a_plain_text_is_a_message_or_an_answer_of_its_own(source: Side) -> None:
    [buffer] = parse_analysis({"text": "Grüße", "sourceType": source.value})
    assert read_texts(buffer) == [PlacedText(Place(source, "0", 0), "Grüße")]


def test_a_plain_text_is_a_prompt_unless_told_with_the_model_that_would_get_it() -> None:
    [buffer] = parse_analysis({"text": "Hello", "unknown": 1}, "gpt-4o")
    assert (buffer.side, json.loads(buffer.payload)) == (
        Side.PROMPT,
        {"model": "gpt-4o", "messages": [{"role": "user", "content": "Hello"}]},
    )


def test_what_a_designer_leaves_blank_is_left_out() -> None:
    blank: dict[str, Json] = {"sourceType": "", "apiName": None, "payload": None, "events": None}
    assert parse_analysis(blank | {"text": "Hi"}) == parse_analysis({"text": "Hi"})
    assert parse_analysis({"text": "", "events": "", **EVENT}) == parse_analysis(EVENT)


def test_a_list_is_one_conversation_in_its_order() -> None:
    buffers = parse_analysis({"events": [EVENT, {"text": "Hi", "sourceType": "COMPLETION"}]})
    assert [buffer.side for buffer in buffers] == [Side.PROMPT, Side.COMPLETION]


def test_a_list_may_have_as_many_events_as_the_error_says() -> None:
    assert len(parse_analysis({"events": list[Json]([EVENT]) * 1_000})) == 1_000


@pytest.mark.parametrize(
    ("body", "says"),
    [
        ({}, "^text: is missing or empty. Send one, or an event with sourceType, apiName and payload.$"),
        ({"payload": {}}, "^sourceType: is missing. apiName: is missing.$"),
        (EVENT | {"sourceType": "BOTH"}, "^sourceType: should be 'PROMPT' or 'COMPLETION'.$"),
        (
            EVENT | {"apiName": "Chat"},
            "^apiName: should be 'Chatcompletion', 'Realtime', 'Completion' or 'Imagegeneration'.$",
        ),
        (EVENT | {"apiName": 1}, "^apiName: should be 'Chatcompletion'"),
        (EVENT | {"payload": []}, "^payload: should be a JSON object, or a string that holds one.$"),
        (EVENT | {"payload": None}, "^payload: is missing.$"),
        (EVENT | {"apiName": ""}, "^apiName: is missing.$"),
        (EVENT | {"payload": " "}, "^payload: is empty.$"),
        (EVENT | {"payload": "no JSON"}, "^payload: should be a JSON object, or a string that holds one.$"),
        (EVENT | {"payload": '{"messages": ['}, "^payload: should be a JSON object, or a string that holds one.$"),
        (EVENT | {"payload": "[{}]"}, "^payload: should be a JSON object, or a string that holds one.$"),
        (EVENT | {"payload": '{"n": NaN}'}, "^payload: should be a JSON object, or a string that holds one.$"),
        (EVENT | {"payload": '{"n": [' + "[]," * 60_000 + "1]}"}, "^payload: holds more than 100,000 values.$"),
        ({"text": ""}, "^text: is missing or empty."),
        ({"text": " \n"}, "^text: is empty.$"),
        ({"text": None, "sourceType": "PROMPT"}, "^text: is missing or empty."),
        ({"text": 1, "sourceType": "X"}, "^text: should be a valid string. sourceType: should be"),
        ({"text": "a", "payload": "{}"}, "one of the two"),
        ({"events": []}, "^The list is empty."),
        ({"events": {}}, "^events: should be a list.$"),
        (
            {"events": [EVENT, {"text": "Hi"}, {"text": "Ho"}]},
            "^Event 3 of the list: two texts of one side follow",
        ),
        ({"events": [EVENT] * 1_001}, "^events: should have at most 1,000 items."),
        ({"events": [EVENT, 1]}, "^Event 2 of the list: should be an object.$"),
        ({"events": [EVENT | {"apiName": "x"}]}, "^Event 1 of the list: apiName: should be"),
        ({"events": [[EVENT]]}, "^Event 1 of the list: should be an object.$"),
    ],
)
def test_what_is_wrong_is_named_with_what_is_accepted(body: dict[str, Json], says: str) -> None:
    with pytest.raises(BadRequest, match=says):
        parse_analysis(body)


def test_events_have_the_shapes_and_names_of_the_document() -> None:
    assert event_json(result(blocking=True)) == {
        "analysisResult": {
            "offset": {
                "sourceType": "PROMPT",
                "messageId": "0",
                "contentIndex": 0,
                "startOffset": 0,
                "endOffset": 50,
            },
            "harmCategoryTaskResults": [
                {
                    "result": "OK",
                    "isBlocking": True,
                    "kind": "HARM_CATEGORY",
                    "harmCategoryTaskResult": {
                        "harmCategory": "HATE",
                        "isDetected": True,
                        "severity": 3,
                        "riskLevel": "HIGH",
                    },
                }
            ],
        }
    }
    assert event_json(Watermark(PLACE, 7)) == {
        "watermark": {"sourceType": "PROMPT", "messageId": "0", "contentIndex": 0, "offset": 7}
    }
    assert event_json(DONE) == {"completion": {"end_reason": "END_REASON_END_OF_STREAM", "error_description": ""}}


@pytest.mark.parametrize("blocking", [True, False])
def test_a_whole_analysis_says_whether_anything_is_blocked(blocking: bool) -> None:
    told = analysis_json([result(blocking=False), result(blocking=blocking), DONE])
    assert told["blocked"] is blocking
    assert isinstance(told["events"], list)
    assert len(told["events"]) == 3
