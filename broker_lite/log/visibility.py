"""What readers of a log may see: everything, or only what is on disk.

Records that have to be flushed before they are acknowledged are held back from readers, too: the
high watermark stays in front of them. Kafka does the same, by flushing within the append.

A broker that serves sets `Commits.start`: then a log that holds records back is flushed beside the
event loop, and all records that are appended meanwhile share the next flush. Without it the append
itself flushes.
"""

from collections.abc import Callable
from typing import Final, TypeAlias

from broker_lite.errors import KafkaStorageError
from broker_lite.log.canned.endless import EndlessRecords
from broker_lite.log.flusher import Flusher
from broker_lite.log.parts import LogParts
from broker_lite.log.replicas import Replicas

Waiter: TypeAlias = Callable[[], None]
FlushWaiter: TypeAlias = Callable[[KafkaStorageError | None], None]
_EACH: Final = 0


class Commits:
    """Knows which logs of a data directory hold records back; for the event loop's thread.

    A log is known here by its Visibility.

    Attributes:
        held: the logs that hold records back; empty where no log has to be flushed.
        lagging: the logs whose high watermark may wait for replicas; empty where none does.
        failures: how many flushes failed for which somebody may have waited.
        start: begins a flush in the background, and calls flush_ended() after it; None where the
            append itself flushes.
        went_offline: is called with a log that must not be used any more.
    """

    __slots__ = ("failures", "held", "lagging", "start", "went_offline")

    def __init__(self) -> None:
        self.held: dict[Visibility, None] = {}
        self.lagging: set[Visibility] = set()
        self.failures = 0
        self.start: Callable[[Visibility], None] | None = None
        self.went_offline: Callable[[Visibility], None] = _ignore


class Visibility:
    """How far readers see a log, and who waits to see more.

    Attributes:
        topic: of the log.
        partition: of the log.
        flusher: of the log.
        end_offset: the log end offset after the last append.
        high_watermark: readers see the records below this offset: with one replica all of them,
            except those that are held back.
        replicas: the replicas of other brokers while one of them is behind, or too few of them
            are in sync; else None.
        synthetic: what readers see instead of the log, while its topic is synthetic; else None.
        commits: shared with the other logs of the data directory.
    """

    __slots__ = (
        "_flush_at",
        "_flush_messages",
        "_flush_waiters",
        "_flushed_to",
        "_held_to",
        "_producers",
        "_waiters",
        "commits",
        "end_offset",
        "flusher",
        "high_watermark",
        "partition",
        "replicas",
        "synthetic",
        "topic",
    )

    def __init__(self, parts: LogParts, flusher: Flusher) -> None:
        """Show everything that loading found.

        Args:
            parts: of the log.
            flusher: of the log.
        """
        self.topic = parts.topic
        self.partition = parts.partition
        self.flusher = flusher
        self.commits = Commits()
        self.replicas: Replicas | None = None
        self.synthetic: EndlessRecords | None = None
        self.end_offset = self.high_watermark = parts.log_end_offset
        # Nothing below has to be flushed before it is shown.
        self._flushed_to = parts.log_end_offset
        self._producers = parts.producer_state
        self._waiters: dict[Waiter, None] = {}
        self._flush_waiters: list[FlushWaiter] = []
        self._flush_messages = parts.config.flush_messages
        # A flush up to here was asked for, or made.
        self._held_to = parts.recovery_point
        # An append that ends here or further has to look whether a flush is due.
        self._flush_at = parts.recovery_point + parts.config.flush_messages

    def set_flush_messages(self, flush_messages: int) -> None:
        """Take a new value of flush.messages; it counts from the next append on."""
        self._flush_messages = flush_messages
        self._flush_at = _EACH

    # -- waiting

    def add_waiter(self, waiter: Waiter) -> None:
        """Have a function called after every append, log start change, and deletion."""
        self._waiters[waiter] = None

    def remove_waiter(self, waiter: Waiter) -> None:
        """Stop calling a function; one that is not called is no error."""
        self._waiters.pop(waiter, None)

    @property
    def is_watched(self) -> bool:
        """Whether somebody waits for the next change."""
        return bool(self._waiters)

    def wake(self) -> None:
        """Call the functions that wait for a change."""
        for waiter in tuple(self._waiters):
            waiter()

    def when_flushed(self, waiter: FlushWaiter) -> None:
        """Have a function called when all that is held back now is on disk, or cannot get there.

        It is called at once if nothing is held back, or if the flush has failed already.
        """
        if self.flusher.offline_reason is not None:
            waiter(self.flusher.offline_error())
        elif self in self.commits.held:
            self._flush_waiters.append(waiter)
        elif self._flushed_to < self.end_offset:
            waiter(KafkaStorageError(f"{self.flusher.directory} could not be flushed"))
        else:
            waiter(None)

    def look_at_replicas(self) -> None:
        """Move the high watermark as far as the replicas allow now, and wake who waits for it."""
        self._show(self._flushed_to)

    def go_back(self, high_watermark: int) -> None:
        """Take the high watermark that a new leader knows, which may be below that of before.

        See: C-52.
        """
        self.high_watermark = min(high_watermark, self.high_watermark)

    # -- appends

    def show_or_hold(self, end_offset: int) -> None:
        """Show what was appended, or hold it back until it is on disk.

        Raises:
            KafkaStorageError: the flush was to be made here, and the batch may not be on disk.
        """
        self.end_offset = end_offset
        if end_offset >= self._flush_at:
            self._commit()
        else:
            self._show(end_offset)

    def _show(self, offset: int) -> None:
        self._flushed_to = offset
        if self.replicas is not None:
            offset = self.replicas.high_watermark(offset, self.high_watermark)
        self.high_watermark = offset
        self._producers.high_watermark_moved(offset)
        if self._waiters:
            self.wake()

    def _commit(self) -> None:
        """Flush what is to be flushed before it is shown, here or in the background.

        Raises:
            KafkaStorageError: as show_or_hold().

        See: S-32 (UnifiedLog.append).
        """
        end = self.end_offset
        known = max(self.flusher.recovery_point, self._held_to)
        commits = self.commits
        if end - known < self._flush_messages:
            if self not in commits.held:
                self._flush_at = known + self._flush_messages
                self._show(end)
            return
        self._held_to = end
        if commits.start is None:
            try:
                self.flusher.flush(end)
            except KafkaStorageError:
                self.flush_ended(end, KafkaStorageError())
                raise
            self._flush_at = end + self._flush_messages
            self._show(end)
            return
        self._flush_at = _EACH
        commits.held[self] = None
        commits.start(self)

    def flush_ended(self, offset: int, error: KafkaStorageError | None) -> bool:
        """Show what is on disk after a flush, and tell the callers that wait for it.

        Args:
            offset: everything below it was to be flushed.
            error: why it may not be on disk.

        Returns:
            True if more is held back by now, so that another flush has to begin.
        """
        is_offline = self.flusher.offline_reason is not None
        if is_offline and error is None:  # of two flushes at once, only one may see the error
            error = self.flusher.offline_error()
        if error is None and self._held_to > offset:
            self._show(offset)
            return True
        self.commits.held.pop(self, None)
        waiters, self._flush_waiters = self._flush_waiters, []
        if error is None:
            self._show(self.end_offset)
        else:
            self.commits.failures += 1
            self._held_to = self.flusher.recovery_point  # the next append tries it again
            if is_offline:
                self.commits.went_offline(self)
            self.wake()
        for waiter in waiters:
            waiter(error)
        return False


def _ignore(_log: Visibility) -> None:
    """The default callback: does nothing."""
