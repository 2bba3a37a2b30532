"""What the RAI stand-in answers by itself: everything is safe but some words. Sans-I/O."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from shared.guard import AnalysisResult, Buffer, Finding, Place, SafetyEvent, Side, Watermark
from shared.guard.payloads import PayloadReader
from shared.guard.rai.wire import ClientMessage, Commit


@dataclass(slots=True)
class _Text:
    place: Place
    said: bytes = b""
    mark: int = 0
    blocked: bool = False
    searched: dict[bytes, int] = field(default_factory=dict[bytes, int])


class Clearing:
    """Answers for one session, message by message.

    Args:
        words: What to find, in UTF-8, and what to say of it.
        lag: Bytes that watermarks stay behind the text, as long as it may go on.
        told: What to say of each text of an answer when it begins.
        told_of_prompts: The same of a prompt.
    """

    def __init__(
        self,
        words: Mapping[bytes, Finding],
        lag: int,
        told: tuple[Finding, ...] = (),
        told_of_prompts: tuple[Finding, ...] = (),
    ) -> None:
        self._words = words
        self._lag = lag
        self._told = {Side.PROMPT: told_of_prompts, Side.COMPLETION: told}
        self._reader = PayloadReader()
        self._texts: dict[Place, _Text] = {}
        self.side = Side.PROMPT
        """The side of what was sent last."""

    def answer(self, message: ClientMessage) -> Iterator[SafetyEvent]:
        """Yield what can be said after this message."""
        if isinstance(message, Buffer):
            self.side = message.side
            for piece in self._reader.read(message):
                text = self._texts.setdefault(piece.place, _Text(piece.place))
                begins = not text.said
                text.said += piece.text.encode()
                if begins and (told := self._told[self.side]):
                    yield AnalysisResult(text.place, 0, len(text.said), told)
                yield from self._results(text)
                yield from self._mark(text, len(text.said) - max(self._lag, self._begun_word(text)))
        elif isinstance(message, Commit):
            yield from self._end(self.side)

    def end(self) -> Iterator[SafetyEvent]:
        """Yield what is left to say when nothing more comes."""
        for source in Side:
            yield from self._end(source)

    def _end(self, source: Side) -> Iterator[SafetyEvent]:
        for text in self._texts.values():
            if text.place.side is source:
                yield from self._mark(text, len(text.said))

    def _results(self, text: _Text) -> Iterator[SafetyEvent]:
        for word, finding in self._words.items():
            while (start := text.said.find(word, text.searched.get(word, 0))) >= 0 and not text.blocked:
                end = text.searched[word] = start + len(word)
                if finding.blocking:
                    yield from self._mark(text, start)
                    text.blocked = True
                yield AnalysisResult(text.place, start, end, (finding,))

    def _mark(self, text: _Text, offset: int) -> Iterator[SafetyEvent]:
        if offset > text.mark and not text.blocked:
            text.mark = offset
            yield Watermark(text.place, offset)

    def _begun_word(self, text: _Text) -> int:
        """Bytes at the text's end that may become a word."""
        begun = (size for word in self._words for size in range(1, len(word)) if text.said.endswith(word[:size]))
        return max(begun, default=0)
