"""Deletes what is not needed any more of the log of share partitions' states.

What is older than the last snapshot of every state in a partition of the log is deleted from time
to time, as Kafka does. States that have not changed for long are written once more before that.
Nothing is deleted before the new snapshots are replicated: another broker that leads the partition
next may not have them.

Rule: K-23 (ShareCoordinatorService.performRecordPruning).
"""

import logging
from collections.abc import Iterator
from typing import Final, NamedTuple

from broker_lite.control.clock import Clock
from broker_lite.control.coordinators.background import Background
from broker_lite.control.coordinators.state_topic import StateTopic
from broker_lite.coordinator.share_records.states import ShareStates
from broker_lite.errors import BrokerError

logger = logging.getLogger("broker_lite.control")

_PRUNED_RECORDS: Final = 20_000
"""So many records of a partition are kept before what is not needed is deleted."""
_AT_A_TIME: Final = 32
"""So many states are written in one step: 2 ms, or 20 while their logs are new."""


class _Written(NamedTuple):
    """All states of a partition were written once more.

    Attributes:
        first: the offset of the first of these snapshots, or before it.
        end: the offset behind the last of them.
    """

    first: int
    end: int


class SharePruning:
    """Prunes the partitions of the log; used by one thread."""

    def __init__(
        self, topic: StateTopic, states: ShareStates, clock: Clock, background: Background
    ) -> None:
        """Store the parts.

        Args:
            topic: of the log.
            states: what it says.
            clock: of the process.
            background: writes the snapshots.
        """
        self._topic = topic
        self._states = states
        self._clock = clock
        self._background = background
        # by partition whose states are being written: the job that does so
        self._jobs: dict[int, object] = {}
        # by partition whose new snapshots are not replicated yet
        self._written: dict[int, _Written] = {}
        # by partition: the end offset at which it is pruned next
        self._due_at: dict[int, int] = {}

    def on_append(self, place: int) -> None:
        """Begin to prune a partition that was written to, or go on with it, if that is due."""
        if place in self._jobs:
            return
        written = self._written.get(place)
        if written is not None:
            self._delete_replicated(place, written)
            return
        log = self._topic.loaded_log(place)
        if log is None:
            return
        due_at = self._due_at.setdefault(place, log.log_start_offset + _PRUNED_RECORDS)
        if log.log_end_offset >= due_at:
            job = self._jobs[place] = object()
            self._background.add(self._prune(place, log.log_end_offset, job))

    def cancel(self, place: int) -> None:
        """Prune a partition no further, because its states are read again.

        Its log may have been cut, and have other records than before.
        """
        for by_place in (self._jobs, self._written, self._due_at):
            by_place.pop(place, None)

    def cancel_all(self) -> None:
        """Prune nothing any further, because the topic of the log was deleted."""
        for place in {*self._jobs, *self._written, *self._due_at}:
            self.cancel(place)

    def _prune(self, place: int, first: int, job: object) -> Iterator[None]:
        """Write all states of a partition, and delete what is older, unless that is cancelled."""
        now_ms = self._clock.now_ms()
        keys = self._states.keys_of(place)
        error = None
        for begin in range(0, len(keys), _AT_A_TIME):
            if self._jobs.get(place) is not job:
                return
            records = [
                self._states.snapshot(key, now_ms)
                for key in keys[begin : begin + _AT_A_TIME]
                if self._states.get(key) is not None
            ]
            try:
                if records:
                    self._topic.append(place, records, now_ms=now_ms)
            except BrokerError as reason:
                error = reason.with_traceback(None)
                break
            yield
        if self._jobs.get(place) is not job:
            return
        del self._jobs[place]
        log = self._topic.loaded_log(place)
        if log is None:
            return
        self._due_at[place] = log.log_end_offset + _PRUNED_RECORDS
        if error is None:
            written = self._written[place] = _Written(first, log.log_end_offset)
            self._delete_replicated(place, written)
        else:
            _tell(place, error)

    def _delete_replicated(self, place: int, written: _Written) -> None:
        """Delete what is older than the new snapshots of a partition once they are replicated."""
        log = self._topic.loaded_log(place)
        if log is None or log.high_watermark < written.end:
            return
        del self._written[place]
        try:
            log.delete_records_before(written.first)
        except BrokerError as error:
            _tell(place, error)


def _tell(place: int, error: BrokerError) -> None:
    logger.error("share state not pruned partition=%d reason=%s", place, error)
