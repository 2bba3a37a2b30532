"""The page at `GET /`, the page of the API, and the files that both load."""

import asyncio
import os
import re
from collections.abc import Sequence
from contextlib import suppress
from urllib.parse import urlsplit

from starlette.requests import Request
from starlette.responses import Response
from werkzeug.datastructures import Accept
from werkzeug.http import parse_accept_header

from shared import app
from shared.chat_types import Json, Passage, RequestContext
from shared.documents import DocumentReader
from shared.documents.listing import list_documents
from shared.errors import NotConfigured, NotFound, TooLarge, TooSlow
from shared.identity import access_of
from shared.playground import static_files
from shared.playground.static_files import StaticFile
from shared.retrieval import Retriever, words_in_name
from shared.settings import Settings
from shared.triggers.door import Call, checked_first
from shared.web.byte_ranges import is_known
from shared.web.responses import json_response

_OFF = "The page is off here: PLAYGROUND=chat or PLAYGROUND=on turns it on."
_SAFE = {"x-content-type-options": "nosniff", "referrer-policy": "no-referrer", "vary": "Accept-Encoding"}
_PATIENCE = 10.0
"""Seconds for what there is to ask about."""
_STRICT = "; require-trusted-types-for 'script'; trusted-types dompurify playground"


def _require_on() -> Settings:
    try:
        settings = app.get_settings()
    except NotConfigured:
        # The page then says what is wrong; only whether it is on still has to be known.
        decisive = ("PLAYGROUND", "WEBSITE_SITE_NAME")
        settings = Settings.read({name: os.environ[name] for name in decisive if name in os.environ})
    if settings.page == "off":
        raise NotFound(_OFF)
    return settings


def _check_on(_request: Request) -> None:
    """Raise NotFound if the playground is off."""
    _require_on()


async def playground_page(request: Request) -> Response:
    """`GET /`: the page. Its address ends with a slash, since all that it loads is relative to it.

    Raises:
        NotFound: the playground is off.
    """
    return await _page(request, "index.html", _STRICT)


async def get_api_page(request: Request) -> Response:
    """Show this description.

    A page to read it, and to try what it says.
    """
    # Swagger UI writes HTML without Trusted Types. It is given nothing but this app's own document.
    return await _page(request, "docs.html")


async def _page(request: Request, name: str, more_policy: str = "") -> Response:
    """Answer with the page of a file; `more_policy` is what its security policy says beside what both pages' say."""
    settings = _require_on()
    path = request.url.path
    if path.endswith("/") == (name != "index.html"):
        last = path.rstrip("/").rpartition("/")[2]
        return Response(status_code=307, headers={"location": f"../{last}" if path.endswith("/") else f"{last}/"})
    organisation: Json = {}
    with suppress(NotConfigured):  # it is reported as all wrong settings are: where a question is asked
        organisation = await asyncio.to_thread(_organisation, settings)
    about = static_files.about_json(
        {
            "auth_mode": settings.auth_mode,
            "quotes_only": not (settings.openai_chat_model or settings.azure_openai_chat_deployment),
            "client_id": settings.auth_client_id,
            "authority": f"{settings.auth_authority.rstrip('/')}/{settings.auth_tenant_id}",
            "workbench": settings.page == "on" or name == "docs.html",
            "page": organisation,
        }
    )
    page = await asyncio.to_thread(static_files.page, name, about)
    response = _response(request, page)
    response.headers["content-security-policy"] = _policy(settings) + more_policy
    response.headers["cache-control"] = "no-cache"
    return response


async def get_playground_file(request: Request) -> Response:
    """Get a file of the playground.

    Browsers may keep it for ever: it is at another address when any file has changed.
    """
    _require_on()
    found = None
    if request.path_params["digest"] == await asyncio.to_thread(static_files.digest):
        found = await asyncio.to_thread(static_files.find, str(request.path_params.get("path") or ""))
    if found is None:
        raise NotFound("The playground has no such file. Reload the page: it may be of an earlier version.")
    response = _response(request, found)
    response.headers["cache-control"] = "public, max-age=31536000, immutable"
    return response


@checked_first(_check_on)
async def get_playground_begin(call: Call) -> Response:
    """Get what there is to ask about.

    For the playground's first screen: topics of documents that the caller may see, and which model answers.
    """
    service, settings = call.service, call.settings
    deadline = call.arrived + _PATIENCE
    context = RequestContext(call.invocation_id, deadline, call.caller, access_of(call.caller, settings))
    try:
        async with asyncio.timeout_at(context.deadline):
            topics = await topics_of(await service.documents.get(), service.retriever, context)
            facts = (await service.retriever.check()).facts
    except TimeoutError as exc:
        raise TooSlow("The documents took too long to read. Try again.") from exc
    return json_response(
        {
            "topics": list[Json](topics),
            "documents": None if context.access else facts.get("documents"),
            "model": settings.azure_openai_chat_deployment or settings.openai_chat_model,
            "team": [agent.name for agent in service.agents.agents] if settings.agents_file else [],
        }
    )


def _organisation(settings: Settings) -> Json:
    if settings.page_file is None:
        return {}
    from shared.playground.page_file import read_page

    return read_page(settings.page_file).model_dump(exclude_defaults=True)


def _response(request: Request, file: StaticFile) -> Response:
    is_gzipped = parse_accept_header(request.headers.get("accept-encoding"), Accept)["gzip"] > 0
    tag = f'"{file.digest}{"-gzip" if is_gzipped else ""}"'
    headers = {**_SAFE, "etag": tag}
    if is_known(request.headers, tag):
        return Response(status_code=304, headers=headers)
    if is_gzipped:
        headers["content-encoding"] = "gzip"
    return Response(file.gzipped if is_gzipped else file.data, headers=headers, media_type=file.media_type)


def _policy(settings: Settings) -> str:
    """What a page may load and do (Content Security Policy, level 3; Trusted Types): nothing from elsewhere."""
    authority = urlsplit(settings.auth_authority)
    sign_in = f" {authority.scheme}://{authority.netloc}" if settings.auth_mode == "bearer" else ""
    return (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob: data:; font-src 'self'; "
        f"connect-src 'self'{sign_in}; worker-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    )


_MOST_LISTED, _MOST_TOPICS = 24, 3
"""Documents to choose from, and those of them that are read."""
_HEADING = re.compile(r"^#{1,6} +(.{3,80}?) *\n+(?=[^#|\s].{60})", re.MULTILINE)
"""A heading with a paragraph below it, which says something about it."""
_WORDS, _LONGEST = range(2, 9), 80


async def topics_of(store: DocumentReader, retriever: Retriever, context: RequestContext) -> list[str]:
    """Find topics, one of a document; a topic with a question mark is a question that the document answers.

    Raises:
        SwitchboardError: the store or the index fails now.
    """
    listed = await list_documents(store, context.access, retriever.extent, search="", after="", limit=_MOST_LISTED)
    names = [one.document.name for one in listed if one.extent]
    step = max(len(names) / _MOST_TOPICS, 1)
    topics: list[str] = []
    for name in [names[int(at * step)] for at in range(min(len(names), _MOST_TOPICS))]:
        passages: Sequence[Passage] = ()
        with suppress(TooLarge):
            passages = await retriever.read(name, context)
        topics.append(_topic(name, passages))
    return list(dict.fromkeys(topics))


def _topic(name: str, passages: Sequence[Passage]) -> str:
    title = (passages[0].title if passages else "") or words_in_name(name)
    found = [heading for passage in passages for heading in _HEADING.findall(passage.content)]
    headings = [heading for heading in found if len(heading.split()) in _WORDS and heading != title]
    questions = [heading for heading in headings if heading.endswith("?")]
    return next(iter(questions or headings), title)[:_LONGEST]
