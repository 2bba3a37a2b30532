"""Azure's own client of the Python package, as programs on the retired 'On Your Data' use it, and the running app."""

import json
import re
from collections.abc import AsyncGenerator
from typing import Any

import aiohttp
import openai as sdk
import pytest
import pytest_asyncio

from local.api_key_command import new_key
from tests.app.conftest import NO_VECTORS, hosted
from tests.app.openai_sdk import ASKED, CERTIFICATES, extra, text_of
from tests.clients.asking import Client
from tests.local.running_host import RunningHost
from tests.stand_ins.openai_service import OpenAIStandIn

pytestmark = pytest.mark.asyncio(loop_scope="session")
"""One loop with the stand-in that the tests script."""

DEPLOYMENT = "gpt-35-turbo-16k"
SECRET = "a-key-of-another-service"  # noqa: S105 (of a service that is no more)
SOURCE: Any = {
    "type": "azure_search",
    "parameters": {
        "endpoint": "https://old.search.windows.net",
        "index_name": "old",
        "authentication": {"type": "api_key", "key": SECRET},
        "fields_mapping": {"content_fields": ["content"], "vector_fields": []},
        "embedding_dependency": {"type": "deployment_name", "deployment_name": "ada"},
        "query_type": "vector_simple_hybrid",
        "semantic_configuration": "",
        "in_scope": True,
        "strictness": 3,
        "top_n_documents": 5,
        "role_information": "You are an AI assistant that helps people find information.",
        "filter": None,
    },
}
"""As sample-app-aoai-chatGPT sends it."""


@pytest_asyncio.fixture(loop_scope="session")
async def azure(app: RunningHost) -> AsyncGenerator[sdk.AsyncAzureOpenAI]:
    """Azure's client: its endpoint is the app's address with the route prefix, and nothing else is changed."""
    http = sdk.DefaultAsyncHttpxClient(verify=CERTIFICATES)
    async with sdk.AsyncAzureOpenAI(
        azure_endpoint=app.url, api_key="any", api_version="2024-10-21", max_retries=0, timeout=60, http_client=http
    ) as client:
        yield client


@pytest.fixture(params=["npm_openai", "langchain"])
def elsewhere(request: pytest.FixtureRequest) -> Client:
    """Azure's clients of the npm package and of LangChain."""
    return request.getfixturevalue(request.param)


def sources(**parameters: Any) -> dict[str, Any]:
    return {"data_sources": [{**SOURCE, "parameters": SOURCE["parameters"] | parameters}]}


async def test_a_whole_answer_names_its_sources_by_their_numbers(
    azure: sdk.AsyncAzureOpenAI, openai: OpenAIStandIn
) -> None:
    openai.reply("It pays 80 % [plan.pdf#page=3], not [doc9] or [other.pdf].")
    answer = await azure.chat.completions.create(model=DEPLOYMENT, messages=ASKED, extra_body=sources())
    (choice,) = answer.choices
    context = extra(choice.message, "context")
    number = [one["title"] for one in context["citations"]].index("plan.pdf#page=3") + 1
    assert choice.message.content == f"It pays 80 % [doc{number}], not doc9 or [other.pdf]."
    assert {"content", "title", "url", "filepath", "chunk_id"} <= context["citations"][0].keys()
    assert json.loads(context["intent"])
    assert extra(choice.message, "end_turn") is True
    assert len(context["citations"]) <= 5


async def test_a_stream_has_its_sources_first_and_its_numbers_over_the_borders_of_chunks(
    azure: sdk.AsyncAzureOpenAI, openai: OpenAIStandIn
) -> None:
    openai.reply("80 % [pl", "an.pdf", "#page=3]", " and [do", "c7", "].")
    asked = azure.chat.completions.create(model=DEPLOYMENT, messages=ASKED, stream=True, extra_body=sources())
    chunks = [chunk async for chunk in await asked]
    first, last = chunks[0].choices[0], chunks[-1].choices[0]
    titles = [one["title"] for one in extra(first.delta, "context")["citations"]]
    assert (first.delta.role, extra(first, "end_turn")) == ("assistant", False)
    assert text_of(chunks) == f"80 % [doc{titles.index('plan.pdf#page=3') + 1}] and doc7."
    assert (last.finish_reason, extra(last, "end_turn")) == ("stop", True)
    assert all(extra(chunk.choices[0].delta, "context") is None for chunk in chunks[1:])


@pytest.mark.parametrize("kind", ["answer", "stream"])
async def test_azures_clients_of_npm_and_langchain_have_the_text_with_its_numbers(
    elsewhere: Client, app: RunningHost, openai: OpenAIStandIn, kind: str
) -> None:
    openai.reply("80 % [pl", "an.pdf#page=3].")
    seen = await elsewhere.ask(app.url, kind, {"model": DEPLOYMENT, "messages": ASKED} | sources())
    assert (seen.error, seen.finish) == ({}, "stop")
    assert re.fullmatch(r"80 % \[doc\d\]\.", seen.text)
    if seen.context:  # LangChain drops it
        assert "plan.pdf#page=3" in {one["title"] for one in seen.context["citations"]}


async def test_a_second_turn_comes_with_what_a_client_kept_of_the_first(
    azure: sdk.AsyncAzureOpenAI, openai: OpenAIStandIn
) -> None:
    openai.call_tool("search_sources", {"search_queries": ["dental plan"]})
    openai.reply("Yes [plan.pdf#page=3].")
    kept: list[Any] = [
        *ASKED,
        {"role": "tool", "content": '{"citations": [], "intent": "[]"}'},
        {"role": "assistant", "content": "It pays 80 % [doc1].", "context": {"citations": []}},
        {"role": "user", "content": "And glasses?"},
    ]
    answer = await azure.chat.completions.create(model=DEPLOYMENT, messages=kept, extra_body=sources())
    assert "[doc" in (answer.choices[0].message.content or "")
    sent = json.dumps(openai.chats[-1].body)
    assert "It pays 80 %." in sent
    assert "[doc1]" not in sent


async def test_the_options_of_the_search_count(azure: sdk.AsyncAzureOpenAI, openai: OpenAIStandIn) -> None:
    openai.reply("80 %.")
    asked = sources(
        top_n_documents=1, include_contexts=["citations", "all_retrieved_documents"], role_information="Be brief."
    )
    answer = await azure.chat.completions.create(model=DEPLOYMENT, messages=ASKED, extra_body=asked)
    context = extra(answer.choices[0].message, "context")
    assert len(context["citations"]) == len(context["all_retrieved_documents"]) == 1
    assert "intent" not in context
    assert "Be brief." in json.dumps(openai.chats[-1].body)
    nothing = await azure.chat.completions.create(
        model=DEPLOYMENT, messages=ASKED, extra_body=sources(filter="category eq 'none of ours'")
    )
    assert extra(nothing.choices[0].message, "context")["citations"] == []


async def test_without_data_sources_the_documents_are_there_too(
    app: RunningHost, openai: OpenAIStandIn, http: aiohttp.ClientSession
) -> None:
    openai.reply("80 % [plan.pdf#page=3].")
    body = {"model": DEPLOYMENT, "messages": ASKED}
    async with http.post(f"{app.url}/openai/v1/chat/completions", json=body) as response:
        answer = await response.json()
    assert "[doc" in answer["choices"][0]["message"]["content"]


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"data_sources": {}}, "data_sources"),
        ({"data_sources": [SOURCE | {"parameters": 1}]}, "data_sources[0].parameters"),
        (sources(top_n_documents=0), "top_n_documents"),
        (sources(query_type="magic"), "query_type"),
        (sources(filter="price gt 3"), "data_sources[0].parameters.filter"),
        ({"data_sources": [SOURCE] * 2}, "data_sources"),
    ],
)
async def test_what_is_wrong_in_a_data_source_is_named(
    azure: sdk.AsyncAzureOpenAI, wrong: dict[str, Any], said: str
) -> None:
    with pytest.raises(sdk.BadRequestError) as caught:
        await azure.chat.completions.create(model=DEPLOYMENT, messages=ASKED, extra_body=wrong)
    assert said in caught.value.message
    assert SECRET not in caught.value.message


async def test_a_filter_of_the_model_is_an_error_in_azures_shape(
    azure: sdk.AsyncAzureOpenAI, openai: OpenAIStandIn
) -> None:
    openai.fail(400, code="content_filter")
    with pytest.raises(sdk.BadRequestError) as caught:
        await azure.chat.completions.create(model=DEPLOYMENT, messages=ASKED, extra_body=sources())
    assert caught.value.code == "content_filter"


async def test_the_models_are_listed(azure: sdk.AsyncAzureOpenAI) -> None:
    assert await anext(model.id async for model in azure.models.list()) == "switchboard"


async def test_a_key_in_azures_header_signs_in(data_dir: Any) -> None:
    key, digest = new_key()
    async with hosted(data_dir, NO_VECTORS | {"AUTH_MODE": "api-key", "API_KEYS": f"page:{digest}"}) as host:
        client = sdk.AsyncAzureOpenAI(azure_endpoint=host.url, api_key=key, api_version="2024-10-21")
        async with client:
            answer = await client.chat.completions.create(model=DEPLOYMENT, messages=ASKED, extra_body=sources())
            with pytest.raises(sdk.AuthenticationError):
                await client.with_options(api_key="other").chat.completions.create(model=DEPLOYMENT, messages=ASKED)
        assert answer.choices[0].message.content
        assert SECRET not in host.log()
