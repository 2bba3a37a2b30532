"""The prompts. Text that stays the same comes first, so that a service's prompt cache can serve it."""

import hashlib
import re
from collections.abc import Iterable, Sequence
from copy import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec

from shared.chat_models import ModelRequest, ToolDefinition
from shared.chat_types import ChatRequest, ImagePart, Message, Role
from shared.core.callers_tools import brings_tools

_PLAIN_NAME = re.compile(r"[\w./#=-]{1,80}")
"""A name that stands outside its source may be no sentence, which could be an instruction."""


def _read() -> dict[str, str]:
    """Read the prompts of `prompts.txt`, by their names."""
    text = Path(__file__).with_name("prompts.txt").read_text(encoding="utf-8")
    text = re.sub(r"^//.*\n", "", text, flags=re.MULTILINE).replace("\\\n", "")
    found = re.findall(r"^# (\w+)\n(.*?)(?=^# |\Z)", text, re.MULTILINE | re.DOTALL)
    said = {name: prompt.strip() for name, prompt in found}
    parts = {f"{{{name}}}": said[name] for name in ("grounds", "citing")}
    return {name: re.sub(r"\{\w+\}", lambda at: parts.get(at[0], at[0]), prompt) for name, prompt in said.items()}


PROMPTS = _read()
"""The texts of all prompts. Their places `{name}` are filled in where they are used."""

_DEFINED: dict[str, Any] = msgspec.json.decode(Path(__file__).with_name("search_tools.json").read_bytes())
SEARCH_TOOL, SEARCH_OF_AGENTS = (ToolDefinition(**_DEFINED[name]) for name in ("search_sources", "search"))
"""What a model is offered to write search queries with, and what an agent searches with."""


def model_request(request: ChatRequest, prompt: tuple[Message, ...], *, want_followups: bool) -> ModelRequest:
    """Make the request for a call of the model: the prompt, and what the caller wants of the answer."""
    overrides = request.overrides
    return ModelRequest(
        prompt,
        request.question,
        language=overrides.language,
        want_followups=want_followups,
        temperature=overrides.temperature,
        seed=overrides.seed,
        tools=request.tools,
        tool_choice=request.tool_choice,
        max_tokens=request.max_tokens,
        form=request.form,
        reasoning_effort=request.reasoning_effort,
    )


def has_attachments(messages: Iterable[Message]) -> bool:
    """Whether a conversation has files or images of the user."""
    return any(message.files or message.images for message in messages)


def answer_prompt(
    request: ChatRequest,
    history: Sequence[Message],
    texts: Sequence[str] | None,
    images: Sequence[ImagePart] = (),
    first: str = "",
    *,
    is_json: bool = False,
) -> tuple[Message, ...]:
    """Make the prompt for the answer: instructions, the conversation, and the question after its sources.

    Args:
        request: The question.
        history: The earlier messages that fit.
        texts: The sources, as `source_text` writes them; None: none were searched for.
        images: Images of sources, each with the source's name.
        first: The name of the first source.
        is_json: Whether the model answers as JSON; see `json_answers`.
    """
    asked = request.messages[-1]
    content = f"{today()}\n\n{asked.content}"
    if texts is not None:
        content = f"Sources:\n{'\n'.join(texts) or '(none were found)'}\n\n{content}"
        if is_json:
            content += f"\n\n{PROMPTS['answer_in_json_reminder']}"
        elif texts and not request.form and _PLAIN_NAME.fullmatch(first):
            content += f"\n\n{PROMPTS['reminder'].format(name=first)}"
    rules = PROMPTS["answer_in_json" if is_json else "json_answer" if request.form else "answer"]
    attached = has_attachments((*history, asked))
    instructions = answer_instructions(request, rules, attached=attached, is_json=is_json)
    if images:
        instructions = f"{instructions}\n\n{PROMPTS['images']}"
    if request.form:
        instructions = f"{instructions}\n\n{PROMPTS['json']}"
    question = Message(Role.USER, content, files=asked.files, images=(*asked.images, *images))
    return (Message(Role.SYSTEM, instructions), *history, question, *request.steps)


def task_prompt(request: ChatRequest, history: Sequence[Message]) -> tuple[Message, ...]:
    """Make the prompt for a task of the front end."""
    return (Message(Role.SYSTEM, PROMPTS["task"]), *history, request.messages[-1])


def rewrite_prompt(request: ChatRequest, history: Sequence[Message], abroad: str = "") -> tuple[Message, ...]:
    """Make the prompt that asks for a search query, from the words of the conversation without files and tool calls."""
    spoken = [message for message in history if message.role in (Role.USER, Role.ASSISTANT) and message.content]
    words = [replace(message, tool_calls=(), files=(), images=()) for message in (*spoken, request.messages[-1])]
    more = f"\n\n{PROMPTS['rewrite_abroad'].format(languages=abroad)}" if abroad else ""
    return (Message(Role.SYSTEM, f"{PROMPTS['rewrite']}\n\n{today()}{more}"), *words)


def today() -> str:
    """The date, for `this year` and `next month`. It is not in the instructions, whose version it would change."""
    return f"Today is {datetime.now(UTC):%A, %Y-%m-%d}."


def version_of(instructions: str) -> str:
    """Return the version of a system prompt: the first eight digits of its SHA-256, so that no change goes unseen."""
    return hashlib.sha256(instructions.encode(errors="surrogatepass")).hexdigest()[:8]


def answer_instructions(request: ChatRequest, rules: str, *, attached: bool, is_json: bool = False) -> str:
    """Make the system prompt: the rules, which a request may replace or extend, and the instructions for its options.

    Parts that more requests share come earlier, for the prompt cache: follow-ups depend on the front end, the language
    on the user, and files on the question.
    """
    overrides = request.overrides
    template = overrides.prompt_template
    if template is None:
        parts = [rules]
    elif template.startswith(">>>"):
        parts = [rules, template.removeprefix(">>>").strip()]
    else:
        parts = [template]
    if overrides.suggest_followup_questions:
        parts.append(PROMPTS["followups_in_json" if is_json else "followups"])
    if overrides.language:
        parts.append(PROMPTS["language"].format(language=overrides.language))
    if attached:
        parts.append(PROMPTS["files"])
    if brings_tools(request):
        parts.append(PROMPTS["tools"])
    if request.begun:
        parts.append(PROMPTS["continue"])
    return "\n\n".join(parts)
