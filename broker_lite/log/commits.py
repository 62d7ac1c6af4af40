"""Which logs hold back records that must be on disk before anybody hears of them.

A log without anybody who flushes for it flushes at the end of the append. A broker that serves sets
`start`: then the log holds the records back, `start` has it flushed beside the event loop, and all
that is appended meanwhile shares the next flush.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from broker_lite.errors import KafkaStorageError
    from broker_lite.log.durable_log import DurableLog

FlushWaiter: TypeAlias = "Callable[[KafkaStorageError | None], None]"


class Commits:
    """What the logs of a data directory and who flushes them share; of the event loop's thread.

    Attributes:
        held: the logs that hold records back; empty where no log has to be flushed.
        failures: how many flushes failed that somebody may have waited for.
        start: has a log flushed in the background and flush_ended() called; None where nobody does.
        went_offline: told of a log that must not be used any more.
    """

    __slots__ = ("failures", "held", "start", "went_offline")

    def __init__(self) -> None:
        self.held: dict[DurableLog, None] = {}
        self.failures = 0
        self.start: Callable[[DurableLog], None] | None = None
        self.went_offline: Callable[[DurableLog], None] = _nobody


def _nobody(_log: "DurableLog") -> None:
    """Be who is told where nobody is."""
