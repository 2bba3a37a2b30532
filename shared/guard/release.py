"""The line in which a guarded answer waits: its text, and the events between, in their order."""

from collections import deque


class Line[T]:
    """Holds text and other items; gives the text as far as it is cleared, and each item once the text before it is out.

    Text goes in as strings and is counted in UTF-8 bytes; what comes out never ends within a character.
    """

    def __init__(self) -> None:
        self._text = bytearray()
        self._out = 0
        self._items: deque[tuple[int, T]] = deque()

    @property
    def held(self) -> int:
        """Bytes of text that wait."""
        return len(self._text)

    @property
    def empty(self) -> bool:
        """Whether everything is out."""
        return not self._text and not self._items

    @property
    def item(self) -> T | None:
        """The next item, if all text before it is out."""
        return self._items[0][1] if self._items and self._items[0][0] == self._out else None

    def hold_text(self, text: str) -> None:
        """Add text at the end."""
        self._text += text.encode()

    def hold(self, item: T) -> None:
        """Add an item behind all text so far."""
        self._items.append((self._out + len(self._text), item))

    def take_item(self) -> None:
        """The next item is out."""
        self._items.popleft()

    def take_text(self, shown: int | None) -> str:
        """The next text that may go out, up to the next item.

        Args:
            shown: How many bytes of the whole text may be shown; None: all.
        """
        end = self._items[0][0] if self._items else self._out + len(self._text)
        size = max(0, min(end, end if shown is None else shown) - self._out)
        while 0 < size < len(self._text) and self._text[size] & 0xC0 == 0x80:  # within a character
            size -= 1
        taken = self._text[:size].decode()
        del self._text[:size]
        self._out += size
        return taken
