"""Writes records when they are due, and notes how far it has come."""

import time
from collections.abc import Callable, Iterable, Mapping
from typing import Final, NamedTuple

from broker_lite.client import Client
from broker_lite.client.producing.producer import Producer
from broker_lite.client.producing.transactional_producer import TransactionalProducer
from broker_lite.commands.replay.merging import Run
from broker_lite.commands.replay.pace import Pace
from broker_lite.commands.replay.positions import Positions
from broker_lite.commands.shared.stop_signals import StopSignals
from broker_lite.pipeline.read.offset_limits import TopicPartition

TICK_S: Final = 0.002
"""The least pause: what becomes due meanwhile goes into one request."""
_FLUSH_S: Final = 0.05
_COMMIT_S: Final = 1.0
_TELL_S: Final = 0.5
# A pause of this length is worth a commit, so that nobody waits for what was written before it.
_LONG_PAUSE_S: Final = 0.1


class Timer(NamedTuple):
    """The time in seconds, and how to wait for it."""

    now_s: Callable[[], float] = time.monotonic
    wait: Callable[[float], None] = time.sleep


class Writer:
    """Writes runs of records to the topics of a broker.

    Attributes:
        written_records: how many were handed over to be written.
        late_s: by how much the latest record was late.
        stopped_by: what a signal raised at a moment at which the rest can be written.
    """

    def __init__(
        self,
        client: Client,
        producers: Mapping[str, Producer],
        pace: Pace,
        positions: Positions | None,
        *,
        on_progress: Callable[[int], None],
        timer: Timer = Timer(),  # noqa: B008 - has no state
    ) -> None:
        """Begin at the first record.

        Args:
            client: of the cluster.
            producers: by topic.
            pace: says when records are due.
            positions: where positions are kept; None for nowhere.
            on_progress: called now and then with the number of written records.
            timer: the clock.
        """
        self.written_records = 0
        self.late_s = 0.0
        self.stopped_by: BaseException | None = None
        self._client = client
        self._producers = producers
        self._pace = pace
        self._positions = positions
        self._on_progress = on_progress
        self._timer = timer
        self._start_s: float | None = None
        self._now_s = 0.0
        self._flush_at_s = timer.now_s() + _FLUSH_S
        self._commit_at_s = timer.now_s() + _COMMIT_S
        self._passed: dict[TopicPartition, int] = {}
        self._latest: Producer | None = None  # the only one with a request in flight

    def write(self, runs: Iterable[Run], signals: StopSignals) -> None:
        """Write the records of all runs, or up to a signal; finish() has to follow.

        Raises:
            ClientError: the broker refused, or cannot be reached.
        """
        pace, passed = self._pace, self._passed
        for key, records in runs:
            append, partition = self._turn_of(self._producers[key[0]]).append, key[1]
            for due_ms, record in records:
                due_s = pace.due_s(due_ms)
                if due_s > self._now_s or self._start_s is None:
                    self._wait_until(due_s, signals)
                    if self.stopped_by is not None:
                        return
                append(
                    record.key,
                    record.value,
                    record.headers,
                    partition=partition,
                    timestamp_ms=record.timestamp,
                )
                passed[key] = record.offset + 1
                self.written_records += 1
            self._keep_up(signals)
            if self.stopped_by is not None:
                return

    def finish(self, ends: Mapping[TopicPartition, int]) -> None:
        """Write what is not written yet, and commit.

        Args:
            ends: positions that were reached without a record at the end.
        """
        self._passed |= ends
        self._flush()
        self._commit()

    def _wait_until(self, due_s: float, signals: StopSignals) -> None:
        """Wait for a moment, in seconds since the first record."""
        now_s = self._timer.now_s()
        if self._start_s is None:
            self._start_s = now_s
        if now_s - self._start_s < due_s:
            self._flush()
            pause_s = due_s - (self._timer.now_s() - self._start_s)
            if pause_s > _LONG_PAUSE_S or self._timer.now_s() >= self._commit_at_s:
                self._commit()
            pause_s = due_s - (self._timer.now_s() - self._start_s)
            self._pause(max(pause_s, TICK_S), signals)
            now_s = self._timer.now_s()
        self._now_s = now_s - self._start_s
        self.late_s = max(self.late_s, self._now_s - due_s)

    def _keep_up(self, signals: StopSignals) -> None:
        """Send what waits for too long, and commit now and then."""
        now_s = self._timer.now_s()
        if now_s < self._flush_at_s:
            return
        self._pause(0, signals)
        self._flush()
        self._flush_at_s = now_s + _FLUSH_S
        self._on_progress(self.written_records)
        if now_s >= self._commit_at_s:
            self._commit()

    def _pause(self, seconds: float, signals: StopSignals) -> None:
        """Wait, or note a signal. At other moments it would leave requests without an answer."""
        end_s = self._timer.now_s() + seconds
        try:
            with signals.welcome():
                while (left_s := end_s - self._timer.now_s()) > 0:
                    self._timer.wait(min(left_s, _TELL_S))
                    if left_s > _TELL_S:
                        self._on_progress(self.written_records)
        except (KeyboardInterrupt, SystemExit) as stop:
            self.stopped_by = stop

    def _turn_of(self, producer: Producer) -> Producer:
        """Let one producer at a time have a request in flight.

        They share connections, whose answers come in the order of the requests.
        """
        if self._latest is not None and self._latest is not producer:
            self._latest.settle()
        self._latest = producer
        return producer

    def _flush(self) -> None:
        if self._latest is not None:
            self._latest.settle()
        for producer in self._producers.values():
            if producer.open_records:
                producer.flush()

    def _commit(self) -> None:
        """Commit the positions; all records in front of them are written."""
        self._flush()
        self._commit_at_s = self._timer.now_s() + _COMMIT_S
        if self._positions is None or not self._passed:
            return
        passed = dict(self._passed)
        for topic, producer in self._producers.items():
            own = {key: offset for key, offset in passed.items() if key[0] == topic}
            if not own:
                continue
            if isinstance(producer, TransactionalProducer):
                producer.commit(self._positions.offsets(own))
            else:
                self._positions.commit(self._client, own)
        self._passed.clear()
