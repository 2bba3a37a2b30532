import subprocess
import sys
from copy import replace

import pytest

from shared.chat_models import ModelText
from shared.chat_models.openai_chat import OpenAIChatModel
from shared.errors import Unavailable
from shared.outbound.asking import RetryPolicy
from shared.outbound.openai_service.connection import ServedModel
from shared.outbound.openai_service.service import OpenAIService
from shared.retrieval.embedders.openai_compatible import OpenAIEmbedder
from tests.stand_ins.openai_connected import ask, connection_to
from tests.stand_ins.openai_service import OpenAIStandIn


async def test_chat_and_embeddings_share_their_connections() -> None:
    async with OpenAIStandIn() as stand_in:
        service = OpenAIService(connection_to(stand_in))
        model = OpenAIChatModel(service)
        embedder = OpenAIEmbedder(service, ServedModel(stand_in.embedding_model, "OPENAI_EMBEDDING_MODEL"))
        stand_in.reply("Hi")
        assert (await ask(model))[0] == ModelText("Hi")
        assert len(await embedder.embed(["word"])) == 1
        assert len({request.client_port for request in stand_in.requests}) == 1
        await service.aclose()


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
async def test_a_redirect_takes_the_question_nowhere(status: int) -> None:
    async with OpenAIStandIn() as stand_in, OpenAIStandIn() as elsewhere:
        service = OpenAIService(connection_to(stand_in))
        location = elsewhere.settings["OPENAI_BASE_URL"] + "/chat/completions"
        stand_in.fail(status, headers={"Location": location})
        with pytest.raises(Unavailable):
            await ask(OpenAIChatModel(service))
        assert elsewhere.requests == []
        await service.aclose()


async def test_closing_what_was_never_used_is_fine() -> None:
    async with OpenAIStandIn() as stand_in:
        await OpenAIService(connection_to(stand_in)).aclose()
        assert stand_in.requests == []


def test_the_http_client_is_imported_at_the_first_request_only() -> None:
    code = (
        "import sys, shared.chat_models.openai_chat, shared.retrieval.embedders.openai_compatible;"
        "sys.exit(bool({'aiohttp', 'azure'} & set(sys.modules)))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


async def test_a_model_on_this_machine_is_asked_without_the_proxy_of_the_environment(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
    monkeypatch.delenv("no_proxy", raising=False)
    async with OpenAIStandIn() as stand_in:
        service = OpenAIService(connection_to(stand_in))
        stand_in.reply("Hi")
        assert (await ask(OpenAIChatModel(service)))[0] == ModelText("Hi")
        await service.aclose()


async def test_a_proxy_that_stands_between_is_named_where_the_service_cannot_be_reached(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
    monkeypatch.delenv("no_proxy", raising=False)
    async with OpenAIStandIn() as stand_in:
        away = replace(connection_to(stand_in), base_url="http://models.example/v1")
    service = OpenAIService(away, retries=RetryPolicy(0))
    with pytest.raises(Unavailable, match="check OPENAI_BASE_URL and HTTP_PROXY"):
        await ask(OpenAIChatModel(service))
    await service.aclose()
