"""The routes at which OpenAI's clients look, as data."""

from shared.description.routes import CHAT_ERRORS, Answer, ChatRoute, ErrorType, PlainRoute
from shared.description.schemas import INTEGER, STRING, Schema, constant, list_of, record, ref
from shared.errors import InternalError, NotConfigured, NotFound, NotSignedIn, Unavailable
from shared.wire.openai import OPENAI
from shared.wire.openai_responses import OPENAI_RESPONSES

_MODEL = record(
    {"id": STRING, "object": constant("model"), "created": INTEGER, "owned_by": STRING},
    description="What a request may name as its model.",
)
_MODELS = record({"object": constant("list"), "data": list_of(ref("OpenaiModel"))}, description="All models.")
OPENAI_SCHEMAS: dict[str, Schema] = {"OpenaiModel": _MODEL, "OpenaiModels": _MODELS}
"""Schemas of the answers of these routes, by name."""
_ID: Schema = {
    "name": "id",
    "in": "path",
    "required": True,
    "description": "The model's name.",
    "schema": STRING,
}
_ERRORS: tuple[ErrorType, ...] = (NotSignedIn, InternalError, Unavailable, NotConfigured)


OPENAI_ROUTES: tuple[ChatRoute | PlainRoute, ...] = (
    ChatRoute(
        "v1/chat/completions",
        "post",
        "chat_completions",
        OPENAI.name,
        "Answer a conversation at OpenAI's route",
        "Answers the last message, whole or streamed as the body says; the model says who "
        "answers: `switchboard`, the team of agents or one of them.",
        CHAT_ERRORS,
        speaks=(OPENAI.name,),
    ),
    ChatRoute(
        "v1/responses",
        "post",
        "create_response",
        OPENAI_RESPONSES.name,
        "Answer a conversation at OpenAI's newer route",
        "Answers the last message of the input, whole or streamed as the body says. Nothing is kept: the input is the "
        "whole conversation.",
        CHAT_ERRORS,
        speaks=(OPENAI_RESPONSES.name,),
    ),
    PlainRoute(
        "v1/models",
        "get",
        "list_models",
        OPENAI.name,
        "List the models",
        "What a request may name as its `model`.",
        _ERRORS,
        answers={200: Answer("The models.", schema=ref("OpenaiModels"))},
        errors_of=OPENAI.name,
    ),
    PlainRoute(
        "v1/models/{id}",
        "get",
        "get_model",
        OPENAI.name,
        "Get a model",
        "Whether there is a model of this name.",
        (*_ERRORS, NotFound),
        answers={200: Answer("The model.", schema=ref("OpenaiModel"))},
        parameters=(_ID,),
        errors_of=OPENAI.name,
    ),
)
