"""Measures a backend: checks the questions, asks them, and writes the report."""

import asyncio
import hashlib
import os
import signal
from collections.abc import Iterator
from contextlib import AsyncExitStack
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import aiohttp
import msgspec
from tqdm import tqdm

from evaluation import EvaluationError
from evaluation.answers import AnswersFile
from evaluation.backends import MOST_BYTES, Backend
from evaluation.judge import VERSION, Judge
from evaluation.page import report_page
from evaluation.prices import Prices
from evaluation.questions import Contents, check, read
from evaluation.report import Report, Sums, seconds_of, write
from evaluation.running import Asking, ask_all
from evaluation.served import read_settings, served
from evaluation.tables import report_lines
from shared.errors import SwitchboardError
from shared.parts import open_index
from shared.settings import Settings

_TOKEN = "EVAL_TOKEN"  # noqa: S105 (the name of a variable)
_MOST_NAMED = 20
_LONGEST_PART = 300
_HEALTH_SECONDS = 30
_OFF = "off"


@dataclass(frozen=True, slots=True)
class Options:
    """What is measured, and how."""

    questions: Path
    """The file."""
    docs: Path | None
    """A folder to index before; None: the configured index."""
    base: str
    """URL of a backend; empty: the app of this folder."""
    protocol: str
    """In which it is asked."""
    model: str
    """The model that requests name; empty: any."""
    judge: str
    """The model that judges; empty: the configured one; `off`: none."""
    prices: Prices
    """Of tokens."""
    depth: int
    """Sources to rank."""
    at_once: int
    """Questions asked at the same time."""
    timeout: float
    """Seconds for an answer."""
    out: Path
    """Where the report goes, without its suffix."""


async def measure(options: Options) -> int:
    """Measure, and write the report; return the exit code.

    Raises:
        EvaluationError: the questions or the settings are wrong, or the backend gives no answers.
    """
    task = asyncio.current_task()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, task.cancel if task else lambda: None)
    contents = await asyncio.to_thread(check, options.questions)
    print(*_remarks(options.questions, contents), sep="\n", flush=True)
    options.out.parent.mkdir(parents=True, exist_ok=True)
    settings = read_settings()
    judge = None if options.judge == _OFF else Judge.of(settings, options.judge)
    async with AsyncExitStack() as stack:
        if judge:
            await stack.enter_async_context(judge)
        answers = stack.enter_context(AnswersFile(beside(options.out, ".answers.jsonl"), _run(options, contents)))
        base, unknown = options.base, list[str]()
        if not base:
            data_dir, log = beside(options.out, ".data"), beside(options.out, ".log")
            base, settings = await stack.enter_async_context(served(settings, options.docs, data_dir, log))
            unknown = await _unknown_sources(settings, contents)
            print(*_named_unknown(unknown, contents), sep="\n", end="", flush=True)
        session = await stack.enter_async_context(_session(options))
        asking = Asking(Backend(session, base, options.protocol, options.model), judge, options.prices, options.depth)
        parts = await _parts(session, base)
        bar = stack.enter_context(tqdm(total=contents.count, unit="question", leave=False, disable=None))
        await ask_all(read(options.questions), asking, answers, options.at_once, bar.update)
        bar.close()
        report = _report(options, contents, answers, parts, unknown, with_judge=judge is not None)
        write(report, answers.read(), beside(options.out, ".json"))
        answers.delete()
    beside(options.out, ".html").write_text(report_page(report), encoding="utf-8")
    print(*report_lines(report), f"-> {beside(options.out, '.html')}", sep="\n")
    return 1 if report.problems else 0


def beside(out: Path, suffix: str) -> Path:
    """The file of a report with this suffix."""
    return out.with_name(out.name + suffix)


def _run(options: Options, contents: Contents) -> str:
    """What has to be the same for answers to belong together."""
    same = (options.base, options.protocol, options.model, str(options.docs), options.judge, VERSION, options.depth)
    return hashlib.sha256(repr((contents.digest, same, options.prices)).encode()).hexdigest()


def _session(options: Options) -> aiohttp.ClientSession:
    token = os.environ.get(_TOKEN, "").strip()
    return aiohttp.ClientSession(
        timeout=aiohttp.ClientTimeout(options.timeout),
        connector=aiohttp.TCPConnector(limit=options.at_once),
        headers={"Authorization": f"Bearer {token}"} if token else None,
    )


def _remarks(path: Path, contents: Contents) -> Iterator[str]:
    yield f"{path}: {contents.count:,} questions."
    if contents.unused_keys:
        keys = ", ".join(f"{key!r} ({count:,})" for key, count in contents.unused_keys.most_common(_MOST_NAMED))
        yield f"Keys that are not used: {keys}."
    if contents.unmeasured:
        yield f"{contents.unmeasured:,} questions have neither answers nor sources, so that little of them is measured."


async def _unknown_sources(settings: Settings, contents: Contents) -> list[str]:
    """The sources that questions name and that the index of the app does not have."""
    index = open_index(settings)
    try:
        known = {name async for name, _ in index.fingerprints()}
    except SwitchboardError as fault:
        raise EvaluationError(fault.message) from fault
    finally:
        await index.aclose()
    return [name for name in contents.sources if name not in known and name.partition("#page=")[0] not in known]


def _named_unknown(unknown: list[str], contents: Contents) -> Iterator[str]:
    for name in unknown[:_MOST_NAMED]:
        yield f"The index has no {name}, which line {contents.sources[name]} names."
    if len(unknown) > _MOST_NAMED:
        yield f"Nor has it {len(unknown) - _MOST_NAMED:,} others."
    if unknown:
        yield ""


async def _parts(session: aiohttp.ClientSession, base: str) -> dict[str, str]:
    """The parts of a Switchboard, as its health names them; empty for other backends."""
    try:
        timeout = aiohttp.ClientTimeout(_HEALTH_SECONDS)
        async with session.get(f"{base.rstrip('/')}/health", timeout=timeout) as response:
            body = await response.content.read(MOST_BYTES)
        parts = msgspec.json.decode(body, type=_Health).parts
    except (aiohttp.ClientError, OSError, TimeoutError, msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return {}
    return {f"health: {name}": _described(part)[:_LONGEST_PART] for name, part in list(parts.items())[:_MOST_NAMED]}


class _Health(msgspec.Struct):
    """The part of `GET health` that is shown."""

    parts: dict[str, dict[str, object]] = {}


def _described(part: dict[str, object]) -> str:
    shown = {name: value for name, value in part.items() if name not in ("ok", "detail")}
    return ", ".join(f"{name} {value}" for name, value in shown.items() if isinstance(value, str | int))


def _report(
    options: Options,
    contents: Contents,
    answers: AnswersFile,
    parts: dict[str, str],
    unknown: list[str],
    *,
    with_judge: bool,
) -> Report:
    sums = Sums(options.prices)
    for answered in answers.read():
        sums.add(answered)
    configuration = {
        "questions": options.questions.name,
        "sha256": contents.digest[:16],
        "backend": options.base or "the app of this folder",
        "protocol": options.protocol,
        "folder": options.docs.name if options.docs else "",
        "depth": str(options.depth),
        **parts,
    }
    times = seconds_of(sums)
    judging = sums.judging
    judging.cost = options.prices.of(options.judge, (judging.tokens_read, judging.tokens_written))
    return Report(
        made=datetime.now(UTC).isoformat(timespec="seconds"),
        configuration={name: value for name, value in configuration.items() if value},
        overall=sums.overall.group,
        languages={name: tally.group for name, tally in sorted(sums.languages.items())},
        categories={name: tally.group for name, tally in sorted(sums.categories.items())},
        seconds_median=times[0] if times else None,
        seconds_95=times[1] if times else None,
        models=sums.models,
        prompts=dict(sums.prompts),
        judge=sums.judged(VERSION) if with_judge else None,
        judge_spent=judging if with_judge else None,
        problems=dict(sums.problems),
        unknown_sources=unknown[:1000],
        worst=[answered for _, _, answered in sorted(sums.worst, reverse=True)],
    )
