"""Guards the sources that are shown: a forbidden source is withheld, and so are the thoughts that quote it.

The turn goes on, since the answer that the model makes of the sources has its own check. With `annotate` no source is
checked.
"""

from collections.abc import Callable
from copy import replace

from shared.chat_types import Json, Role
from shared.errors import SwitchboardError
from shared.events import AgentMessage, DataPoint, Retrieved, Thought
from shared.guard import Place, Side
from shared.guard.chat_payloads import PromptText
from shared.guard.check import Check
from shared.guard.rules import Rules, merged


class GuardedSources:
    """The sources of a turn, or of one message of a team. Each is checked once, as a text of its own."""

    def __init__(self, rules: Rules, new_check: Callable[[], Check]) -> None:
        self._rules = rules
        self._new_check = new_check
        self._checked: dict[DataPoint, tuple[Check, int]] = {}
        self.checks: list[Check] = []
        """All checks so far; the owner of this object closes them."""

    @property
    def fault(self) -> SwitchboardError | None:
        """Error of the first check that failed, if one has."""
        return next((check.fault for check in self.checks if check.fault), None)

    def take_in(self, found: Retrieved | AgentMessage) -> None:
        """Start a check of the sources that are new."""
        new = [source for source in sources_of(found) if source not in self._checked]
        if not (new and self._rules.enforced):
            return
        check = self._new_check()
        self.checks.append(check)
        texts = [f"{source.line}\n{source.section}" if source.section else source.line for source in new]
        if self._rules.kind == "rai":  # its tasks for prompts look for orders to a model
            check.ask([PromptText(_place(Side.PROMPT, at), Role.TOOL, text) for at, text in enumerate(texts)])
        for number, (source, text) in enumerate(zip(new, texts, strict=True)):
            check.add(_place(Side.COMPLETION, number), text)
            self._checked[source] = check, number
        check.finish()

    def decided(self, found: Retrieved | AgentMessage) -> bool:
        """Whether the checks of all its sources have ended, so that `shown` can be called."""
        return not self._rules.enforced or all(self._checked[source][0].settled for source in sources_of(found))

    def shown[Found: (Retrieved, AgentMessage)](self, found: Found) -> Found:
        """Copy the event with only the sources that may be shown, and with a thought that counts the others."""
        if not self._rules.enforced:
            return found
        sources = sources_of(found)
        withheld = frozenset(source for source in sources if not self._may_go(source))
        found = without_sources(found, withheld)
        if not (withheld or self.fault):
            return found
        return replace(found, thoughts=(*found.thoughts, self._thought(len(withheld), len(sources))))

    def _may_go(self, source: DataPoint) -> bool:
        check, number = self._checked[source]
        if check.fault and not self._rules.forgives(check.fault):
            return False
        # One session checks several sources. After a block of one, another is shown only if it was cleared to its end.
        return not check.clearance.blocking or all(
            check.clearance.is_clear(place) for place in check.clearance.places if place.message_id == str(number)
        )

    def _thought(self, withheld: int, of: int) -> Thought:
        sentences: list[str] = []
        if withheld:
            are = "is" if withheld == 1 else "are"
            sentences.append(f"{withheld} of {of} sources {are} withheld, with the steps that quote them.")
        if self.fault:
            sentences.append(f"Not all sources were checked. {self.fault.message}")
        asked = self._rules.results(Side.PROMPT, *self.checks)
        results = merged(asked, self._rules.results(Side.COMPLETION, *self.checks))
        props: dict[str, Json] = {"mode": self._rules.mode, "service": self._rules.kind}
        return Thought("Safety", " ".join(sentences), {**props, "content_filter_results": results})


def _place(side: Side, number: int) -> Place:
    return Place(side, str(number), 0)


def sources_of(found: Retrieved | AgentMessage) -> list[DataPoint]:
    """All sources that an event shows or quotes, each once."""
    quoted = (source for thought in found.thoughts for source in thought.quotes)
    return list(dict.fromkeys((*found.data_points, *quoted)))


def without_sources[Found: (Retrieved, AgentMessage)](found: Found, withheld: frozenset[DataPoint]) -> Found:
    """Copy an event without these sources, the thoughts that quote them, and the images of their pages."""
    data_points = tuple(point for point in found.data_points if point not in withheld)
    thoughts = tuple(thought for thought in found.thoughts if withheld.isdisjoint(thought.quotes))
    if isinstance(found, Retrieved):
        images = tuple(image for image in found.images if withheld.isdisjoint(image.data_points))
        return replace(found, data_points=data_points, thoughts=thoughts, images=images)
    return replace(found, data_points=data_points, thoughts=thoughts)
