"""The routes at which OpenAI's clients look, as data."""

from functools import partial
from typing import Literal, TypedDict

from shared.description.routes import CALLER_ERRORS, CHAT_ERRORS, Answer, ChatRoute, Parameter, PlainRoute
from shared.errors import BadRequest, BegunAnew, KeyReused, NotFound, TooSlow
from shared.wire.openai import OPENAI
from shared.wire.openai_responses import OPENAI_RESPONSES
from shared.wire.openai_responses_shapes import OpenaiDeletedResponse, OpenaiResponse


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

_responses = partial(PlainRoute, tag=OPENAI_RESPONSES.name, errors_of=OPENAI_RESPONSES.name, visible=False)
_RESPONSE_ID = Parameter("path", "id", "The response's id.")
_RESPONSE_ERRORS = (*CALLER_ERRORS, NotFound, TooSlow)

OPENAI_ROUTES = (
    ChatRoute(
        "post",
        "v1/chat/completions",
        "chat_completions",
        "Answer a conversation at OpenAI's route",
        "Answers the last message, whole or streamed as the body says; the model says who "
        "answers: `switchboard`, the team of agents or one of them.",
        tag=OPENAI.name,
        errors=(*CHAT_ERRORS, KeyReused),
        speaks=(OPENAI.name,),
    ),
    ChatRoute(
        "post",
        "v1/responses",
        "create_response",
        "Answer a conversation at OpenAI's newer route",
        "Answers the last message of the input, whole or streamed as the body says. The answer is kept for a day, "
        "unless `store` is false.",
        tag=OPENAI_RESPONSES.name,
        errors=(*CHAT_ERRORS, KeyReused),
        speaks=(OPENAI_RESPONSES.name,),
    ),
    _responses(
        "get",
        "v1/responses/{id}",
        "get_response",
        "Get a response",
        "As it stands now, or as a stream.",
        {200: Answer("The response.", OpenaiResponse)},
        (
            _RESPONSE_ID,
            Parameter("query", "stream", "`true`: a stream of its events."),
            Parameter("query", "starting_after", "With `stream`: number of the last event that was read."),
        ),
        errors=(*_RESPONSE_ERRORS, BadRequest, BegunAnew),
    ),
    _responses(
        "delete",
        "v1/responses/{id}",
        "delete_response",
        "Delete a response",
        "Stops it, if it is being made, and deletes all that is kept of it.",
        {200: Answer("It is gone.", OpenaiDeletedResponse)},
        (_RESPONSE_ID,),
        errors=_RESPONSE_ERRORS,
    ),
    _responses(
        "post",
        "v1/responses/{id}/cancel",
        "cancel_response",
        "Stop a response",
        "Only one that is made in the background.",
        {200: Answer("The response.", OpenaiResponse)},
        (_RESPONSE_ID,),
        errors=(*_RESPONSE_ERRORS, BadRequest),
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
