"""What a sentence of the app says, as a code with its values: a page can say it in the language of its reader.

On its way out of the process that reads a file, through the journal of a run or from an index, a sentence is a text. At
the end of the way `reasons.json` tells what it says: for each code parts of its sentences, in which `{most:d}` is a
whole number and `{name}` some words. A sentence that is not there has the code of its error alone.
"""

import re
from pathlib import Path

import msgspec

from shared.chat_types import Json
from shared.errors import Overloaded, RateLimited, SwitchboardError

_LONGEST_SENTENCE = 2_000
_VALUE = re.compile(r"\\\{(\w+)(:d)?\\\}")


def _group(value: re.Match[str]) -> str:
    return rf"(?P<{value[1]}>\d[\d,]{{0,19}})" if value[2] else rf"(?P<{value[1]}>[^;]{{1,200}}?)"


_PARTS = msgspec.json.decode(Path(__file__).with_name("reasons.json").read_bytes(), type=dict[str, list[str]])
_PATTERNS = [
    (code, re.compile(rf"(?<!\S){_VALUE.sub(_group, re.escape(part))}"))
    for code, parts in _PARTS.items()
    for part in parts
]


def reason_of(sentence: str) -> dict[str, Json]:
    """Return what belongs beside a sentence, alone or within others: `reason`, its code, and `values`; or nothing."""
    for code, pattern in _PATTERNS:
        if found := pattern.search(sentence[:_LONGEST_SENTENCE]):
            return {"reason": code, "values": {name: _value(text) for name, text in found.groupdict().items()}}
    return {}


def beside(error: SwitchboardError) -> dict[str, Json]:
    """Return what belongs beside the sentence of an error: its reason, and the seconds to wait."""
    waits = isinstance(error, RateLimited | Overloaded)
    return {**({"retry_after": error.retry_after} if waits else {}), **reason_of(error.message)}


def _value(text: str) -> int | str:
    return int(number) if (number := text.replace(",", "")).isdecimal() else text
