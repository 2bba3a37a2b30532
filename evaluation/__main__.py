"""`python -m evaluation`: measure answers, or compare two reports; `make eval` calls it.

Exit codes: 0 if all went well; 1 if questions got no answer, or the backend gave up; 2 if the command, the settings or
the questions are wrong; 130 if interrupted (the same command goes on).
"""

import argparse
import asyncio
import sys
from pathlib import Path

import msgspec

from evaluation import EvaluationError
from evaluation.backends import PROTOCOLS
from evaluation.comparing import compare
from evaluation.measures import DEPTH
from evaluation.measuring import Options, beside, measure
from evaluation.page import comparison_page
from evaluation.prices import Prices
from evaluation.served import ROOT, read_settings
from evaluation.tables import comparison_lines, worse

_SAMPLES = (ROOT / "samples" / "questions.jsonl", ROOT / "samples" / "documents")
_FOLDER = ROOT / ".data" / "eval"

_OF_SERVICES = {"depth": DEPTH, "at_once": 4, "timeout": 120.0}
_OF_ONE_SLOT = {"depth": 0, "at_once": 1, "timeout": 600.0}
"""Defaults, and those for a model behind `OPENAI_BASE_URL`: a local one answers one question after the other."""


def main() -> int:
    """Run the command and return its exit code."""
    parser = command_parser()
    arguments = parser.parse_args()
    try:
        if arguments.compare:
            first, second = arguments.compare
            return _compare(first, second, arguments.out or _FOLDER / "comparison")
        return asyncio.run(measure(options_of(parser, arguments)))
    except EvaluationError as wrong:
        sys.stderr.write(f"{wrong}\n")
        return 2
    except (KeyboardInterrupt, asyncio.CancelledError):
        sys.stderr.write("Interrupted. The answers so far are kept; the same command goes on.\n")
        return 130


def command_parser() -> argparse.ArgumentParser:
    """Make the parser of the command."""
    parser = argparse.ArgumentParser(prog="python -m evaluation", description="Measures answers; docs/evaluation.md.")
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("--questions", type=Path, help="a file of questions, JSON Lines")
    what.add_argument("--samples", action="store_true", help="the sample questions, about the sample documents")
    what.add_argument("--compare", nargs=2, type=Path, metavar="JSON", help="two reports")
    parser.add_argument("--docs", type=Path, help="a folder to index and ask about; by default the configured index")
    parser.add_argument("--base", default="", help="URL of a backend to ask in place of the app of this folder")
    parser.add_argument("--protocol", choices=PROTOCOLS, default="ai-chat", help="of the backend")
    parser.add_argument("--model", default="", help="the model that requests name, with --protocol openai")
    parser.add_argument("--judge", default="", help="model that judges; by default the configured one; `off`: none")
    parser.add_argument("--prices", default="", help="of a million tokens, as MODEL=READ/WRITTEN, with commas")
    parser.add_argument("--depth", type=int, help="sources to rank; 0, as with a local model: only those of the answer")
    parser.add_argument("--at-once", type=int, help="questions asked at the same time; 4, with a local model 1")
    parser.add_argument("--timeout", type=float, help="seconds for an answer; 120, with a local model 600")
    parser.add_argument("--out", type=Path, help="where the report goes, without .html; in .data/eval by default")
    return parser


def options_of(parser: argparse.ArgumentParser, given: argparse.Namespace) -> Options:
    """Return the options of a command; a wrong one ends the process, as the parser does."""
    if given.base and given.docs:
        parser.error("--docs is for the app of this folder: the backend at --base has its own documents")
    if not given.base and given.protocol != "ai-chat":
        parser.error("--protocol is for --base: the app of this folder is asked in ai-chat")
    if given.base and not given.base.startswith(("http://", "https://")):
        parser.error("--base is a URL, such as http://127.0.0.1:7071/api")
    usual = _OF_SERVICES if given.base or not read_settings().openai_base_url else _OF_ONE_SLOT
    for name, value in usual.items():
        if getattr(given, name) is None:
            setattr(given, name, value)
    if not (0 <= given.depth <= 50 and 1 <= given.at_once <= 256 and 0 < given.timeout <= 3600):
        parser.error("--depth is 0 to 50, --at-once 1 to 256, --timeout up to 3600")
    questions, docs = given.questions, given.docs
    if given.samples:
        questions, docs = _SAMPLES[0], None if given.base else docs or _SAMPLES[1]
    out = given.out or _FOLDER / ("samples" if given.samples else questions.stem)
    return Options(
        questions=questions,
        docs=docs.absolute() if docs else None,
        base=given.base,
        protocol=given.protocol,
        model=given.model,
        judge=given.judge,
        prices=Prices.read(given.prices),
        depth=given.depth,
        at_once=given.at_once,
        timeout=given.timeout,
        out=(out.with_suffix("") if out.suffix in (".html", ".json") else out).absolute(),
    )


def _compare(first: Path, second: Path, out: Path) -> int:
    comparison = compare(first, second)
    out.parent.mkdir(parents=True, exist_ok=True)
    beside(out, ".json").write_bytes(msgspec.json.format(msgspec.json.encode(comparison), indent=1) + b"\n")
    beside(out, ".html").write_text(comparison_page(comparison), encoding="utf-8")
    print(*comparison_lines(comparison), f"-> {beside(out, '.html')}", sep="\n")
    if found := worse(comparison):
        print(f"Worse than before: {', '.join(found)}.")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
