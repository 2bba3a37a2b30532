"""Counts requests and tokens of each caller, and of all callers together, in the memory of this process."""

from collections import OrderedDict
from collections.abc import Awaitable, Callable, Iterable, Iterator
from hashlib import sha256
from itertools import islice
from typing import Literal

import msgspec

from shared.budgets import Clock, Limits
from shared.budgets.standing import DAY, Consumption, Standing, limit_headers
from shared.chat_types import PartHealth
from shared.errors import RateLimited

_MOST_CALLERS = 10_000
"""Maximum number of callers with counts in memory; beyond it, of the least recently seen only the tokens are kept."""
_MOST_REMEMBERED = 100_000
"""Maximum number of callers of whom only the tokens of the day are kept."""
_MOST_EXCHANGED = 200
"""Maximum number of callers whose counts are exchanged with other instances at once; the others follow."""
SHARE = 10
"""Counts are reported at once when 1/10 of a limit was counted here that other instances do not know of yet."""
REPORTED_SECONDS = 15.0
"""Maximum time in seconds until the other instances know what was counted here."""
_MOST_WAITING = 10_000
"""Maximum number of callers whose counts wait for an exchange, while the table fails."""
ALL = "*"
"""Stands for all callers together, among the digests of callers."""

type Scope = Literal["at once", "soon", "all"]
"""Which callers are exchanged: those with many unreported counts; also those who are new here or wait for long; all."""


class Account:
    """What one caller, or all callers together, have used."""

    __slots__ = ("digest", "here", "row", "shared", "since", "unreported")

    def __init__(self, digest: str) -> None:
        self.digest = digest
        """Identifies the caller among all instances."""
        self.here = Consumption()
        """What was counted at this instance, by its monotonic clock."""
        self.unreported = Consumption()
        """The part of it that the other instances do not know, by the clock in UTC."""
        self.since: float | None = None
        """Since when its counts wait for an exchange, by the monotonic clock; None: they do not wait."""
        self.shared = Consumption()
        """What all instances had used when it was exchanged last, by the clock in UTC."""
        self.row: tuple[int, str | None] | None = None
        """The day of the exchange and the ETag of what is stored; None: there was no exchange."""

    def requests_at(self, now: float, utc: float) -> tuple[int, float]:
        """Return the requests in the last minute, and the seconds until the oldest no longer count."""
        here, everywhere = self.here.requests_at(now), self.shared.requests_at(utc) + self.unreported.requests_at(utc)
        if here >= everywhere:
            return here, self.here.frees_in(now)
        return everywhere, min(one.frees_in(utc) for one in (self.shared, self.unreported) if one.steps)

    def tokens_on(self, day: int) -> int:
        """Return the tokens of a day."""
        return max(0, self.here.tokens_on(day), self.shared.tokens_on(day) + self.unreported.tokens_on(day))


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
        self.clock = clock or Clock()
        """Source of the time."""
        self._most_callers = most_callers
        self.all = Account(ALL)
        """What all callers together have used."""
        self._accounts: OrderedDict[str, Account] = OrderedDict()
        self._remembered: OrderedDict[str, Consumption] = OrderedDict()
        self._unreported: dict[str, Account] = {}
        self.changed: Callable[[bool], None] | None = None
        """Called when there are counts to report, and whether they must be reported at once; `SharedCounts` sets it."""
        self.check: Callable[[], Awaitable[PartHealth]] | None = None
        """Checks what counts for all instances; likewise."""

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
            now, utc = self.clock.monotonic(), self.clock.utc()
            for one in (account, self.all):
                one.here.count_request(now)
                if self.changed:
                    one.unreported.count_request(utc)
        self._exchange_later(account)
        return Admission(self, key, account, reached.refusal() if reached else None)

    def meter(self, key: str) -> "Admission":
        """Return what counts the tokens of a caller whose request was admitted earlier, maybe by another instance."""
        return Admission(self, key, self._account(key), None)

    def reserve(self, key: str, tokens: int) -> None:
        """Count the maximum of tokens that a model call for a caller may use, before the call.

        Raises:
            RateLimited: no tokens are left; nothing is counted.
        """
        account = self._account(key)
        for one in self.standings(account):
            if one.unit == "tokens" and one.remaining < 1:
                self._exchange_later(account)
                raise one.refusal()
        self.spend(key, tokens)

    def spend(self, key: str, tokens: int) -> None:
        """Count tokens of a caller; a negative number corrects a count that was too high."""
        day, account = self.today, self._account(key)
        for one in (account, self.all):
            one.here.count_tokens(tokens, day)
            if self.changed:
                one.unreported.count_tokens(tokens, day)
        self._exchange_later(account)

    @property
    def today(self) -> int:
        """The current day (UTC), in days since 1970."""
        return int(self.clock.utc() // DAY)

    @property
    def limits_all(self) -> bool:
        """Whether there is a limit of all callers together."""
        return self._everybody != Limits()

    def standings(self, account: Account) -> Iterator[Standing]:
        """Yield the standing of a caller in each limit that is set."""
        now, utc = self.clock.monotonic(), self.clock.utc()
        day = int(utc // DAY)
        for limits, one in ((self._caller, account), (self._everybody, self.all)):
            of_all = one is self.all
            if limits.requests:
                used, frees_in = one.requests_at(now, utc)
                yield Standing("requests", of_all, limits.requests, used, frees_in)
            if limits.tokens:
                yield Standing("tokens", of_all, limits.tokens, one.tokens_on(day), (day + 1) * DAY - utc)

    def is_urgent(self, account: Account) -> bool:
        """Whether so much of an account is unreported that it must be reported at once."""
        limits = self._everybody if account is self.all else self._caller
        used = account.unreported
        return bool(
            (limits.requests and SHARE * used.requests_at(self.clock.utc()) >= limits.requests)
            or (limits.tokens and SHARE * used.tokens_on(self.today) >= limits.tokens)
        )

    def due(self, scope: Scope) -> list[Account]:
        """Return the accounts of callers to exchange now, the longest waiting first."""
        before = self.clock.monotonic() - REPORTED_SECONDS
        waiting: Iterable[Account] = self._unreported.values()
        if self._caller == Limits():
            return []
        if scope == "all":
            waiting = {one.digest: one for one in (*waiting, *reversed(self._accounts.values()))}.values()
        elif scope == "soon":
            waiting = (one for one in waiting if not one.row or (one.since or 0) <= before or self.is_urgent(one))
        else:
            waiting = filter(self.is_urgent, waiting)
        return list(islice(waiting, _MOST_EXCHANGED))

    def exchanged(self, account: Account, used: Consumption, sent: Consumption) -> None:
        """Note that an account was exchanged.

        Args:
            account: The account.
            used: What all instances have used.
            sent: What this instance has reported.
        """
        account.shared = used
        account.unreported.subtract(sent)
        account.since = self.clock.monotonic() if account.unreported else None
        if not account.unreported:
            self._unreported.pop(account.digest, None)

    @property
    def waits(self) -> bool:
        """Whether there are counts to report."""
        return bool(self._unreported or (self.limits_all and self.all.unreported))

    def _exchange_later(self, account: Account) -> None:
        """Note that an account waits for an exchange: it has new counts, or a request of it was refused."""
        if self.changed is None:
            return
        if account.since is None:
            account.since = self.clock.monotonic()
        if self._caller != Limits():
            self._unreported[account.digest] = account
            if len(self._unreported) > _MOST_WAITING:
                del self._unreported[next(iter(self._unreported))]
        self.changed(self.is_urgent(account) or self.is_urgent(self.all))

    def _account(self, key: str) -> Account:
        account = self._accounts.get(key)
        if account:
            self._accounts.move_to_end(key)
            return account
        digest = sha256(key.encode(errors="replace")).hexdigest()[:16]
        used = self._remembered.pop(digest, Consumption())
        account = self._unreported.get(digest)
        if account is None:
            account = Account(digest)
            account.here.add(used)
        self._accounts[key] = account
        if len(self._accounts) > self._most_callers:
            _, forgotten = self._accounts.popitem(last=False)
            if tokens := forgotten.tokens_on(self.today):
                self._remembered[forgotten.digest] = Consumption(tokens=tokens, day=self.today)
                if len(self._remembered) > _MOST_REMEMBERED:
                    self._remembered.popitem(last=False)
        return account


class Admission(msgspec.Struct, frozen=True):
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

    def count_call(self) -> None:
        """Count the call of a server's tool as a request; see `TokenMeter`."""
        if refusal := self.ledger.admit(self.key, spends=False).refusal:
            raise refusal

    def headers(self) -> dict[str, str]:
        """Return the rate limit headers of the response, with the remaining amounts of now."""
        return limit_headers(self.ledger.standings(self.account))
