"""A chat in Chainlit: `chainlit run chainlit_app.py`."""

import chainlit as cl
from openai import APIError, AsyncOpenAI

client = AsyncOpenAI(base_url="http://127.0.0.1:7071/api/v1", api_key="any")


@cl.on_message
async def answer(_: cl.Message) -> None:
    """Show the answer as it comes, and the sentence of an error below it."""
    reply = cl.Message("")
    try:
        stream = await client.chat.completions.create(
            model="switchboard", messages=cl.chat_context.to_openai(), stream=True
        )
        async for chunk in stream:
            await reply.stream_token((chunk.choices[0].delta.content or "") if chunk.choices else "")
    except APIError as error:
        await reply.stream_token(f"\n\n{error.message}")
    finally:  # after Stop, too
        await reply.update()
