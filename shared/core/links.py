"""Which links an answer may have: to many clients it is Markdown, and a document may tell a model what to write.

A link stays if its host is in the question, in the app's own prompts or in `LINK_HOSTS`, or if its whole address is in
a source: what a model adds to an address is sent to whoever has the host. Any other is written so that no client makes
a link of it: `[here](https://a.example)` becomes `[here] (https[:]//a[.]example)`. No image stays one, and no HTML that
could load something.
"""

import re
from collections.abc import Callable, Iterable
from html import unescape

from shared.chat_types import ChatRequest, Passage, RequestContext, Role

LONGEST_HELD = 2_000
"""Characters that are held back at most until it is clear what they are."""

_MARKS = frozenset("([:<&./?")
_MARK = re.compile(r"(?<=\])[(:]|(?<=!)\[|<(?![ =])|&(?! )|(?<=[sSpP\\]):|(?<=[wW\\])\.|(?<=\w)[/?]|(?<![\w:/])/")
"""The signs at which a link, an image or a tag is broken; text without them passes as it is."""
_TAIL = 80
"""Characters before a sign that decide with it."""
_SCHEME = re.compile(r"(?:https?|ftp|wss?)\\?\Z", re.IGNORECASE)
_WWW = re.compile(r"www\\?\Z", re.IGNORECASE)
_SLASHES = re.compile(r":\\?/\\?/")
_MAY_BE_SLASHES = re.compile(r":\\?(?:/\\?)?\Z")
_ADDRESS = re.compile(r"[^\s<>\"`\[\]]*")
_DESTINATION = re.compile(r"(\s*)(<[^>\n]*>?|[^\s)]*)")
_DOMAIN = re.compile(
    r"(?<![\w@./:-])(?:[\w-]+\.)+(?:aero|asia|biz|com|coop|edu|gov|info|museum|name|net|org|pro|shop|web|xxx|рф|"
    r"xn--[\w-]+|(?!md|pl|ps|py|rs|sh)[a-z]{2})(?::\d{1,5})?\Z",
    re.IGNORECASE,
)
"""A host without a scheme, of which some clients make a link; endings of files are left out."""
_DOUBLE_SLASH = re.compile(r"//[\w-]+\.\S")
_ALT = re.compile(r"\[[^\[\]\\`<\n]*(\]|\Z)")
_NAME = re.compile(r"<[a-zA-Z][a-zA-Z0-9+.-]*")
_AUTOLINK = re.compile(r"<[^\s<>]*")
_ENTITY = re.compile(r"&(?:#[xX]?[0-9a-fA-F]{1,7}|[a-zA-Z]{1,31});?")
_MAY_BE_ENTITY = re.compile(r"&(?:#[xX]?[0-9a-fA-F]{0,7}|[a-zA-Z]{0,31})\Z")
_SPELLED = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789:/.\\")
"""Signs that nobody needs an entity for, but to hide an address."""
_LONGEST_TAG = 200
"""Characters after which a tag has to be closed: its attributes could be anything."""
_ATTRIBUTES = re.compile(
    r"""(?:[ \t\n\f\r]+[\w:.-]+(?:[ \t\n\f\r]*=[ \t\n\f\r]*(?:"[^"<>]*"|'[^'<>]*'|[^\s"'<>=`]+))?)*+[ \t\n\f\r]*/?>"""
)
_UNSURE = re.compile("[\"':]")
"""The rest of a tag, and what that of an odd name may not have: a quoted `>`, or one of an address, ends no tag."""
_LEADS = re.compile(
    r"[\s\"'/<](?:action|background|cite|data|formaction|http-equiv|on\w+|ping|poster|src\w*|style|[\w:]*href)\s*=",
    re.IGNORECASE,
)
_SIGNS = re.compile(r"[\s<>\[\]()`\\!|*]+")

_SPLITS = re.compile(r"[(){}'\uff5c]|(?<=.)(?:https?|ftp|wss?):", re.IGNORECASE)
"""Where some clients end an address, or begin another one within it, and others go on."""
_URL = re.compile(r"(?:https?://)?([\w.-]+)(?::\d{1,5})?(?:[/?#][^\s\\<>\"`\[\]]*)?", re.IGNORECASE)
_RELATIVE = re.compile(
    r"(?!/[/\\]|[\w-]+(?:\.[\w-]+)+[/?]|www\.)[^:\\&\s<>\[\]/?#]*(?:/[^\\&\s<>\[\]?#]*)?(?:[?#][^\\\s<>\[\]]*)?",
    re.IGNORECASE,
)
_MAIL = re.compile(r"mailto:([\w.+-]+@[\w.-]+)", re.IGNORECASE)
_HOST = re.compile(r"(?:https?://|(?<![\w@.-]))((?:[\w-]+\.)+[\w-]+|(?<=//)[\w-]+)")


class KnownLinks:
    """The addresses to which an answer may link.

    Args:
        request: The question with its conversation.
        context: Names the hosts to which all answers may link.
        sources: Returns the sources so far.
        instructions: Texts of whoever runs the app, such as those of an agent.
    """

    def __init__(
        self,
        request: ChatRequest,
        context: RequestContext,
        sources: Callable[[], Iterable[Passage]],
        *instructions: str,
    ) -> None:
        self._request = request
        self._named = context.link_hosts
        self._sources = sources
        self._instructions = instructions
        self._hosts: frozenset[str] | None = None

    def reach(self, address: str) -> int:
        """How many characters of an address an answer may have as they are; one without a host is of the client's own.

        It ends where a client may end it and begin another one, unless a source has all of it.
        """
        sign, found = _SPLITS.search(address), _URL.fullmatch(address)
        mail, own = _MAIL.fullmatch(address), _RELATIVE.fullmatch(address)
        is_fine = own or (found and self._is_known(found[1].lower()))
        if (is_fine and not sign) or ((found or mail) and self._is_in_a_source(mail[1] if mail else address)):
            return len(address)
        return sign.start() if is_fine and sign else 0

    def _is_known(self, host: str) -> bool:
        if self._hosts is None:
            self._hosts = frozenset(found[1].lower() for text in self._trusted() for found in _HOST.finditer(text))
        above = (f"*{host[at:]}" for at, sign in enumerate(host) if sign == ".")
        return host in self._hosts or host in self._named or not self._named.isdisjoint(above)

    def _trusted(self) -> Iterable[str]:
        request = self._request
        yield from (message.content for message in request.messages if message.role in (Role.USER, Role.SYSTEM))
        yield from (request.overrides.prompt_template or "", request.base_url, *self._instructions)

    def _is_in_a_source(self, address: str) -> bool:
        """Whether a source, a file or the conversation has the address, or one that begins with it."""
        bare = re.sub(r"\Ahttps?://", "", address, flags=re.IGNORECASE).rstrip("/")
        bare = bare if "." in bare else address  # else any word of a text would be a host
        literal = re.escape(bare)
        # It begins with the address, so that a long conversation is searched a hundred times as fast.
        part = re.compile(rf"{literal}(?<![\w@.-]{literal})(?![\w-]|[.@]\w)")
        texts = (message.text for message in self._request.messages if message.role is not Role.TOOL)
        sources = (f"{one.sourcepage}\n{one.title}\n{one.whole}" for one in self._sources())
        return any(part.search(text) for text in (*texts, *sources))


class AnswerLinks:
    """Lets a text through, piece by piece, with only the links that are allowed."""

    def __init__(self, known: KnownLinks) -> None:
        self._known = known
        self._out: list[str] = []
        """The pieces that are out, as they came; of long ago none."""
        self._held: str = ""

    def feed(self, text: str) -> str:
        """Add the next piece of text; return what can be shown now."""
        if self._held or not _MARKS.isdisjoint(text):
            return self._scan(text, ended=False)
        self._out.append(text)
        return text

    def flush(self) -> str:
        """End the text; return what was held back."""
        return self._scan("", ended=True) if self._held else ""

    def whole(self, text: str) -> str:
        """Return a whole text with only the links that are allowed."""
        return self.feed(text) + self.flush()

    def _scan(self, text: str, *, ended: bool) -> str:
        before = "".join(self._out[-_TAIL:])[-_TAIL:]
        text, at = before + self._held + text, len(before)
        if not self._held and _MARK.search(text, at) is None:
            self._out = [text]
            return text[at:]
        shown: list[str] = []
        while mark := _MARK.search(text, at):
            place = mark.start()
            shown.append(text[at:place])
            step = self._step(text, place, ended=ended)
            if step is None and len(text) - place > LONGEST_HELD:
                step = len(text), f" {_plain(text[place:])}"
                text += " "  # what follows is not the rest of an address
            if step is None:
                at = place
                break
            at, instead = step
            shown.append(instead)
        else:
            shown.append(text[at:])
            at = len(text)
        self._held = text[at:]
        self._out = [text[max(0, at - _TAIL) : at]]
        return "".join(shown)

    def _step(self, text: str, at: int, *, ended: bool) -> tuple[int, str] | None:
        """Decide about the sign at a place.

        Returns:
            Where the text goes on, and what stands in place of what is before; None: what follows has to be known.
        """
        sign, before = text[at], text[at - 1 : at]
        step = _PASS
        if sign in "(:" and before == "]":
            step = self._after_bracket(text, at, ended=ended)
        elif sign == "[" and before == "!":
            step = _image(text, at, ended=ended)
        elif sign == "<":
            step = self._tag(text, at, ended=ended)
        elif sign == "&":
            step = _entity(text, at, ended=ended)
        elif sign == "/" and not (before.isalnum() or before in (":", "/")):
            step = self._without_scheme(text, at, ended=ended)
        elif begin := _BEGINS.get(sign):
            step = self._address(text, at, begin, ended=ended)
        return (at + 1, sign) if step is _PASS else step

    def _address(self, text: str, at: int, begin: re.Pattern[str], *, ended: bool) -> tuple[int, str] | None:
        """Decide about an address of which only the beginning, before this sign, is out."""
        before = begin.search(text, max(0, at - _TAIL), at)
        if before is None:
            return _PASS
        if text[at] == ":" and not _SLASHES.match(text, at):
            return None if _MAY_BE_SLASHES.match(text, at) and not ended else _PASS
        end = _end(_ADDRESS, text, at)
        if end == len(text) and not ended:
            return None
        address = text[before.start() : end].rstrip(".,;:!?'*_~)")
        if reach := self._known.reach(address):
            end = end if reach == len(address) else before.start() + reach
            return end, text[at:end]
        return end, f"{'' if text[at] in ':.' else ' '}{_plain(text[at:end])}"

    def _without_scheme(self, text: str, at: int, *, ended: bool) -> tuple[int, str] | None:
        """Decide about `//host`, of which some clients make a link, but not about a comment of a program."""
        end = _end(_ADDRESS, text, at)
        if end == len(text) and not ended:
            return None
        if not _DOUBLE_SLASH.match(text, at):
            return _PASS
        return (at + 2, "//") if self._known.reach(f"https:{text[at:end]}") else (end, _plain(text[at:end]))

    def _after_bracket(self, text: str, at: int, *, ended: bool) -> tuple[int, str] | None:
        """Decide about `](address`, and about `]: address`, which would give an address to other brackets."""
        found = _DESTINATION.match(text, at + 1)
        if found is None or (found.end() == len(text) and not ended):
            return None
        gap, address = found.groups()
        if text[at] == ":":
            leads = address.startswith("//") or not {":", "\\", "&", "<"}.isdisjoint(address)
            return (found.start(2), f" :{gap}") if leads else _PASS
        bare = address.removeprefix("<").removesuffix(">")
        if _RELATIVE.fullmatch(bare):
            return _PASS  # where the bracket is not closed, it is text like any other
        if reach := self._known.reach(bare):
            end = found.end() if reach == len(bare) else found.start(2) + reach * (bare == address)
            end = end if "//" in bare[:8] else found.start(2)
            return end, text[at:end]
        return found.end(), f" ({gap}{_plain(address)}"

    def _tag(self, text: str, at: int, *, ended: bool) -> tuple[int, str] | None:
        """Decide about an address in angle brackets, and about HTML."""
        end = _end(_NAME, text, at)
        if not ended and len(text) in (end, at + 1):
            return None
        sign = text[end : end + 1]
        if sign == ":" and end > at:
            end = _end(_AUTOLINK, text, at)
            if end == len(text) and not ended:
                return None
            if text[end : end + 1] != ">":
                return at + 1, "< "
            allowed = self._known.reach(text[at + 1 : end]) == end - at - 1
            gap = " " * (text[at - 1 : at] == "<")  # which would begin a tag without it
            return end + 1, text[at : end + 1] if allowed else f"{gap}{_plain(text[at:end])}"
        if end == at:
            return _PASS
        close = text.find(">", end, at + _LONGEST_TAG)
        if close < 0 and not ended and len(text) < at + _LONGEST_TAG:
            return None
        is_named = sign.isspace() or sign in ("/", ">")
        is_whole = _ATTRIBUTES.fullmatch(text, end, close + 1) if is_named else not _UNSURE.search(text, end, close)
        acts = text[at + 1 : end].lower() in ("script", "style") or _LEADS.search(text, end, close)
        is_safe = close >= 0 and is_whole and not acts
        return _PASS if is_safe else (at + 1, "< ")


_PASS = (-1, "")
"""A step that lets the sign through."""
_BEGINS = {":": _SCHEME, ".": _WWW, "/": _DOMAIN, "?": _DOMAIN}
"""What is before a sign that goes on with an address."""


def _end(pattern: re.Pattern[str], text: str, at: int) -> int:
    found = pattern.match(text, at)
    return found.end() if found else at


def _image(text: str, at: int, *, ended: bool) -> tuple[int, str] | None:
    """Part an image from its `!`, so that its address is decided about as a link's."""
    alt = _ALT.match(text, at)
    if alt and alt.end() == len(text) and not ended:
        return None
    is_text = alt is not None and text[alt.end() : alt.end() + 1] not in ("(", "[")
    return _PASS if is_text else (at + 1, " [")


def _entity(text: str, at: int, *, ended: bool) -> tuple[int, str] | None:
    if not ended and _MAY_BE_ENTITY.match(text, at):
        return None
    found = _ENTITY.match(text, at)
    return (at + 1, "& ") if found and unescape(found[0]) in _SPELLED else _PASS


def _plain(address: str) -> str:
    """Write an address, or what looks like one, so that it is text to everybody."""
    return _SIGNS.sub(" ", unescape(address)).strip().replace(":", "[:]").replace(".", "[.]")
