"""What was said, in the shape of the conventions."""

import json

from shared.chat_types import FileText, ImagePart, Message, Role, ToolCall
from shared.telemetry.operation import documents, input_messages, output_message, output_messages


def test_a_prompt_has_its_texts_and_calls_and_of_images_the_type() -> None:
    call = ToolCall("1", "search", '{"query": "eye"}')
    prompt = [
        Message(Role.SYSTEM, "Be brief."),
        Message(Role.USER, "Eye?", files=(FileText("a.txt", "Of a file."),), images=(ImagePart("image/png", b"\xff"),)),
        Message(Role.ASSISTANT, "", tool_calls=(call,)),
        Message(Role.TOOL, "Found.", tool_call_id="1"),
    ]
    assert json.loads(input_messages(prompt)) == [
        {"role": "system", "parts": [{"type": "text", "content": "Be brief."}]},
        {
            "role": "user",
            "parts": [
                {"type": "image", "mime_type": "image/png"},
                {"type": "text", "content": "<file>\nName: a.txt\n\nOf a file.\n</file>\n\nEye?"},
            ],
        },
        {
            "role": "assistant",
            "parts": [{"type": "tool_call", "id": "1", "name": "search", "arguments": '{"query": "eye"}'}],
        },
        {"role": "tool", "parts": [{"type": "tool_call_response", "id": "1", "response": "Found."}]},
    ]


def test_an_answer_says_how_it_ended_and_whose_it_is() -> None:
    whole = output_message("Yes.", "stop", author="Ada")
    calls = output_message("", "tool_calls", [ToolCall("1", "search", "{}")])
    cut = output_message("Ye", None)
    assert [message["finish_reason"] for message in (whole, calls, cut)] == ["stop", "tool_call", "error"]
    assert json.loads(output_messages(whole)) == [
        {
            "role": "assistant",
            "parts": [{"type": "text", "content": "Yes."}],
            "finish_reason": "stop",
            "name": "Ada",
        }
    ]


def test_documents_have_a_name_and_a_score() -> None:
    assert json.loads(documents([("plan.pdf#page=3", 0.5), ("b.md", None)])) == [
        {"id": "plan.pdf#page=3", "score": 0.5},
        {"id": "b.md", "score": None},
    ]
