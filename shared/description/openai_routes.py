"""The routes at which OpenAI's clients look, as data."""

from functools import partial
from typing import Literal, TypedDict

from shared.description.routes import CALLER_ERRORS, CHAT_ERRORS, Answer, ChatRoute, Parameter, PlainRoute
from shared.errors import NotFound
from shared.wire.openai import OPENAI
from shared.wire.openai_responses import OPENAI_RESPONSES


class OpenaiModel(TypedDict):
    """What a request may name as its model."""

    id: str
    object: Literal["model"]
    created: int
    owned_by: str


class OpenaiModels(TypedDict):
    """All models."""

    object: Literal["list"]
    data: list[OpenaiModel]


_models = partial(PlainRoute, "get", tag=OPENAI.name, errors_of=OPENAI.name)

OPENAI_ROUTES = (
    ChatRoute(
        "post",
        "v1/chat/completions",
        "chat_completions",
        "Answer a conversation at OpenAI's route",
        "Answers the last message, whole or streamed as the body says; the model says who "
        "answers: `switchboard`, the team of agents or one of them.",
        tag=OPENAI.name,
        errors=CHAT_ERRORS,
        speaks=(OPENAI.name,),
    ),
    ChatRoute(
        "post",
        "v1/responses",
        "create_response",
        "Answer a conversation at OpenAI's newer route",
        "Answers the last message of the input, whole or streamed as the body says. Nothing is kept: the input is the "
        "whole conversation.",
        tag=OPENAI_RESPONSES.name,
        errors=CHAT_ERRORS,
        speaks=(OPENAI_RESPONSES.name,),
    ),
    _models(
        "v1/models",
        "list_models",
        "List the models",
        "What a request may name as its `model`.",
        {200: Answer("The models.", OpenaiModels)},
        errors=CALLER_ERRORS,
    ),
    _models(
        "v1/models/{id}",
        "get_model",
        "Get a model",
        "Whether there is a model of this name.",
        {200: Answer("The model.", OpenaiModel)},
        (Parameter("path", "id", "The model's name."),),
        errors=(*CALLER_ERRORS, NotFound),
    ),
)
"""The routes, in the documents' order."""
