"""Counts requests and tokens of each caller, and of all callers together, in the memory of this process."""

from collections import OrderedDict, deque
from collections.abc import Awaitable, Callable, Iterator, Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from heapq import nlargest

from shared.budgets import Clock, Limits
from shared.budgets.standing import DAY, MINUTE, Standing, limit_headers
from shared.chat_types import PartHealth
from shared.errors import RateLimited
from shared.settings import Settings

_MOST_CALLERS = 10_000
"""Maximum number of callers with counts in memory; beyond it, the least recently seen caller is forgotten."""
_MOST_SHARED = 1_000
"""Number of callers whose counts other instances get: those with the highest counts, as many as fit in one property
of a table entity."""
_STEP_SECONDS = 5
"""Length of the steps of a minute in which requests are counted, in seconds. Steps keep the memory per caller small."""
_STEPS = MINUTE // _STEP_SECONDS + 1
"""Number of steps that overlap the last minute; the oldest counts until it is entirely over."""
ALL = "*"
"""Key of all callers together, among the digests of callers."""


@dataclass(frozen=True, slots=True)
class Counts:
    """Requests and tokens by caller, keyed by the digest of the caller's key; `ALL` has the totals."""

    requests: Mapping[str, float] = field(default_factory=dict[str, float])
    """Requests in the last minute."""
    tokens: Mapping[str, int] = field(default_factory=dict[str, int])
    """Tokens of the current day (UTC)."""


class Account:
    """Requests and tokens of one caller, or of all callers together, at this instance."""

    __slots__ = ("_day", "_steps", "_tokens", "digest", "requests")

    def __init__(self, digest: str) -> None:
        self.digest = digest
        """Identifies the caller in the counts that are shared with other instances."""
        self.requests = 0
        """Requests in the last minute, as of the last call of `requests_at` or `count_request`."""
        self._steps: deque[list[int]] = deque()
        self._tokens = 0
        self._day = 0

    def requests_at(self, now: float) -> int:
        """Return the requests in the minute before `now`, and up to one step longer."""
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
        """Return the seconds until the oldest requests no longer count."""
        return (self._steps[0][0] + _STEPS) * _STEP_SECONDS - now if self._steps else float(_STEP_SECONDS)

    def tokens_on(self, day: int) -> int:
        """Return the tokens of a day."""
        return self._tokens if day == self._day else 0

    def count_tokens(self, count: int, day: int) -> None:
        """Count tokens; a correction may be negative."""
        self._tokens = max(0, self.tokens_on(day) + count)
        self._day = day


class Ledger:
    """Admits requests within the limits.

    Args:
        caller: Limits of each caller.
        everybody: Limits of all callers together.
        clock: Source of the time.
        most_callers: Maximum number of callers with counts in memory.
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
        """Called after each count; `SharedCounts` sets it."""
        self.check: Callable[[], Awaitable[PartHealth]] | None = None
        """Checks what counts for all instances; likewise."""

    @classmethod
    def from_settings(cls, settings: Settings) -> "Ledger":
        """Make it with the limits of the settings."""
        return cls(
            Limits(settings.limit_caller_requests_per_minute, settings.limit_caller_tokens_per_day),
            Limits(settings.limit_requests_per_minute, settings.limit_tokens_per_day),
        )

    def admit(self, key: str, *, spends: bool = True) -> "Admission":
        """Count a request of a caller, unless a limit is reached; the result has the refusal then.

        Args:
            key: The caller's key.
            spends: Whether the request may use tokens. One that does not is admitted when there are none left.
        """
        account = self._account(key)
        limits = (one for one in self.standings(account) if spends or one.unit == "requests")
        reached = next((one for one in limits if one.remaining < 1), None)
        if reached is None:
            now = self._clock.monotonic()
            account.count_request(now)
            self._all.count_request(now)
            if self.changed:
                self.changed()
        return Admission(self, key, account, reached.refusal() if reached else None)

    def meter(self, key: str) -> "Admission":
        """Return what counts the tokens of a caller whose request was admitted earlier, maybe by another instance."""
        return Admission(self, key, self._account(key), None)

    def reserve(self, key: str, tokens: int) -> None:
        """Count the maximum of tokens that a model call for a caller may use, before the call.

        Raises:
            RateLimited: no tokens are left; nothing is counted.
        """
        for one in self.standings(self._account(key)):
            if one.unit == "tokens" and one.remaining < 1:
                raise one.refusal()
        self.spend(key, tokens)

    def spend(self, key: str, tokens: int) -> None:
        """Count tokens of a caller; a negative number corrects a count that was too high."""
        day = self.today
        self._account(key).count_tokens(tokens, day)
        self._all.count_tokens(tokens, day)
        if self.changed:
            self.changed()

    @property
    def today(self) -> int:
        """The current day (UTC), in days since 1970."""
        return int(self._clock.utc() // DAY)

    def standings(self, account: Account) -> Iterator[Standing]:
        """Yield the standing of a caller in each limit that is set."""
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
        """Return the counts of this instance: of the callers with the highest counts, and the totals."""
        now, day = self._clock.monotonic(), self.today
        accounts = self._accounts.values()
        requests = {one.digest: count for one in accounts if (count := one.requests_at(now))}
        tokens = {one.digest: count for one in accounts if (count := one.tokens_on(day))}
        return Counts(
            {**dict(nlargest(_MOST_SHARED, requests.items(), lambda item: item[1])), ALL: self._all.requests_at(now)},
            {**dict(nlargest(_MOST_SHARED, tokens.items(), lambda item: item[1])), ALL: self._all.tokens_on(day)},
        )

    def learn(self, elsewhere: Counts) -> None:
        """Replace the counts of the other instances; their requests then fade to 0 within a minute."""
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
    """The ledger's decision on one request."""

    ledger: Ledger
    """The ledger that counts the request."""
    key: str
    """Key of the caller."""
    account: Account
    """Counts of the caller."""
    refusal: RateLimited | None
    """The error, if the request is refused; None if it is admitted."""

    def reserve(self, tokens: int) -> None:
        """Count the maximum of tokens that a model call may use; see `TokenMeter`."""
        self.ledger.reserve(self.key, tokens)

    def correct(self, difference: int) -> None:
        """Count the difference between the tokens used and those reserved; see `TokenMeter`."""
        self.ledger.spend(self.key, difference)

    def headers(self) -> dict[str, str]:
        """Return the rate limit headers of the response, with the remaining amounts of now."""
        return limit_headers(self.ledger.standings(self.account))
