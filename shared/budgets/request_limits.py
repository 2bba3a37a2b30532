"""What a request may hold: the size of its question, and prompts of its own."""

from shared.chat_types import ChatRequest, Role
from shared.core.context_window import tokens_in
from shared.errors import NotAllowed, TooLarge
from shared.settings import Settings


def check_request(request: ChatRequest, settings: Settings) -> None:
    """Check a request before anything is done for it.

    Raises:
        TooLarge: its question is too long.
        NotAllowed: it brings a system prompt, and callers may bring none here.
    """
    most = settings.chat_max_question_tokens
    if (count := tokens_in(request.question)) > most:
        raise TooLarge(
            f"The question takes some {count:,} tokens, and this app takes {most:,} (CHAT_MAX_QUESTION_TOKENS): "
            "shorten it."
        )
    if not settings.callers_may_prompt and _brings_prompt(request):
        raise NotAllowed(
            "Callers may not change the system prompt here (CHAT_CALLER_PROMPTS): leave out prompt_template and "
            "messages with the role 'system'."
        )


def _brings_prompt(request: ChatRequest) -> bool:
    return request.overrides.prompt_template is not None or any(
        message.role is Role.SYSTEM for message in request.messages
    )
