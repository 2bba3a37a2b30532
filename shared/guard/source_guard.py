"""Sources pass the guard too: one that the policy forbids is withheld, with the steps that quote it.

The turn goes on, since what is made of the sources is checked by itself. With `annotate` no source is checked.
"""

from collections.abc import Callable
from dataclasses import replace

from shared.chat_types import Json
from shared.errors import SwitchboardError
from shared.events import AgentMessage, DataPoint, Retrieved, Thought
from shared.guard import Place, Side
from shared.guard.check import Check
from shared.guard.rules import Rules


class GuardedSources:
    """The sources of a turn, or of one message: each is checked once, as a text of its own."""

    def __init__(self, rules: Rules, new_check: Callable[[], Check]) -> None:
        self._rules = rules
        self._new_check = new_check
        self._checked: dict[DataPoint, tuple[Check, Place]] = {}
        self.checks: list[Check] = []
        """All that were begun."""

    @property
    def fault(self) -> SwitchboardError | None:
        """Why the service's word of some cannot be had."""
        return next((check.fault for check in self.checks if check.fault), None)

    def take_in(self, found: Retrieved | AgentMessage) -> None:
        """Have the sources checked that are new."""
        new = [source for source in _sources(found) if source not in self._checked]
        if not (new and self._rules.enforced):
            return
        check = self._new_check()
        self.checks.append(check)
        for number, source in enumerate(new):
            place = Place(Side.COMPLETION, str(number), 0)
            check.add(place, source.line)
            self._checked[source] = check, place
        check.finish()

    def decided(self, found: Retrieved | AgentMessage) -> bool:
        """Whether it is known which of its sources may be shown."""
        return not self._rules.enforced or all(self._checked[source][0].settled for source in _sources(found))

    def shown[Found: (Retrieved, AgentMessage)](self, found: Found) -> Found:
        """The event with those of its sources that may be shown, and a thought that tells of the others."""
        if not self._rules.enforced:
            return found
        sources = _sources(found)
        withheld = {source for source in sources if not self._may_go(source)}
        thoughts = [thought for thought in found.thoughts if withheld.isdisjoint(thought.quotes)]
        if withheld or self.fault:
            thoughts.append(self._thought(len(withheld), len(sources)))
        data_points = tuple(point for point in found.data_points if point not in withheld)
        if isinstance(found, Retrieved):
            images = tuple(image for image in found.images if withheld.isdisjoint(image.data_points))
            return replace(found, data_points=data_points, thoughts=tuple(thoughts), images=images)
        return replace(found, data_points=data_points, thoughts=tuple(thoughts))

    def _may_go(self, source: DataPoint) -> bool:
        check, place = self._checked[source]
        if check.fault and not self._rules.forgives(check.fault):
            return False
        return not check.clearance.blocking or check.clearance.is_clear(place)

    def _thought(self, withheld: int, of: int) -> Thought:
        told: list[str] = []
        if withheld:
            are = "is" if withheld == 1 else "are"
            told.append(f"{withheld} of {of} sources {are} withheld, with the steps that quote them.")
        if self.fault:
            told.append(f"Not all sources were checked. {self.fault.message}")
        results = self._rules.results(Side.COMPLETION, *self.checks)
        props: dict[str, Json] = {"mode": self._rules.mode, "service": self._rules.kind}
        return Thought("Safety", " ".join(told), {**props, "content_filter_results": results})


def _sources(found: Retrieved | AgentMessage) -> list[DataPoint]:
    """What it shows of sources, each once."""
    quoted = (source for thought in found.thoughts for source in thought.quotes)
    return list(dict.fromkeys((*found.data_points, *quoted)))
