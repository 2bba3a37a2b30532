"""What the objects of a run hold, as JSON."""

import hashlib
import json
import re
from copy import replace

import msgspec

from shared.core.attachments import Attachment
from shared.errors import InternalError, SwitchboardError
from shared.settings import Settings
from shared.turns.accept import AcceptedRequest, Asker, RouteOptions, accept
from shared.wire.request_body import Body
from shared.wire.table import PROTOCOLS

HEARTBEAT_SECONDS = 2.0
"""How often a runner renews its claim. A run that is stopped elsewhere stops within this time."""
STALE_SECONDS = 15.0
"""A claim that was not renewed for so long is a dead runner's."""
QUEUED_SECONDS = 45.0
"""A run that nobody has claimed for so long is handed to the engine again: its message may be lost."""
RETENTION_SECONDS = 24 * 60 * 60.0
"""How long a run can be read after it was accepted."""
CONSENT_SECONDS = 23 * 60 * 60.0
"""How long a person can agree to its calls: what comes of them can then be read for an hour."""
MOST_RUNS = 5
"""How often a run is begun; one that ends its process each time is then given up."""

UNREADABLE = "What is kept of this answer cannot be read. Ask again."
"""What a caller is told of a run that is damaged, or kept by another version of the app."""

_ID = re.compile("[0-9a-f]{32}(?:[0-9a-f]{12})?")


class RunRequest(Asker, frozen=True, kw_only=True):
    """The request of a run without its body. The body and its files follow in the object, each on a line."""

    protocol: str
    """Name of the protocol."""
    path: str = ""
    """The path of the HTTP request; empty if it came in another way."""
    route: RouteOptions = RouteOptions()
    """What the route says of the answer."""
    queued_as: str = ""
    """What the queue of answers calls the request; empty: it was no message of the queue of requests. One that was
    comes again until it is answered, leaves an error that another try may mend to the next one, and asks nobody for
    consent."""

    def encode(self, body: Body) -> bytes:
        """Make the object of the request."""
        return b"\n".join((msgspec.json.encode(self), json.dumps(body.json).encode(), msgspec.json.encode(body.files)))

    @classmethod
    def decode(cls, data: bytes) -> "tuple[RunRequest, Body]":
        """Read the object of a request.

        Raises:
            InternalError: it is damaged, or of another version of the app.
        """
        head, _, rest = data.partition(b"\n")
        asked = decode(head, cls)
        body, _, files = rest.partition(b"\n")
        try:
            return asked, Body(json.loads(body), msgspec.json.decode(files, type=tuple[Attachment, ...]))
        except (ValueError, TypeError):
            raise InternalError(UNREADABLE) from None

    def accepted(self, body: Body, settings: Settings) -> AcceptedRequest:
        """Read and check the request again, with the settings of now.

        Raises:
            BadRequest, NotAllowed, NotFound, TooLarge: it cannot be answered.
        """
        protocol, begins_chat = PROTOCOLS[self.protocol], not self.queued_as
        return as_run(accept(protocol, body, self, settings, self.route, begins_chat=begins_chat))


def as_run(accepted: AcceptedRequest) -> AcceptedRequest:
    """Mark a request as one whose run is kept. It decides nothing: else it would not begin a run."""
    return replace(accepted, request=replace(accepted.request, is_kept=True, decisions=()))


class State(msgspec.Struct, frozen=True):
    """Who may read a run, and who works on it. Times are Unix seconds."""

    owner: str
    """Hash of the owner's name."""
    created: float
    """When it was accepted."""
    beat: float
    """When its runner last renewed its claim, or somebody handed it to the engine; 0: its runner has given it up."""
    key: str = ""
    """Name of the object of its idempotency key; empty: it has none."""
    runner: str = ""
    """Token of the runner that has claimed it; empty: nobody has."""
    runs: int = 0
    """How often it was claimed."""
    started: float = 0
    """When it was claimed first; its deadline counts from then."""
    journal: int = 0
    """Which of its journals counts."""
    followed: bool = False
    """Whether somebody follows it in another process than its runner's."""
    stopped: bool = False
    """Whether its owner has stopped it."""
    deleted: bool = False
    """Whether its owner has deleted it."""
    waits: tuple[str, ...] = ()
    """Names of the calls that a person has to decide before it goes on; empty: it does not wait."""
    waits_until: float = 0
    """When it goes on without a decision."""
    decided: bool = False
    """Whether a person has decided about its calls."""

    def is_stale(self, now: float) -> bool:
        """Whether nobody seems to work on it, or to be about to."""
        if self.waits:
            return now > self.waits_until
        # A beat of the future is one of before the clock was put back.
        return abs(now - self.beat) > (STALE_SECONDS if self.runner else QUEUED_SECONDS)

    def is_readable(self, now: float) -> bool:
        """Whether its owner may still read it."""
        return not self.deleted and now - self.created < RETENTION_SECONDS


class Result(msgspec.Struct, frozen=True):
    """The end of a run."""

    status: int
    """HTTP status: 200, 4xx or 500."""
    body: msgspec.Raw
    """JSON: exactly what the route answers that does not stream, or the error. Null where the protocol only streams."""


class KeyEntry(msgspec.Struct, frozen=True):
    """What an idempotency key stands for."""

    run_id: str
    """The run."""
    request: str
    """Hash of its request."""
    created: float
    """When the key was first used, in Unix seconds."""


def decode[Record](data: bytes, kind: type[Record]) -> Record:
    """Decode what an object holds.

    Raises:
        InternalError: it is damaged, or of another version of the app.
    """
    try:
        return msgspec.json.decode(data, type=kind)
    except (msgspec.DecodeError, UnicodeDecodeError):
        raise InternalError(UNREADABLE) from None


def is_run_id(text: str) -> bool:
    """Whether a text can be the id of a run, or of an approval. Clients and queues name runs by 32 digits."""
    return _ID.fullmatch(text) is not None


def digest(*parts: str | bytes) -> str:
    """Hash texts and bytes to 64 hexadecimal digits; where one part ends and the next begins counts."""
    whole = hashlib.sha256()
    for part in parts:
        data = part.encode(errors="surrogatepass") if isinstance(part, str) else part
        whole.update(len(data).to_bytes(8))
        whole.update(data)
    return whole.hexdigest()


def label(run_id: str) -> str:
    """Name a run in the log, where its id must not be: who has the id of an anonymous run can read it."""
    return digest(run_id)[:12]


def is_temporary(error: SwitchboardError) -> bool:
    """Whether another try may mend an error."""
    return error.status >= 500 or error.status in (408, 429)


def status_of(error: SwitchboardError) -> int:
    """Return the status of a run that failed: the error's own 4xx, else 500.

    A poll must not end with 408, 429, 503 or 504: workflows and many clients would take it for a poll that failed, and
    ask again.
    """
    return error.status if 400 <= error.status < 500 and error.status not in (408, 429) else 500
