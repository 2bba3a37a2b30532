"""Prints what the app says where a secret was put into a setting, in each form: `python -m tests.secrets_told SECRET`.

A process of its own, since nothing closes the parts that are built here. Its log is on the standard error.
"""

import asyncio
import json
import logging
import sys
import tempfile

from msgspec.structs import asdict

from shared.errors import SwitchboardError
from shared.parts import build_service
from shared.settings import Settings

CLOSED = "https://127.0.0.1:9"
SEARCH = {"AZURE_SEARCH_ENDPOINT": CLOSED, "AZURE_SEARCH_INDEX": "i", "AZURE_SEARCH_API_KEY": "k"}
BESIDE = {
    "OPENAI_API_KEY": {"OPENAI_CHAT_MODEL": "m", "OPENAI_BASE_URL": f"{CLOSED}/v1"},
    "AZURE_OPENAI_API_KEY": {"AZURE_OPENAI_ENDPOINT": CLOSED, "AZURE_OPENAI_CHAT_DEPLOYMENT": "d"},
    "CONTENT_SAFETY_API_KEY": {
        "CONTENT_SAFETY_ENDPOINT": CLOSED,
        "RAI_MODE": "enforce",
        "RAI_BACKEND": "content-safety",
    },
    "RAI_TOKEN": {"RAI_ENDPOINT": CLOSED, "RAI_MODE": "enforce"},
    "AZURE_SEARCH_API_KEY": SEARCH,
    "AZURE_VISION_API_KEY": {"AZURE_VISION_ENDPOINT": CLOSED, **SEARCH},
    "DOCUMENT_INTELLIGENCE_API_KEY": {"DOCUMENT_INTELLIGENCE_ENDPOINT": CLOSED},
    "CONTENT_STORAGE": {},
    "AzureWebJobsStorage": {},
    "APPLICATIONINSIGHTS_CONNECTION_STRING": {},
    "API_KEYS": {"AUTH_MODE": "api-key"},
    "OPENAI_BASE_URL": {"OPENAI_CHAT_MODEL": "m"},
    "AZURE_OPENAI_ENDPOINT": {"AZURE_OPENAI_CHAT_DEPLOYMENT": "d", "AZURE_OPENAI_API_KEY": "k"},
    "AZURE_SEARCH_ENDPOINT": SEARCH,
}
"""Each setting that holds a secret, or may be given one, with what it needs to be used."""


def forms(secret: str) -> tuple[str, ...]:
    """The secret in the form of each setting, and in none."""
    return (
        *(secret, f"sk-{secret}\nX-Evil: 1", f"ké{secret}", f"Bearer {secret}", f"name:{secret}"),
        f"AccountName=a;AccountKey={secret};EndpointSuffix=invalid",
        f"BlobEndpoint={CLOSED}/{secret};SharedAccessSignature=sig={secret}",
        f"InstrumentationKey={secret};IngestionEndpoint={CLOSED}",
        f"https://user:{secret}@127.0.0.1:9",
        f"{CLOSED}/?api-key={secret}",
    )


async def told(setting: str, value: str, folder: str) -> str:
    """What health says with this value, or the sentence in its place."""
    try:
        service = build_service(Settings.read({**BESIDE[setting], setting: value, "DATA_DIR": folder}))
        parts = await service.check()
    except SwitchboardError as error:
        return error.message
    return json.dumps({name: asdict(part) for name, part in parts.items()}, ensure_ascii=False)


async def tell_all(secret: str) -> None:
    """Print what is told of each form in each setting."""
    with tempfile.TemporaryDirectory() as folder:
        for setting in BESIDE:
            for said in await asyncio.gather(*(told(setting, value, folder) for value in forms(secret))):
                sys.stdout.write(f"{setting} {said}\n")


if __name__ == "__main__":
    logging.basicConfig(level=logging.DEBUG)
    asyncio.run(tell_all(sys.argv[1]))
