"""Wait for requests, instead of sleeping until they have probably come."""

from typing import Final

import anyio

from broker_lite.testbench.errors import ControlError
from broker_lite.testbench.journal.entry_facts import EntryFacts
from broker_lite.testbench.journal.follow import Missed, check_recorded, follow
from broker_lite.testbench.journal.journal import Journal
from broker_lite.testbench.journal.near import near_misses
from broker_lite.testbench.selectors import Matcher, Selectors

TIMEOUT_MS: Final = 30_000
COUNT_MAX: Final = 10_000
_QUEUE_MAX: Final = 100_000


async def wait(
    journal: Journal,
    match: Selectors,
    *,
    count: int = 1,
    timeout_ms: float = TIMEOUT_MS,
    after: int | None = None,
    arrivals: bool = False,
) -> list[EntryFacts]:
    """Wait until so many requests that match have been answered, and return them.

    Args:
        journal: the journal.
        match: which requests.
        count: how many.
        timeout_ms: how long to wait for all of them.
        after: the number of the entry after which to begin; None for what ends from now on.
        arrivals: wait until the requests have come, answered or not; with `after`, those of them
            that are there already must have been answered.

    Raises:
        ControlError: an argument is wrong; such requests are not recorded (409); or there were too
            few of them in time (408), with the near misses.
    """
    matcher = Matcher(match, "match")
    if not 1 <= count <= COUNT_MAX:
        raise ControlError(400, f"count is not between 1 and {COUNT_MAX}", "count")
    check_recorded(journal, matcher, "match.keys")
    begin = journal.last if after is None else after
    found: list[EntryFacts] = []
    with anyio.move_on_after(timeout_ms / 1000):
        with follow(
            journal, match, after=after, arrivals=arrivals, queue_max=_QUEUE_MAX, at="match"
        ) as follower:
            async for facts in follower:
                if isinstance(facts, Missed):
                    continue
                found.append(facts)
                if len(found) == count:
                    break
    if len(found) < count:
        raise await _timed_out(journal, matcher, found, count, begin)
    return found


async def _timed_out(
    journal: Journal, matcher: Matcher, found: list[EntryFacts], count: int, begin: int
) -> ControlError:
    """Return the error that tells what has come."""
    ids = [facts.entry.id for facts in found]
    came = len(journal.entries(begin))
    near = await near_misses(journal, matcher, after=begin) or await near_misses(journal, matcher)
    text = f"{len(found)} of {count} requests came in time"
    text += f" ({', '.join(ids[:10])})" if ids else ""
    text += f"; {came} request{'' if came == 1 else 's'} came in all"
    text += f"; nearest: {'; '.join(near)}" if near else ""
    return ControlError(408, text, found={"requests": ids, "came": came, "near": near})
