"""Counts requests and tokens, of each caller and of all, in the memory of this process."""

from collections import OrderedDict, deque
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from heapq import nlargest

from shared.budgets import Clock, Limits
from shared.budgets.standing import DAY, MINUTE, Standing, limit_headers
from shared.errors import RateLimited

_MOST_CALLERS = 10_000
"""Callers that are remembered; of more the one that called longest ago is forgotten, with what it used."""
_MOST_SHARED = 1_000
"""Callers that other instances are told of: those that used most. Their counts fit in one property of an entity."""
_STEP_SECONDS = 5
"""Requests are counted in steps of the minute, so that a caller takes little memory whatever its limit is."""
_STEPS = MINUTE // _STEP_SECONDS + 1
"""Steps that reach into the last minute: the oldest of them counts until all of it is over."""
ALL = "*"
"""Stands for all callers together among digests of callers."""


@dataclass(frozen=True, slots=True)
class Counts:
    """What callers used, by the digests of their keys; `ALL` is all of them together."""

    requests: Mapping[str, float] = field(default_factory=dict[str, float])
    """In the last minute."""
    tokens: Mapping[str, int] = field(default_factory=dict[str, int])
    """Today (UTC)."""


class Account:
    """What one caller, or all callers together, used at this instance."""

    __slots__ = ("_day", "_steps", "_tokens", "digest", "requests")

    def __init__(self, digest: str) -> None:
        self.digest = digest
        """Names the caller to other instances."""
        self.requests = 0
        """Requests in the last minute, as of the last look at it."""
        self._steps: deque[list[int]] = deque()
        self._tokens = 0
        self._day = 0

    def requests_at(self, now: float) -> int:
        """Requests in the minute before a moment, and up to a step longer ago."""
        oldest = int(now // _STEP_SECONDS) - _STEPS
        while self._steps and self._steps[0][0] <= oldest:
            self.requests -= self._steps.popleft()[1]
        return self.requests

    def count_request(self, now: float) -> None:
        """Count one request."""
        step = int(now // _STEP_SECONDS)
        if not self._steps or self._steps[-1][0] != step:
            self._steps.append([step, 0])
        self._steps[-1][1] += 1
        self.requests += 1

    def frees_in(self, now: float) -> float:
        """Seconds until the oldest requests no longer count."""
        return (self._steps[0][0] + _STEPS) * _STEP_SECONDS - now if self._steps else float(_STEP_SECONDS)

    def tokens_on(self, day: int) -> int:
        """Tokens of a day."""
        return self._tokens if day == self._day else 0

    def count_tokens(self, count: int, day: int) -> None:
        """Count tokens; a correction may be negative."""
        self._tokens = max(0, self.tokens_on(day) + count)
        self._day = day


class Ledger:
    """Admits requests within the limits.

    Args:
        caller: What each caller may use.
        everybody: What all callers together may use.
        clock: The time.
        most_callers: How many callers are remembered.
    """

    def __init__(
        self, caller: Limits, everybody: Limits, clock: Clock | None = None, *, most_callers: int = _MOST_CALLERS
    ) -> None:
        self._caller = caller
        self._everybody = everybody
        self._clock = clock or Clock()
        self._most_callers = most_callers
        self._all = Account(ALL)
        self._accounts: OrderedDict[str, Account] = OrderedDict()
        self._elsewhere = Counts()
        self._elsewhere_at = 0.0
        self.changed: Callable[[], None] | None = None
        """Called after each count, for those who tell other instances."""

    def admit(self, key: str) -> "Admission":
        """Count a request of a caller, unless a limit is reached."""
        account = self._account(key)
        reached = next((one for one in self.standings(account) if one.remaining < 1), None)
        if reached is None:
            now = self._clock.monotonic()
            account.count_request(now)
            self._all.count_request(now)
            if self.changed:
                self.changed()
        return Admission(self, key, account, reached.refusal() if reached else None)

    def reserve(self, key: str, tokens: int) -> None:
        """Count tokens that a model call for a caller may take.

        Raises:
            RateLimited: no tokens are left; nothing is counted.
        """
        for one in self.standings(self._account(key)):
            if one.unit == "tokens" and one.remaining < 1:
                raise one.refusal()
        self.spend(key, tokens)

    def spend(self, key: str, tokens: int) -> None:
        """Count tokens that a caller used; negative: fewer were used than had been counted."""
        day = self.today
        self._account(key).count_tokens(tokens, day)
        self._all.count_tokens(tokens, day)
        if self.changed:
            self.changed()

    @property
    def today(self) -> int:
        """The day (UTC), counted from 1970."""
        return int(self._clock.utc() // DAY)

    def standings(self, account: Account) -> Iterator[Standing]:
        """Each limit that is set, with what is left of it for a caller."""
        now, utc = self._clock.monotonic(), self._clock.utc()
        day = int(utc // DAY)
        fading = max(0.0, 1 - (now - self._elsewhere_at) / MINUTE)
        for limits, one in ((self._caller, account), (self._everybody, self._all)):
            of_all = one is self._all
            if limits.requests:
                used = one.requests_at(now) + fading * self._elsewhere.requests.get(one.digest, 0)
                yield Standing("requests", of_all, limits.requests, used, one.frees_in(now))
            if limits.tokens:
                used = one.tokens_on(day) + self._elsewhere.tokens.get(one.digest, 0)
                yield Standing("tokens", of_all, limits.tokens, used, (day + 1) * DAY - utc)

    def counts(self) -> Counts:
        """What callers used at this instance: those that used most, and all together."""
        now, day = self._clock.monotonic(), self.today
        accounts = self._accounts.values()
        requests = {one.digest: count for one in accounts if (count := one.requests_at(now))}
        tokens = {one.digest: count for one in accounts if (count := one.tokens_on(day))}
        return Counts(
            {**dict(nlargest(_MOST_SHARED, requests.items(), lambda item: item[1])), ALL: self._all.requests_at(now)},
            {**dict(nlargest(_MOST_SHARED, tokens.items(), lambda item: item[1])), ALL: self._all.tokens_on(day)},
        )

    def learn(self, elsewhere: Counts) -> None:
        """Take over what callers used at the other instances until now; requests fade within a minute."""
        self._elsewhere = elsewhere
        self._elsewhere_at = self._clock.monotonic()

    def _account(self, key: str) -> Account:
        account = self._accounts.get(key)
        if account is None:
            account = self._accounts[key] = Account(sha256(key.encode(errors="replace")).hexdigest()[:16])
            if len(self._accounts) > self._most_callers:
                self._accounts.popitem(last=False)
        else:
            self._accounts.move_to_end(key)
        return account


@dataclass(frozen=True, slots=True)
class Admission:
    """What became of one request."""

    ledger: Ledger
    """Who decided."""
    key: str
    """The caller."""
    account: Account
    """What the caller used."""
    refusal: RateLimited | None
    """Why it is refused; None: it is admitted."""

    def reserve(self, tokens: int) -> None:
        """Count tokens that a model call may take; see `TokenMeter`."""
        self.ledger.reserve(self.key, tokens)

    def correct(self, difference: int) -> None:
        """Count the difference to what it took; see `TokenMeter`."""
        self.ledger.spend(self.key, difference)

    def headers(self) -> dict[str, str]:
        """What is left now, for the answer's headers."""
        return limit_headers(self.ledger.standings(self.account))
