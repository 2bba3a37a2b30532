"""Vectors from OpenAI, Azure OpenAI and compatible services, as an `Embedder`."""

import asyncio
import re
from collections.abc import Sequence
from contextlib import closing
from itertools import batched

import msgspec

from shared.chat_types import Json
from shared.outbound.faults import Fault, Reason, ServiceFault
from shared.outbound.openai_service.connection import ServedModel
from shared.outbound.openai_service.endpoint import Endpoint
from shared.outbound.openai_service.service import OpenAIService

_BATCH = 128
"""Texts in a request. Services accept 2048, but also limit the tokens: 128 passages of 500 tokens are well below."""

_LARGEST_VECTOR = 256 * 1024
"""Bytes of one vector's JSON: 4,096 numbers of 20 digits are a third of it. In memory it may take 16 times more."""
_REQUEST_TIMEOUT_SECONDS = 60.0
"""Time limit of one request, retries included."""


_PREFIXES = (
    (re.compile(r"\be5\b(?!.*instruct)"), ("query: ", "passage: ")),
    (re.compile(r"\bnomic-embed-text\b"), ("search_query: ", "search_document: ")),
)
"""What a model was trained to read before each question and passage, by its name in small letters.

Source: the cards of intfloat/multilingual-e5-small and nomic-ai/nomic-embed-text-v1.5."""


class _Vector(msgspec.Struct):
    index: int
    embedding: list[float]


class _Vectors(msgspec.Struct):
    data: list[_Vector]


_decoder = msgspec.json.Decoder(_Vectors)


class OpenAIEmbedder:
    """An `Embedder` that calls `POST /embeddings`."""

    part_size = None

    def __init__(self, service: OpenAIService, model: ServedModel) -> None:
        self._service = service
        self.aclose = service.aclose
        """Closes the service, even if a chat model shares it."""
        self._model = model
        name = model.name.lower().replace("_", "-")
        prefixes = (found for pattern, found in _PREFIXES if pattern.search(name))
        self._of_question, self._of_passage = next(prefixes, ("", ""))

    @property
    def model(self) -> str:
        """The embedding model's name, and the prefix of passages."""
        return f"{self._model.name} {self._of_passage}".strip()

    async def embed(self, texts: Sequence[str], *, questions: bool = False) -> list[list[float]]:
        """See `Embedder.embed`. Without texts no request is sent."""
        prefix = self._of_question if questions else self._of_passage
        vectors: list[list[float]] = []
        for batch in batched((prefix + text for text in texts), _BATCH, strict=False):
            vectors += await self._embed_batch(batch)
        return vectors

    async def _embed_batch(self, texts: Sequence[str]) -> list[list[float]]:
        # Services refuse an empty text. A space stands in for it: neither has a meaning.
        inputs: list[Json] = [text or " " for text in texts]
        body: dict[str, Json] = {"model": self._model.name, "input": inputs, "encoding_format": "float"}

        async def attempt(endpoint: Endpoint, until: float) -> list[list[float]]:
            from shared.outbound.bounded import body_of

            with closing(await endpoint.post("/embeddings", body, until)) as response:
                async with asyncio.timeout_at(until):
                    content = await body_of(response, len(texts) * _LARGEST_VECTOR)
            vectors = _read_vectors(content, len(texts))
            endpoint.answered()
            return vectors

        deadline = asyncio.get_running_loop().time() + _REQUEST_TIMEOUT_SECONDS
        return await self._service.ask(attempt, self._model, deadline=deadline, chat=texts[0])


def _read_vectors(content: bytes, count: int) -> list[list[float]]:
    try:
        by_index = {vector.index: vector.embedding for vector in _decoder.decode(content).data}
        return [by_index[index] for index in range(count)]
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError, KeyError) as exc:
        raise ServiceFault(Fault(Reason.NOT_AN_ANSWER)) from exc
