"""Images are in memory once while the model is asked."""

import tracemalloc
from copy import replace

from shared.chat_models import ModelText
from shared.chat_types import ImagePart, Message, Role
from tests.stand_ins.dropping_openai import TEXT, DroppingOpenAI
from tests.stand_ins.openai_connected import QUESTION, ask, connection_to, model_of
from tests.stand_ins.openai_service import OpenAIStandIn

LARGE = 4 * 1024 * 1024


async def test_images_are_encoded_while_they_are_sent(service: OpenAIStandIn) -> None:
    image = ImagePart("image/png", bytes(LARGE))
    request = replace(QUESTION, messages=(Message(Role.USER, "What is it?", images=(image,) * 5),))
    async with DroppingOpenAI() as dropping:
        dropping.may_answer.set()
        async with model_of(replace(connection_to(service), base_url=dropping.base_url)) as model:
            await ask(model)  # imports what later requests need
            await dropping.received.get()
            tracemalloc.start()
            try:
                assert ModelText(TEXT) in await ask(model, request)
                peak = tracemalloc.get_traced_memory()[1]
            finally:
                tracemalloc.stop()
            assert await dropping.received.get() > 5 * LARGE * 4 / 3
    assert peak < LARGE
