"""Requests that schemathesis makes of the OpenAPI document: nothing that a caller sends is unhandled or undescribed.

They are sent nightly, and so are those of the Swagger document in `test_fuzz_swagger`.

The checks are schemathesis's own: no fault of ours, and the status, content type, headers and body as described. What
is left out of them, and why:

- `positive_data_acceptance`: JSON Schema cannot say that the last message has to be the user's.
- `negative_data_rejection`: the app takes more than it describes, since front ends send `""` for a field that nobody
  filled in. `assert_that_what_it_took_was_described` below holds the rest.
- `unsupported_method`: the host answers a wrong method with a 404, as Azure's does.
"""

from collections.abc import AsyncGenerator, Sequence
from pathlib import Path
from typing import Any, cast
from urllib.parse import unquote

import jsonschema_rs
import pytest
import pytest_asyncio
import schemathesis
from schemathesis import Case
from schemathesis.config import SchemathesisConfig

from tests.app.conftest import hosted
from tests.description.documents import OPENAPI
from tests.local.running_host import RunningHost

EXAMPLES = 6
"""Generated requests an operation."""
COVERED = (
    "/ai-chat/chat",
    "/ask",
    "/content/{path}",
    "/health",
    "/openapi.json",
    "/chat-history",
    "/chat-history/{id}",
    "/rai/analyze",
)
"""Where the limits of the schema are tried one by one too; other routes read their requests with the same code."""


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def checked(data_dir: Path) -> AsyncGenerator[RunningHost]:
    """The app with nothing configured but safety checks, for which the host starts the reference service."""
    async with hosted(data_dir, {"RAI_MODE": "annotate"}) as host:
        yield host


def config(covered: Sequence[str]) -> SchemathesisConfig:
    left_out = ("positive_data_acceptance", "negative_data_rejection", "unsupported_method")
    return SchemathesisConfig.from_dict(
        {
            "seed": 20240529,
            "request-timeout": 60,
            "generation": {"deterministic": True, "max-examples": EXAMPLES, "database": "none"},
            "phases": {"coverage": {"enabled": False}},
            "operations": [{"include-path": path, "phases": {"coverage": {"enabled": True}}} for path in covered],
            "checks": {name: {"enabled": False} for name in left_out},
        }
    )


openapi = schemathesis.openapi.from_dict(OPENAPI, config=config(COVERED))


def without_blanks(body: dict[str, Any]) -> dict[str, Any]:
    """A body as the app understands it: an override that is the empty string counts as left out."""
    if not isinstance(body.get("context"), dict):
        return body
    context = {key: value for key, value in body["context"].items() if value != ""}
    if isinstance(context.get("overrides"), dict):
        context["overrides"] = {key: value for key, value in context["overrides"].items() if value != ""}
    return body | {"context": context}


def assert_that_what_it_took_was_described(case: Case) -> None:
    content: dict[str, Any] = OPENAPI["paths"][case.path][case.method.lower()]["requestBody"]["content"]
    schema: dict[str, Any] = {**content["application/json"]["schema"], "components": OPENAPI["components"]}
    body = cast("dict[str, Any] | list[Any]", case.body)
    jsonschema_rs.validate(schema, body if isinstance(body, list) else without_blanks(body))


def check(case: Case, host: RunningHost) -> None:
    response = case.call(base_url=host.url)
    if any("\n" in unquote(str(value)) for value in (case.path_parameters or {}).values()):
        # The worker's own router takes no such path in a catch-all, and says so in its way; no id has a newline.
        assert response.status_code in (400, 404)
        return
    if response.status_code in (202, 204):  # Swagger names the media types of an operation, and these have no body
        assert str(response.status_code) in OPENAPI["paths"][case.path][case.method.lower()]["responses"]
        return
    case.validate_response(response)
    if response.status_code == 200 and case.media_type == "application/json":
        assert_that_what_it_took_was_described(case)


@pytest.mark.nightly
@openapi.parametrize()
def test_a_request_made_of_the_openapi_document_is_handled_as_described(case: Case, checked: RunningHost) -> None:
    check(case, checked)
