"""How services say that a conversation is too long for the model: each in the bytes that it sends."""

import json

import pytest

from shared.chat_models import ModelText
from shared.chat_models.openai_chat import OpenAIChatModel
from shared.chat_types import Json
from shared.errors import BadRequest
from shared.outbound.asking import RetryPolicy
from shared.outbound.faults import Reason
from shared.outbound.openai_service.reasons import read_fault
from shared.outbound.openai_service.service import OpenAIService
from tests.stand_ins.openai_connected import ask, connection_to, model_of
from tests.stand_ins.openai_service import OpenAIStandIn

LM_STUDIO = (
    "The number of tokens to keep from the initial prompt is greater than the context length (n_keep: 5869>= n_ctx: "
    "4096). Try to load the model with a larger context length, or provide a shorter input."
)
LM_STUDIO_NEWER = (
    "Trying to keep the first 5869 tokens when context the overflows. However, the model is loaded with context length "
    "of only 4096 tokens, which is not enough."
)
VLLM = (
    "This model's maximum context length is 4096 tokens. However, you requested 5869 tokens (5357 in the messages, 512 "
    "in the completion). Please reduce the length of the messages or completion."
)
REFUSALS: dict[str, tuple[int, Json, int | None]] = {
    "llama.cpp": (
        400,
        {
            "code": 400,
            "message": "request (5869 tokens) exceeds the available context size (4096 tokens), try increasing it",
            "type": "exceed_context_size_error",
            "n_prompt_tokens": 5869,
            "n_ctx": 4096,
        },
        4096,
    ),
    "llama.cpp, in its middle": (500, {"code": 500, "message": "Context size has been exceeded."}, None),
    "LM Studio": (400, LM_STUDIO, 4096),
    "LM Studio, newer": (
        400,
        LM_STUDIO_NEWER,
        4096,
    ),
    "vLLM": (400, {"object": "error", "message": VLLM, "type": "BadRequestError", "code": 400}, 4096),
    "vLLM, newer": (
        400,
        {"message": "The decoder prompt (length 5869) is longer than the maximum model length of 4096.", "code": 400},
        4096,
    ),
    "Ollama": (400, {"message": "the input length exceeds the context length", "type": "api_error"}, None),
    "OpenAI": (400, {"message": "Too many.", "code": "context_length_exceeded"}, None),
}


@pytest.mark.parametrize(("status", "error", "window"), REFUSALS.values(), ids=REFUSALS)
def test_each_way_to_say_too_long_is_known_with_the_window_that_it_names(
    status: int, error: Json, window: int | None
) -> None:
    fault = read_fault(error, status=status)
    assert (fault.reason, fault.window) == (Reason.TOO_LONG, window)


@pytest.mark.parametrize("data", [{"error": LM_STUDIO}, {"object": "error", "message": VLLM, "code": 400}])
async def test_it_is_known_in_a_stream_with_the_setting_to_change(data: dict[str, Json]) -> None:
    async with OpenAIStandIn() as service, model_of(connection_to(service)) as model:
        service.reply_raw(f"data: {json.dumps(data)}\n\ndata: [DONE]\n\n".encode())
        with pytest.raises(BadRequest, match="CHAT_SOURCE_TOKENS"):
            await ask(model)


async def test_a_model_that_is_being_loaded_is_waited_for() -> None:
    async with OpenAIStandIn() as stand_in:
        service = OpenAIService(connection_to(stand_in), retries=RetryPolicy(first_backoff=0.01))
        loading: Json = {"message": "Loading model", "type": "unavailable_error", "code": 503}
        stand_in.fail(503, error=loading, times=4)  # more often than other faults are tried again
        stand_in.reply("Hi")
        assert (await ask(OpenAIChatModel(service)))[0] == ModelText("Hi")
        await service.aclose()
