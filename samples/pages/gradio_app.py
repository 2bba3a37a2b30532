"""A chat in Gradio: `python gradio_app.py`."""

from collections.abc import Iterator
from typing import Any

import gradio as gr
from openai import APIError, OpenAI

client = OpenAI(base_url="http://127.0.0.1:7071/api/v1", api_key="any")


def answer(question: str, history: list[Any]) -> Iterator[str]:
    """Show the answer as it comes, and the sentence of an error below it: after `gr.Error` the input stays locked."""
    messages: list[Any] = [{"role": said["role"], "content": said["content"][0]["text"]} for said in history]
    messages.append({"role": "user", "content": question})
    text = ""
    try:
        for chunk in client.chat.completions.create(model="switchboard", messages=messages, stream=True):
            text += (chunk.choices[0].delta.content or "") if chunk.choices else ""
            yield text
    except APIError as error:
        yield f"{text}\n\n{error.message}"


gr.ChatInterface(answer).launch()
