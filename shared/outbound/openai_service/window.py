"""Asks a compatible service how many tokens its model reads and writes together, and how large it is.

vLLM and many gateways say it in the list of models, llama.cpp in `/props`, LM Studio in `/api/v0/models`, and Ollama in
`/api/ps` for a model that is loaded. Imports aiohttp: import it late.
"""

import asyncio
import re
from collections.abc import Mapping
from contextlib import closing
from typing import cast

import msgspec

from shared.chat_types import Json
from shared.outbound.bounded import body_of
from shared.outbound.faults import Reason
from shared.outbound.openai_service.sender import Refused, Sender, decoded

_NAMED = ("max_model_len", "loaded_context_length", "context_length", "context_window", "max_context_length")
"""Keys of a model's entry in lists, those of what is served before those of what the model could read."""
_NOT_LOADED = 4_096
"""What Ollama serves, unless the model's file or its `OLLAMA_CONTEXT_LENGTH` say otherwise. It cuts longer prompts.

Of other servers it is assumed while they load their model."""
_CONTEXT = re.compile(r"^num_ctx\s+(\d+)$", re.MULTILINE)
_SIZE = re.compile(r"(?<![\w.])(\d{1,4}(?:\.\d{1,3})?)([bm])\b", re.IGNORECASE)
"""Parameters in Ollama's words and in the names of models: `3.2B`, `qwen2.5-coder:1.5b`, `135M`."""


class Window(msgspec.Struct, frozen=True):
    """What a service says of its model."""

    tokens: int
    """Tokens that it reads and writes together."""
    is_lasting: bool = True
    """Whether it need not be asked again soon: the model is loaded."""
    billions: float | None = None
    """Parameters of the model in billions; None: neither the service nor the model's name says it."""


async def window_of(sender: Sender, base_url: str, model: str, seconds: float) -> Window | None:
    """Ask for the window of a model; None: the service does not say it. While it loads, a small one is assumed.

    Raises:
        ServiceFault, aiohttp.ClientError, TimeoutError: it is not there.
    """
    root = base_url.rstrip("/").removesuffix("/v1")
    try:
        async with asyncio.timeout(seconds):
            return await _said(sender, root, model)
    except Refused:
        return Window(_NOT_LOADED, is_lasting=False)


async def _said(sender: Sender, root: str, model: str) -> Window | None:
    entry = _entry(await _get(sender, "/models"), "data", model)
    if "meta" in entry:
        served = _object(await _get(sender, f"{root}/props")).get("default_generation_settings")
        return _read(_object(entry["meta"]) | _object(served), model, "n_ctx")
    if found := _read(entry, model, *_NAMED):
        return found
    if found := _read(_entry(await _get(sender, f"{root}/api/v0/models"), "data", model), model, *_NAMED):
        return found
    loaded = _object(await _get(sender, f"{root}/api/ps"))
    return _read(_entry(loaded, "models", model), model, *_NAMED) or (
        await _not_loaded(sender, root, model) if "models" in loaded else None
    )


async def _not_loaded(sender: Sender, root: str, model: str) -> Window | None:
    """The window that Ollama will load a model with."""
    with closing(await sender.post_once(f"{root}/api/show", {"model": model})) as response:
        said = _object(decoded(await body_of(response)))
    found = _CONTEXT.search(str(said.get("parameters", "")))
    return Window(int(found[1]) if found else _NOT_LOADED, is_lasting=False, billions=_billions(said, model))


async def _get(sender: Sender, url: str) -> object:
    """Fetch a list that not every server has; None where it is not there."""
    try:
        return await sender.get(url)
    except Refused as refused:
        if refused.fault.reason is Reason.LOADING:
            raise
        return None


def _entry(listed: object, key: str, model: str) -> Mapping[str, Json]:
    """The entry of a model in a list, or the only one: llama.cpp answers by any name."""
    entries = _object(listed).get(key)
    found = [_object(entry) for entry in entries] if isinstance(entries, list) else []
    names = (model, f"{model}:latest")
    own = [entry for entry in found if any(entry.get(key) in names for key in ("id", "name", "model"))]
    only = own or (found if len(found) == 1 else [])
    return only[0] if only else {}


def _object(value: object) -> dict[str, Json]:
    return cast("dict[str, Json]", value) if isinstance(value, dict) else {}


def _read(entry: Mapping[str, Json], model: str, *keys: str) -> Window | None:
    sizes = (entry.get(key) for key in keys)
    size = next((size for size in sizes if isinstance(size, int) and size >= 512), None)
    return Window(size, billions=_billions(entry, model)) if size else None


def _billions(entry: Mapping[str, Json], model: str) -> float | None:
    """Parameters of a model in billions: as llama.cpp counts them, or as Ollama or the model's name says."""
    if isinstance(count := entry.get("n_params"), int):
        return count / 1e9
    found = _SIZE.search(f"{_object(entry.get('details')).get('parameter_size', '')} {model}")
    return float(found[1]) / (1 if found[2] in "bB" else 1_000) if found else None
