"""What a turn sends to a safety service."""

import json

from shared.chat_types import ChatRequest, Message, Role
from shared.guard.chat_payloads import ANSWER, answer_buffer, prompt_buffer, prompt_texts


def test_a_prompt_is_a_chat_request_with_its_model_and_messages() -> None:
    request = ChatRequest((Message(Role.USER, "Hi"), Message(Role.ASSISTANT, "Hello"), Message(Role.USER, "And?")))
    assert json.loads(prompt_buffer(prompt_texts(request), "gpt-4o").payload) == {
        "model": "gpt-4o",
        "messages": [
            {"role": "user", "content": "Hi"},
            {"role": "assistant", "content": "Hello"},
            {"role": "user", "content": "And?"},
        ],
    }


def test_a_piece_of_an_answer_is_a_chunk_of_the_same_model() -> None:
    chunk = json.loads(answer_buffer(ANSWER, "80 %.", "a-1", "gpt-4o", 7).payload)
    assert (chunk["model"], chunk["id"], chunk["created"]) == ("gpt-4o", "a-1", 7)
    assert chunk["choices"] == [{"index": 0, "delta": {"content": "80 %."}, "finish_reason": None}]
