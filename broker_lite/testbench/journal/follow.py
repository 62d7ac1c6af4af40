"""Follow the journal: get each entry when its request is answered, without polling."""

from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final, NamedTuple

import anyio

from broker_lite.testbench.errors import ControlError
from broker_lite.testbench.journal.entry import Entry
from broker_lite.testbench.journal.entry_facts import EntryFacts
from broker_lite.testbench.journal.journal import Journal
from broker_lite.testbench.selectors import Matcher, Selectors
from broker_lite.testbench.turns import Turns

QUEUE_MAX: Final = 1000
"""So many entries wait for a slow follower; the oldest are lost then."""
_BURSTS_PER_S: Final = 3
"""An idle loop that is woken more often costs more than what it has to tell."""


class Missed(NamedTuple):
    """How many requests a follower was too slow for, or came too late for."""

    requests: int


class Pace:
    """Lets a follower tell at most so many entries a second.

    Entries come in bursts, three a second: who follows thousands of requests a second has work for
    some of them only, and the broker has none for the others.

    Attributes:
        queue_max: how many entries wait for the follower.
    """

    def __init__(self, per_second: int | None) -> None:
        """Begin.

        Args:
            per_second: None for as many as there are.
        """
        self._at_a_time = None if per_second is None else max(1, per_second // _BURSTS_PER_S)
        self._pause_s = 0.0 if per_second is None else (self._at_a_time or 1) / per_second
        self._told = 0
        self.queue_max = QUEUE_MAX if self._at_a_time is None else self._at_a_time

    @property
    def is_last(self) -> bool:
        """Whether next() waits when one more entry is told."""
        return self._at_a_time is not None and self._told + 1 >= self._at_a_time

    async def next(self) -> None:
        """Wait until the next entry may be told."""
        if self._at_a_time is None:
            return
        self._told += 1
        if self._told >= self._at_a_time:
            self._told = 0
            await anyio.sleep(self._pause_s)


class Follower:
    """An async iterator of the entries that match, and of what was missed in between."""

    def __init__(
        self, journal: Journal, matcher: Matcher, *, after: int | None, queue_max: int
    ) -> None:
        """Take the entries of now; what comes later is passed to take().

        Args:
            journal: the journal.
            matcher: which entries.
            after: the number of the entry after which to begin; None for what ends from now on.
            queue_max: how many entries wait at most.
        """
        self._journal = journal
        self._matcher = matcher
        # Numbers: the entries themselves would keep memory that the journal no longer counts.
        self._queue: deque[int] = deque(maxlen=queue_max)
        # How many came into the queue, and how many of them are told or known to be missed.
        self._taken = 0
        self._passed = 0
        self._missed = 0
        self._news: anyio.Event | None = None
        self._turns = Turns()
        end = journal.last
        self._next = end + 1 if after is None else after + 1
        self._end = end
        # These come by take() when they end.
        self._open = frozenset(entry.number for entry in journal.entries() if not entry.ended)

    def take(self, entry: Entry) -> None:
        """Add an entry; called for each that ends."""
        keys = self._matcher.keys
        if keys is not None and entry.api_key not in keys:
            return
        self._taken += 1
        self._queue.append(entry.number)
        if self._news is not None:
            self._news.set()

    @property
    def has_more(self) -> bool:
        """Whether there may be another entry without a wait."""
        return bool(self._queue) or self._next <= self._end

    def __aiter__(self) -> "Follower":
        """Return itself."""
        return self

    async def __anext__(self) -> EntryFacts | Missed:
        """Wait for the next entry that matches, or for the news that some were missed."""
        while True:
            await self._turns.next()
            if self._next <= self._end:
                entry = self._kept()
            else:
                self._skip_dropped()
                if self._missed:
                    count, self._missed = self._missed, 0
                    return Missed(count)
                if not self._queue:
                    await self._wait_for_news()
                    continue
                entry = self._journal.entry(self._pop())
            if entry is not None:
                facts = EntryFacts(entry, self._journal.topic_names())
                if self._matcher.matches(facts):
                    return facts

    async def _wait_for_news(self) -> None:
        self._news = anyio.Event()
        try:
            await self._news.wait()
        finally:
            self._news = None

    def _pop(self) -> int:
        self._passed += 1
        return self._queue.popleft()

    def _skip_dropped(self) -> None:
        """Count what the queue had no room for, and skip what is not kept any more."""
        lost = self._taken - self._passed - len(self._queue)
        self._passed += lost
        self._missed += lost
        first = self._journal.first
        while self._queue and self._queue[0] < first:
            self._pop()
            self._missed += 1

    def _kept(self) -> Entry | None:
        """Return the next entry that was there at the beginning, None if it is not to be told."""
        first = self._journal.first
        if self._next < first:
            gone = min(first, self._end + 1) - self._next
            self._missed += gone
            self._next += gone
            return None
        number, self._next = self._next, self._next + 1
        return None if number in self._open else self._journal.entry(number)


def check_recorded(journal: Journal, matcher: Matcher, at: str) -> None:
    """Check that requests that match may come: a follower of nothing would wait for ever.

    Args:
        journal: the journal.
        matcher: which requests.
        at: where their APIs are in what the caller sent.

    Raises:
        ControlError: 409, such requests are not recorded.
    """
    recorded = journal.wanted_keys()
    if not recorded:
        raise ControlError(409, "requests are not recorded: set recording to headers or bodies")
    if matcher.keys is not None and not matcher.keys & recorded:
        raise ControlError(409, "requests of these APIs are not recorded", at)


@contextmanager
def follow(
    journal: Journal,
    selectors: Selectors | None = None,
    *,
    after: int | None = None,
    queue_max: int = QUEUE_MAX,
    arrivals: bool = False,
    at: str = "",
) -> Iterator[Follower]:
    """Follow the journal until the context ends.

    Args:
        journal: the journal.
        selectors: which requests; None for all of them.
        after: the number of an entry: begin with those after it; None for what comes from now on.
        queue_max: how many entries wait for a slow follower.
        arrivals: tell each request when it is taken up, not when it is answered.
        at: where the selectors are in what the caller sent.

    Raises:
        ControlError: a selector is wrong.
    """
    matcher = Matcher(selectors or Selectors(), at)
    follower = Follower(journal, matcher, after=after, queue_max=queue_max)
    watchers = journal.arrivals if arrivals else journal.ends
    watchers.append(follower.take)
    try:
        yield follower
    finally:
        watchers.remove(follower.take)
