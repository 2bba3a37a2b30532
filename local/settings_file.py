"""`host.json` and `local.settings.json`, read as strictly as `func start` needs and with errors that name the place."""

import json
import os
import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import cast

from local import HostError

HOST_FILE = "host.json"
LOCAL_SETTINGS_FILE = "local.settings.json"
DEFAULT_PORT = 7071

_IN_ENVIRONMENT = "AzureFunctionsJobHost__extensions__{section}__{name}"
"""Name of the environment variable that overrides a value of `host.json`, as the Functions host has it."""
_TIME_SPAN = re.compile(r"(?:(\d+)\.)?(\d\d):(\d\d):(\d\d)$")
_HOST_NAME = re.compile(r"[A-Za-z0-9]([A-Za-z0-9.-]{0,251}[A-Za-z0-9])?")
_STRINGS_AND_COMMENTS = re.compile(r'("(?:\\.|[^"\\\n])*")|//[^\n]*|/\*.*?\*/', re.DOTALL)


@dataclass(frozen=True, slots=True)
class Cors:
    """Which other origins a browser may call from: the variable `CORS`, or else `Host.CORS`."""

    origins: tuple[str, ...] = ()
    """As written, `*` for all; empty switches CORS off."""
    credentials: bool = False
    """Cookies and authorization may be sent along."""
    hosts: tuple[str, ...] = ()
    """Names of this machine, besides those of loopback, by which it may be called: the variable `ALLOWED_HOSTS`."""


@dataclass(frozen=True, slots=True)
class LocalSettings:
    """The content of `local.settings.json`; defaults without the file."""

    values: Mapping[str, str]
    """Environment variables for the app."""
    port: int = DEFAULT_PORT
    """Where to listen."""
    cors: Cors = Cors()
    """Off by default."""


@dataclass(frozen=True, slots=True)
class TriggerOptions:
    """The values that this host goes by, with the defaults of the Functions host."""

    batch_size: int = 16
    """How many messages are worked on at the same time."""
    max_dequeue_count: int = 5
    """After so many tries a message goes to the poison queue."""
    visibility_timeout: int = 0
    """Seconds between a try that failed and the next."""
    base64: bool = True
    """Whether messages are Base64; others go to the poison queue at once."""


@dataclass(frozen=True, slots=True)
class Throttle:
    """How many requests the host takes; by default as many as come."""

    concurrent: int = sys.maxsize
    """How many functions run at the same time."""
    outstanding: int = sys.maxsize
    """How many run or wait for that; more are refused."""


NO_LIMIT = Throttle()


@dataclass(frozen=True, slots=True)
class HostFile:
    """The parts of `host.json` that this host uses."""

    route_prefix: str
    """Prefix of every route: `extensions.http.routePrefix`."""
    throttle: Throttle
    """`extensions.http`."""
    triggers: TriggerOptions
    """`extensions.queues`."""


def read_host_file(directory: Path, environment: Mapping[str, str]) -> HostFile:
    """Read `host.json`; variables such as `AzureFunctionsJobHost__extensions__queues__batchSize` go before numbers.

    Raises:
        HostError: the file is missing, is no JSON object, is not of version 2.0, or has a value of the wrong kind.
    """
    path = directory / HOST_FILE
    if not path.is_file():
        raise HostError(f'{path} is missing. A Function App needs one; the smallest is {{"version": "2.0"}}.')
    host = _read_object(path)
    if host.get("version") != "2.0":
        raise HostError(f'{path} must say "version": "2.0".')
    extensions = _object(host, "extensions", path)
    http, queues = (_Section(each, _object(extensions, each, path), environment) for each in ("http", "queues"))
    prefix = http.values.get("routePrefix", "api")
    if not isinstance(prefix, str):
        raise HostError(f"{path}: extensions.http.routePrefix must be a string.")
    throttle = Throttle(
        concurrent=http.count("maxConcurrentRequests", sys.maxsize, most=sys.maxsize),
        outstanding=http.count("maxOutstandingRequests", sys.maxsize, most=sys.maxsize),
    )
    return HostFile(prefix.strip("/"), throttle, _trigger_options(queues))


def read_local_settings(directory: Path) -> LocalSettings:
    """Read `local.settings.json`.

    Raises:
        HostError: it is encrypted, no JSON object, or has a value of the wrong kind.
    """
    path = directory / LOCAL_SETTINGS_FILE
    if not path.is_file():
        return LocalSettings(values={}, cors=_cors({}, path))
    settings = _read_object(path)
    if settings.get("IsEncrypted") is True:
        raise HostError(f"{path} is encrypted. Decrypt it with `func settings decrypt`, or set IsEncrypted to false.")
    if outside := next((name for name in settings if re.fullmatch("[A-Z][A-Z0-9_]+", name)), None):
        raise HostError(f"{path}: {outside} stands outside of Values, where nothing reads it. Move it into Values.")
    host = _object(settings, "Host", path)
    port = host.get("LocalHttpPort", DEFAULT_PORT)
    if not isinstance(port, int) or isinstance(port, bool) or not 0 <= port <= 65535:
        raise HostError(f"{path}: Host.LocalHttpPort must be a number from 0 to 65535.")
    values = {name: _setting(name, value, path) for name, value in _object(settings, "Values", path).items()}
    return LocalSettings(values=values, port=port, cors=_cors(host, path))


def apply_local_settings(directory: Path) -> LocalSettings:
    """Read `local.settings.json` and make its `Values` environment variables; those that are there win.

    Raises:
        HostError: as `read_local_settings`, or an environment cannot hold one of them.
    """
    settings = read_local_settings(directory)
    if (directory / ".env").is_file():
        sys.stderr.write(f"{directory / '.env'} is not read: put settings into Values of {LOCAL_SETTINGS_FILE}.\n")
    for name, value in settings.values.items():
        try:
            os.environ.setdefault(name, value)
        except (OSError, ValueError) as exc:  # such as a name that is empty or has '=', or a NUL in it
            path = directory / LOCAL_SETTINGS_FILE
            raise HostError(f"{path}: Values.{name!r} is no name and value that an environment can hold.") from exc
    return settings


def _cors(host: Mapping[str, object], path: Path) -> Cors:
    listed = os.environ.get("CORS") or host.get("CORS", "")
    credentials = host.get("CORSCredentials", False)
    if not isinstance(listed, str):
        raise HostError(f'{path}: Host.CORS must be a string: origins separated by commas, or "*".')
    if not isinstance(credentials, bool):
        raise HostError(f"{path}: Host.CORSCredentials must be true or false.")
    origins = tuple(origin.strip().rstrip("/") for origin in listed.split(",") if origin.strip())
    if bare := next((one for one in origins if one != "*" and "://" not in one), None):
        raise HostError(f"CORS: {bare!r} should begin with its scheme, such as http://{bare}.")
    if credentials and "*" in origins:
        raise HostError(f'{path}: Host.CORSCredentials needs named origins; CORS is "*".')
    return Cors(origins, credentials, _hosts())


def _hosts() -> tuple[str, ...]:
    names = tuple(name.strip().lower() for name in os.environ.get("ALLOWED_HOSTS", "").split(",") if name.strip())
    for name in names:
        if not _HOST_NAME.fullmatch(name):
            raise HostError(f"ALLOWED_HOSTS: {name!r} should be a name without a port, such as host.docker.internal.")
    return names


def _setting(name: str, value: object, path: Path) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, bool | int | float):
        return json.dumps(value)
    raise HostError(f"{path}: Values.{name} must be a string.")


def _object(parent: Mapping[str, object], key: str, path: Path) -> Mapping[str, object]:
    value = parent.get(key)
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise HostError(f"{path}: {key} must be an object.")
    return cast("dict[str, object]", value)


def _read_object(path: Path) -> Mapping[str, object]:
    try:
        text = path.read_text("utf-8-sig")
    except UnicodeDecodeError as exc:
        raise HostError(f"{path} is not UTF-8 text.") from exc
    except OSError as exc:
        raise HostError(f"{path} cannot be read: {exc.strerror}.") from exc
    try:
        value: object = json.loads(_STRINGS_AND_COMMENTS.sub(_without_comment, text))
    except json.JSONDecodeError as exc:
        raise HostError(f"{path}, line {exc.lineno}, column {exc.colno}: not valid JSON ({exc.msg}).") from exc
    except RecursionError as exc:
        raise HostError(f"{path} is nested too deeply.") from exc
    if not isinstance(value, dict):
        raise HostError(f"{path} must hold a JSON object.")
    return cast("dict[str, object]", value)


def _without_comment(token: re.Match[str]) -> str:
    """Keep a string; blank a comment out, so that lines and columns in errors stay those of the file."""
    return token[1] or re.sub(r"[^\n]", " ", token[0])


@dataclass(frozen=True, slots=True)
class _Section:
    """A part of `extensions` in `host.json`."""

    name: str
    values: Mapping[str, object]
    environment: Mapping[str, str]
    """What may go before it."""

    def read(self, name: str) -> object:
        """Return a value, or None if there is none."""
        variable = _IN_ENVIRONMENT.format(section=self.name, name=name)
        return self.environment.get(variable) or self.values.get(name)

    def count(self, name: str, default: int, most: int = 1000) -> int:
        """Return a number from 1 to `most`, or raise HostError."""
        value = self.read(name)
        if value is None:
            return default
        text = str(value)
        if isinstance(value, bool) or not (text.isascii() and text.isdecimal()) or not 1 <= int(text) <= most:
            raise self.fault(name, f"a number from 1 to {most}")
        return int(text)

    def fault(self, name: str, wanted: str) -> HostError:
        """Return the error that says what a value should be."""
        return HostError(f"host.json, or the environment: extensions.{self.name}.{name} must be {wanted}.")


def _trigger_options(section: _Section) -> TriggerOptions:
    """Read `extensions.queues`, or raise HostError."""
    defaults = TriggerOptions()
    encoding = section.read("messageEncoding")
    if encoding not in (None, "base64", "none"):
        raise section.fault("messageEncoding", '"base64" or "none"')
    return TriggerOptions(
        batch_size=section.count("batchSize", defaults.batch_size, most=32),
        max_dequeue_count=section.count("maxDequeueCount", defaults.max_dequeue_count),
        visibility_timeout=_seconds(section, "visibilityTimeout"),
        base64=encoding != "none",
    )


def _seconds(section: _Section, name: str) -> int:
    value = section.read(name)
    if value is None:
        return 0
    span = _TIME_SPAN.match(value) if isinstance(value, str) else None
    if not span:
        raise section.fault(name, 'a time such as "00:00:30"')
    days, hours, minutes, seconds = (int(part or 0) for part in span.groups())
    return ((days * 24 + hours) * 60 + minutes) * 60 + seconds
