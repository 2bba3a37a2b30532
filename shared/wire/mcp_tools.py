"""The tools that MCP clients find here: how they are described, their arguments and their results.

`search` and `fetch` have the shapes that ChatGPT's connectors, deep research and company knowledge need.

What they are called and take is in `mcp_tools.json`, as `tools/list` sends it.

Source: Model Context Protocol, revision 2026-07-28, 'Tools'; OpenAI, 'Building MCP servers for ChatGPT'.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from shared.chat_types import Json, Passage
from shared.citations import citations_in
from shared.core.fold import Answer, notice_of
from shared.core.sources import continuation
from shared.errors import BadRequest, NotFound, SwitchboardError, error_text
from shared.wire import consent, context, framing
from shared.wire.protocol import Record

MOST_RESULTS = 10
"""Results of a search, as its description says."""
LONGEST_TEXT = 100_000
"""Characters of a document that `fetch` returns. Claude takes results of about 150,000, as JSON with its escapes."""
_UNSUPPORTED = "\n\n*(No source that was found supports this answer.)*"


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool, which takes one text."""

    name: str
    """Its name."""
    argument: str
    """Name of its only argument."""
    definition: Record
    """What `tools/list` says of it."""

    def read(self, arguments: Mapping[str, Json]) -> str:
        """Return the argument.

        Raises:
            BadRequest: it is missing or no text.
        """
        value = arguments.get(self.argument)
        if not isinstance(value, str) or not value.strip():
            raise BadRequest(f"{self.argument}: should be a text that is not empty.")
        return value


class _Offer(msgspec.Struct):
    """What this server says of itself."""

    instructions: str
    tools: list[dict[str, Any]]


_OFFER = msgspec.json.decode(Path(__file__).with_name("mcp_tools.json").read_bytes(), type=_Offer)
INSTRUCTIONS = _OFFER.instructions
"""What a model is told of this server."""
TOOLS = {one["name"]: Tool(one["name"], one["inputSchema"]["required"][0], one) for one in _OFFER.tools}
"""By name."""


def search_result(passages: Sequence[Passage], base_url: str) -> Record:
    """Make the result of `search`: the pages of these passages, each once.

    Args:
        passages: What was found, best first.
        base_url: The URL below which the routes are.
    """
    names = dict.fromkeys(passage.sourcepage for passage in passages)
    results: Json = [_source(name, base_url) for name in names]
    return _json_result({"results": results})


def fetch_result(name: str, passages: Sequence[Passage], base_url: str) -> Record:
    """Make the result of `fetch`.

    Args:
        name: The name that was asked for.
        passages: The passages of that name that the caller may see, in order.
        base_url: The URL below which the routes are.

    Raises:
        NotFound: there are none.
    """
    if not passages:
        raise NotFound("There is no such document. Call search, and take the id of a result.")
    # The path of a file is not escaped, as the names in citations are.
    cited = (
        name if any(passage.sourcepage == name for passage in passages) else passages[0].sourcepage.partition("#")[0]
    )
    return _json_result({**_source(cited, base_url), "text": _shortened(_joined(passages))})


def ask_result(answer: Answer, base_url: str) -> Record:
    """Make the result of `ask`: the answer, which says if it was cut or is unsupported, and the sources it cites."""
    unsupported = _UNSUPPORTED if answer.finished.is_unsupported else ""
    whole = f"{answer.text}{notice_of(answer.finished)}{unsupported}".lstrip()
    known = {point.sourcepage for point in answer.data_points}
    cited = dict.fromkeys(place[1] for place in citations_in(answer.text) if place[1] in known)
    sources = [_source(name, base_url) for name in cited]
    listed = "".join(f"\n- [{source['id']}]: {source['url']}" for source in sources)
    text = f"{whole}\n\nSources:{listed}" if listed else whole
    return _result(text, {"answer": whole, "sources": list[Json](sources)})


def consent_result(answer: Answer, base_url: str, *, can_ask: bool) -> Record:
    """Make the result of `ask` that asks for consent.

    No phrase answers here: a model would write it. A client that cannot ask its user shows where a page does.

    Args:
        answer: The answer so far, with the calls.
        base_url: The URL below which the app's routes are.
        can_ask: Whether the client can ask its user.
    """
    if can_ask:
        approve: Record = {"approve": {"type": "boolean", "title": "Approve"}}
        form: Record = {"type": "object", "properties": approve, "required": ["approve"]}
        requests: Record = {
            call.approval_id: {
                "method": "elicitation/create",
                "params": {"mode": "form", "message": consent.question(call), "requestedSchema": form},
            }
            for call in answer.open_calls
        }
        state = answer.open_calls[0].approval_id
        return {"resultType": "input_required", "inputRequests": requests, "requestState": state}
    asked = [f"{consent.question(call)}\n\nDecide at {consent.page_of(call, base_url)}" for call in answer.open_calls]
    whole = "\n\n".join([*asked, "Nothing of this is done before. Ask the same again after the decision."])
    return _result(whole, {"answer": whole, "sources": []})


def failed_result(error: SwitchboardError, invocation_id: str) -> Record:
    """Make the result of a tool that failed, from which a model sees what to do.

    It names the invocation only where the fault is not the caller's: otherwise the same call has the same result.
    """
    text = error.message if error.status < 500 else error_text(error, invocation_id)
    return {"content": [{"type": "text", "text": text}], "isError": True}


def _source(name: str, base_url: str) -> Record:
    return {"id": name, "title": name, "url": context.link_to(name, base_url)}


def _json_result(structured: Record) -> Record:
    return _result(framing.encode_json(structured).decode(), structured)


def _result(text: str, structured: Record) -> Record:
    return {"content": [{"type": "text", "text": text}], "structuredContent": structured, "isError": False}


def _joined(passages: Sequence[Passage]) -> str:
    """The text of a document; passages that follow each other may overlap by a few sentences."""
    text, page = "", ""
    for passage in passages:
        text += continuation(text, passage) if passage.sourcepage == page or not text else f"\n\n{passage.content}"
        page = passage.sourcepage
    return text


def _shortened(text: str) -> str:
    if len(text) <= LONGEST_TEXT:
        return text
    return (
        f"{text[:LONGEST_TEXT]}\n\n[Cut here: the document is longer. Fetch a page of it by an id that search returns.]"
    )
