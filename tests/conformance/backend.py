"""The backend that is asked."""

from dataclasses import dataclass

import aiohttp

from tests.conformance.reading import Breaks, Json, parse

SECONDS = 30
"""ChatUI gives up after so long, the stream included; the other clients wait longer."""
CONNECT_SECONDS = 10
"""After so long nobody is there."""
MISSING = (404, 405)


class Unreachable(Exception):
    """Nobody answers at this address."""


class NotOffered(Exception):
    """The backend has no such route."""


@dataclass(frozen=True, slots=True)
class Reply:
    """An answer, read to its end."""

    status: int
    """HTTP's."""
    chunks: tuple[bytes, ...]
    """The body in the HTTP chunks that it came in."""

    @property
    def ok(self) -> bool:
        """What `fetch` calls so."""
        return 200 <= self.status <= 299

    @property
    def body(self) -> bytes:
        """The body as a whole."""
        return b"".join(self.chunks)

    @property
    def text(self) -> str:
        """The body as text."""
        return self.body.decode(errors="replace")

    def json(self) -> Json:
        """The body as one JSON document; breaks if it is none."""
        return parse(self.body)

    def shown(self) -> str:
        """The status and the start of the body, for a person."""
        return f"status {self.status}: {' '.join(self.text.split())[:160] or 'an empty body'}"


@dataclass(frozen=True, slots=True)
class Backend:
    """A backend under a base URL, asked as a client asks it that is given `base`."""

    http: aiohttp.ClientSession
    """Shared by all."""
    url: str
    """Without a slash at its end."""
    question: str
    """Something that the backend can answer."""
    refused: str = ""
    """Something that the backend refuses, by its safety check for example; empty: nothing that is known."""

    def refused_question(self) -> str:
        """Return what the backend refuses; if nothing is known, the probe is left out."""
        if not self.refused:
            raise NotOffered
        return self.refused

    async def post(self, path: str, body: Json, headers: dict[str, str] | None = None) -> Reply:
        """Send JSON to a route that a backend may not have."""
        return _offered(await self.request("POST", path, body, headers))

    async def get(self, path: str) -> Reply:
        """Fetch from a route that a backend may not have."""
        return _offered(await self.request("GET", path))

    async def request(self, method: str, path: str, body: Json = None, headers: dict[str, str] | None = None) -> Reply:
        """Send a request and read the whole answer.

        Raises:
            Unreachable: nobody answers.
            Breaks: the answer takes too long, or breaks off.
        """
        try:
            async with self.http.request(method, f"{self.url}/{path}", json=body, headers=headers) as response:
                return Reply(response.status, await _read_chunks(response))
        except aiohttp.ClientConnectorError as error:
            raise Unreachable(f"Nobody answers at {self.url}: {error.strerror}.") from error
        except aiohttp.ConnectionTimeoutError as error:
            raise Unreachable(f"Nobody answers at {self.url} within {CONNECT_SECONDS} seconds.") from error
        except aiohttp.InvalidURL as error:
            raise Unreachable(f"{self.url} is not the URL of a backend.") from error
        except TimeoutError as error:
            raise Breaks(f"it took longer than {SECONDS} seconds") from error
        except aiohttp.ClientError as error:
            raise Breaks(f"the connection broke: {error}") from error


def _offered(reply: Reply) -> Reply:
    if reply.status in MISSING:
        raise NotOffered
    return reply


async def _read_chunks(response: aiohttp.ClientResponse) -> tuple[bytes, ...]:
    chunks: list[bytes] = []
    pending = b""
    if response.content.at_eof():
        return ()  # aiohttp's iterator never ends for a response that cannot have a body, such as a 204
    async for piece, ended in response.content.iter_chunks():
        pending += piece
        if ended:
            chunks.append(pending)
            pending = b""
    return (*chunks, pending) if pending else tuple(chunks)
