"""What readers see of a log whose topic is synthetic: a canned run, repeated up to a fixed end.

The log starts at offset 0. Its end is its high watermark and its last stable offset, too. All its
batches have the leader epoch of the moment, so no reader finds that its log has diverged. If the
end lies inside a batch, a smaller batch comes last.

A difference to Kafka: where `broker.lite.load.mode` is `synthetic`, all records of a topic are made
by the broker and never end. Nothing can be produced or deleted then.

The stored log stays as it is: appends by the broker itself, as markers of transactions, retention
and compaction still work on its files.

Rule: F-16.
"""

from collections.abc import Callable
from typing import Final, NamedTuple

from broker_lite.errors import ErrorCode, OffsetOutOfRange, UnknownServerError
from broker_lite.log.canned.run import CannedRun, CannedSlice
from broker_lite.log.canned.runs import CannedRuns
from broker_lite.log.validate.rejected import RejectedRecords
from broker_lite.record.canned import START_MS, CannedShape

LOG_START: Final = 0
NOT_STORED: Final = (
    "The topic is synthetic (broker.lite.load.mode): its records are made by the broker and cannot "
    "be changed. Set the mode to stored first."
)


class SyntheticTopic(RejectedRecords):
    """Records of a synthetic topic cannot be produced or deleted (error code 44)."""

    code = ErrorCode.POLICY_VIOLATION

    def __init__(self) -> None:
        super().__init__(NOT_STORED, [])
        self.because("F-16", "the topic is synthetic")


class EndlessPlan(NamedTuple):
    """What a topic's settings say of its synthetic records."""

    shape: CannedShape
    end_offset: int


class EndlessRecords:
    """The synthetic records of one partition.

    Attributes:
        plan: as the topic's settings were.
        end_offset: the log end offset.
    """

    __slots__ = ("_batch_end", "_place", "_runs", "end_offset", "plan")

    def __init__(self, plan: EndlessPlan, runs: CannedRuns) -> None:
        """Begin without a run; the first read asks for it."""
        self.plan = plan
        self.end_offset = plan.end_offset
        self._runs = runs
        self._place = runs.place_of(plan.shape)
        self._batch_end = plan.end_offset // plan.shape.batch_records

    def read(
        self,
        offset: int,
        *,
        max_bytes: int,
        answered_bytes: int,
        min_one_batch: bool,
        leader_epoch: int,
        wake: Callable[[], None],
    ) -> CannedSlice | None:
        """Return what a fetch from an offset gets.

        Args:
            offset: of the first record that is wanted; the answer begins with the batch that holds
                it.
            max_bytes: the range may end inside a batch.
            answered_bytes: what the answer has already.
            min_one_batch: give the first batch even if it is larger than max_bytes.
            leader_epoch: of the log.
            wake: is called when there is a run, if there is none yet.

        Returns:
            None at the end, if the first batch is too large, and until the run is made.

        Raises:
            OffsetOutOfRange: below 0 or above the end.
            UnknownServerError: max_bytes is negative.
            KafkaStorageError: the run cannot be made.

        See: F-05, F-10, F-11.
        """
        if max_bytes < 0 and offset != self.end_offset:
            raise UnknownServerError
        run = self._run_at(offset, wake)
        if run is None:
            return None
        max_bytes = min(max_bytes, max(run.answer_bytes_max - answered_bytes, 0))
        batch = self._batch_of(offset)
        size_bytes = run.size_to_end(batch, self._batch_end)
        if max_bytes < size_bytes:
            first_bytes = run.size_of(batch, self._batch_end)
            if max_bytes < first_bytes and not min_one_batch:
                return None
            size_bytes = max(max_bytes, first_bytes)
        return CannedSlice(run, batch, self._batch_end, leader_epoch, size_bytes)

    def has_run_at(self, offset: int) -> bool:
        """Whether there are records at an offset that can be read now."""
        return offset != self.end_offset and self._place.run is not None

    def available_bytes(self, offset: int, wake: Callable[[], None]) -> int:
        """Return how many bytes there are from an offset on; 0 until the run is made.

        Raises:
            OffsetOutOfRange, KafkaStorageError: as read().
        """
        run = self._run_at(offset, wake)
        return 0 if run is None else run.size_to_end(self._batch_of(offset), self._batch_end)

    def offset_for_timestamp(self, timestamp: int) -> tuple[int, int] | None:
        """Return timestamp and offset of the first record that is not older than a timestamp.

        See: F-72.
        """
        offset = max(timestamp - START_MS, 0)
        if offset >= self._varied_records:
            return None
        return START_MS + offset, offset

    def max_timestamp_offset(self) -> tuple[int, int] | None:
        """Return timestamp and offset of the first record with the largest timestamp.

        See: F-72.
        """
        last = self._varied_records - 1
        return (START_MS + last, last) if last >= 0 else None

    def end_offset_for(self, asked_epoch: int, leader_epoch: int) -> tuple[int, int]:
        """Return where the records of a leader epoch end: nowhere before the log does.

        Returns:
            The epoch and its end; -1 for both where the epoch is newer than the leader's.

        See: F-81.
        """
        if not 0 <= asked_epoch <= leader_epoch:
            return -1, -1
        return asked_epoch, self.end_offset

    @property
    def _varied_records(self) -> int:
        """How many records there are until the timestamps begin again."""
        whole = self._batch_end * self.plan.shape.batch_records
        return min(whole, self.plan.shape.record_count) if whole else self.end_offset

    def _run_at(self, offset: int, wake: Callable[[], None]) -> CannedRun | None:
        """Return the run if there are records at an offset."""
        if not LOG_START <= offset <= self.end_offset:
            raise OffsetOutOfRange
        if offset == self.end_offset:
            return None
        return self._runs.want(self._place, wake)

    def _batch_of(self, offset: int) -> int:
        return offset // self.plan.shape.batch_records
