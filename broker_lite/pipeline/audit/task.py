"""Verification of the part of a log that one task reads.

A task checks every batch (framing, checksum, order of offsets, gaps, sequences of producers) and
every index entry. Compiled code passes over the sound batches; Python sees only the others. Checks
that need two neighbouring tasks are in whole.py.

Compaction leaves gaps between offsets, and so does a lost segment. Therefore a gap is a finding
only above the offset up to which the log was compacted.
"""

import sys
from collections.abc import Iterable
from typing import Final, NamedTuple

from broker_lite.log.producers.entry import follows_in_sequence
from broker_lite.pipeline.files.file_io import FileIO
from broker_lite.pipeline.files.layout import Segment
from broker_lite.pipeline.files.open_file_io import open_file_io
from broker_lite.pipeline.files.sound_search import BATCH_BYTES_MAX
from broker_lite.pipeline.read.batches import LogBatch, read_batches
from broker_lite.pipeline.read.corruption import Corruption
from broker_lite.pipeline.read.index_checks import JudgedEntry, SegmentJudges, judged_entries
from broker_lite.pipeline.read.measured import Unsound, measure_batch, measure_legacy
from broker_lite.pipeline.read.split import SegmentRange, Split
from broker_lite.record.batch import RecordBatch
from broker_lite.record.batch_walk import BatchWalk, ProducerTrail
from broker_lite.record.legacy.messages import LegacyMessage

FINDINGS_MAX: Final = 1000
"""Per task; further findings are only counted."""
NO_OFFSET: Final = -1
UNDAMAGED: Final = sys.maxsize
PRODUCER_EXPIRATION_MS: Final = 86_400_000

_ALL: Final = sys.maxsize
_NOWHERE: Final = -1
_WRONG_CHECKSUM: Final = "R-06"


class Finding(Corruption):
    """One thing that is wrong with any file of a log."""

    __slots__ = ()


class AuditTask(NamedTuple):
    """The input of one task.

    Attributes:
        split: whole files or parts of them, whatever their offsets.
        cleaned_end: offsets may be missing below this one.
        is_deep: whether the records are checked, too.
    """

    split: Split
    cleaned_end: int
    is_deep: bool


class SequencedBatch(NamedTuple):
    """A batch of an idempotent producer and its place."""

    file: str
    position: int
    last_offset: int
    epoch: int
    first_sequence: int
    last_sequence: int
    timestamp_ms: int


class ProducerSpan(NamedTuple):
    """The first and the last batch of a producer within a task."""

    producer_id: int
    first: SequencedBatch
    last: SequencedBatch


class Audit(NamedTuple):
    """The result of one task.

    Attributes:
        file: the first file of the task.
        position: where in that file the task began.
        size_bytes: bytes that were read.
        records: number of records in v2 batches, without markers.
        first_offset: of the first sound batch; NO_OFFSET if there is none.
        next_offset: the offset after the last sound batch.
        damaged_from: all batches below this offset are sound; UNDAMAGED if all are.
        damaged_to: all batches from this offset on are sound; 0 if all are.
        end_file: where the last sound batch ends.
        end_position: the position in that file.
    """

    topic: str
    partition: int
    file: str
    position: int
    size_bytes: int
    batches: int
    records: int
    first_offset: int
    next_offset: int
    damaged_from: int
    damaged_to: int
    end_file: str
    end_position: int
    findings: tuple[Finding, ...]
    producers: tuple[ProducerSpan, ...]


def run_audit(task: AuditTask) -> Audit:
    """Check every batch of a task, where it runs; see audit()."""
    io, _ = open_file_io(task.split.uri)
    return audit(io, task)


def audit(io: FileIO, task: AuditTask) -> Audit:
    """Check every batch of a task.

    Raises:
        FileNotFoundError: a segment vanished.
        OSError: a file cannot be read.

    See: R-04, R-06, R-18, S-05, S-10, S-11, S-16, V-56, V-57.
    """
    auditor = _Auditor(task)
    for part in task.split.ranges:
        segment, split = part.segment, task.split._replace(ranges=(part,))
        is_whole = part.size_bytes == segment.size_bytes
        auditor.begin(part, SegmentJudges(io, segment) if is_whole else None)
        for found in read_batches(
            io,
            split._replace(first_offset=0, end_offset=_ALL),
            check_crc=True,
            on_corrupt=auditor.take_corruption,
            keep_unsound=True,
            walk=None if task.is_deep else auditor.walk,
        ):
            auditor.take(found)
        auditor.end()
        if part.start_position == 0 and not is_whole:
            auditor.take_entries(segment, judged_entries(io, split, segment, skip_missing=False))
    return auditor.result()


def sequence_fault(
    producer_id: int, before: SequencedBatch, batch: SequencedBatch, judged_from: int
) -> Finding | None:
    """Return what is wrong with a batch after the producer's previous one, None if nothing is.

    Any sequence is right after a pause in which a broker forgets the producer. The same holds if
    the previous batch lies below `judged_from`: batches in between may be compacted away or
    damaged.

    See: V-56, V-57, V-65 (ProducerAppendInfo.checkProducerEpoch, checkSequence).
    """
    if batch.epoch < before.epoch:
        text = f"epoch {batch.epoch} of producer {producer_id} after its epoch {before.epoch}"
        return Finding(batch.file, batch.position, "V-56", text)
    is_forgotten = batch.timestamp_ms - before.timestamp_ms >= PRODUCER_EXPIRATION_MS
    if is_forgotten or before.last_offset < judged_from:
        return None
    if batch.epoch != before.epoch:
        if batch.first_sequence == 0:
            return None
        text = f"sequence {batch.first_sequence} begins epoch {batch.epoch}"
    elif follows_in_sequence(before.last_sequence, batch.first_sequence):
        return None
    else:
        text = f"sequence {batch.first_sequence} after sequence {before.last_sequence}"
    return Finding(batch.file, batch.position, "V-57", f"{text} of producer {producer_id}")


def gap_fault(file: str, position: int, expected: int, offset: int) -> Finding:
    """Make the finding for offsets that are missing in front of a batch or of a segment.

    See: R-18.
    """
    text = f"offsets {expected} to {offset - 1} are missing, and no compaction took them"
    return Finding(file, position, "R-18", text)


class _Auditor:
    """Takes those batches of a task, in order, that the compiled walk does not pass over.

    Attributes:
        walk: counts batches and records and follows the offsets, also for the batches taken here.
    """

    def __init__(self, task: AuditTask) -> None:
        self._task = task
        self._findings: list[Finding] = []
        self._left_out = 0
        self._first_offset = NO_OFFSET
        self._damaged_from, self._damaged_to = UNDAMAGED, 0
        self._firsts: dict[int, SequencedBatch] = {}
        self.walk = BatchWalk(BATCH_BYTES_MAX, task.cleaned_end, {})
        self.walk.next_offset = NO_OFFSET
        self.walk.judged_from = task.cleaned_end
        self._segment = task.split.ranges[0].segment
        self._end = self._segment.log_path, task.split.ranges[0].start_position
        self._judges: SegmentJudges | None = None
        self._unsound_position = _NOWHERE
        self._limit = _ALL

    def begin(self, part: SegmentRange, judges: SegmentJudges | None) -> None:
        """Begin a range of a segment.

        Args:
            part: the range; it follows those before.
            judges: the checks of the segment's indexes, if the range is the whole segment.
        """
        self._segment, self._judges = part.segment, judges
        limit = part.segment.limit
        self._limit = _ALL if limit is None else limit
        self._unsound_position = _NOWHERE
        self.walk.file = part.segment.log_path
        self.walk.forget_indexes()

    def end(self) -> None:
        """End a range."""
        self._take_over()
        if self._judges is not None:
            self.take_entries(self._segment, self._judges.rest())

    def take_corruption(self, corruption: Corruption) -> None:
        """Note damage; batches behind it are not compared with those in front."""
        self._take_over()
        self._find(Finding(*corruption))
        next_offset = max(self.walk.next_offset, 0)
        self._damaged_from = min(self._damaged_from, next_offset)
        self._damaged_to = next_offset + 1
        self.walk.judged_from = max(self._damaged_to, self._task.cleaned_end)
        if corruption.rule == _WRONG_CHECKSUM:
            self._unsound_position = corruption.position

    def take(self, found: LogBatch) -> None:
        """Check a batch whose framing is right."""
        self._take_over()
        if self._judges is not None:
            self.take_entries(found.segment, self._judges.take(found))
        if found.position == self._unsound_position:
            return
        batch, walk = found.batch, self.walk
        file = found.segment.log_path
        if isinstance(batch, RecordBatch):
            self._judge_offsets(file, found.position, batch)
            if not batch.is_control:
                walk.records += batch.record_count
                if batch.base_sequence >= 0 and batch.has_producer_id:
                    self._judge_sequence(file, found.position, batch)
        elif self._first_offset == NO_OFFSET:
            self._first_offset = batch.last_offset
        if self._task.is_deep:
            self._judge_records(file, found.position, batch)
        walk.batches += 1
        walk.next_offset = batch.next_offset
        walk.end = found.position + batch.size_bytes
        self._end = file, walk.end
        walk.is_open = self._judges is None or self._judges.hand_over(walk)
        walk.stop_offset = min(walk.stop_offset, self._limit)

    def take_entries(self, segment: Segment, entries: Iterable[JudgedEntry]) -> None:
        """Make findings of the wrong index entries.

        See: S-10, S-11, S-16.
        """
        for entry in entries:
            if entry.error is not None:
                rule, _, text = entry.error.partition(": ")
                text = f"entry {entry.key} -> {entry.leads_to} {text}"
                self._find(Finding(segment.stem + entry.suffix, -1, rule, text))

    def _take_over(self) -> None:
        """Continue where the compiled walk stopped."""
        if self.walk.is_open:
            self.walk.is_open = False
            self._end = self._segment.log_path, self.walk.end
            if self._judges is not None:
                self._judges.take_over(self.walk)

    def _judge_offsets(self, file: str, position: int, batch: RecordBatch) -> None:
        base_offset, expected = batch.base_offset, self.walk.next_offset
        if self._first_offset == NO_OFFSET:
            self._first_offset = base_offset
        elif base_offset > expected >= self.walk.judged_from:
            self._find(gap_fault(file, position, expected, base_offset))
        elif base_offset < expected:  # at a file's start: within a file, the reader reports it
            text = f"offset {base_offset} after offset {expected - 1}"
            self._find(Finding(file, position, "S-05", text))
        span = batch.last_offset_delta + 1
        if batch.record_count > span or (
            batch.record_count < span and base_offset >= self._task.cleaned_end
        ):
            text = f"{batch.record_count} records have {span} offsets"
            self._find(Finding(file, position, "R-18", text))

    def _judge_sequence(self, file: str, position: int, batch: RecordBatch) -> None:
        sequenced = SequencedBatch(
            file,
            position,
            batch.last_offset,
            batch.producer_epoch,
            batch.base_sequence,
            batch.last_sequence,
            batch.max_timestamp,
        )
        producer_id, trails = batch.producer_id, self.walk.trails
        trail = trails.get(producer_id)
        if trail is None:
            self._firsts[producer_id] = sequenced
        else:
            before = _last_of(trail)
            fault = sequence_fault(producer_id, before, sequenced, self.walk.judged_from)
            if fault is not None:
                self._find(fault)
        trails[producer_id] = ProducerTrail(*sequenced)

    def _judge_records(self, file: str, position: int, batch: RecordBatch | LegacyMessage) -> None:
        try:
            if isinstance(batch, RecordBatch):
                measure_batch(batch, 0, _ALL)
            else:
                measure_legacy(batch, 0, _ALL, check_crc=True)
        except Unsound as unsound:
            self._find(Finding(file, position, unsound.rule, unsound.text))

    def _find(self, finding: Finding) -> None:
        if len(self._findings) < FINDINGS_MAX:
            self._findings.append(finding)
        else:
            self._left_out += 1

    def result(self) -> Audit:
        """Return the result."""
        split = self._task.split
        first = split.ranges[0]
        if self._left_out:
            text = f"{self._left_out} more findings from here on"
            last = self._findings[-1]
            self._findings.append(last._replace(text=text))
        return Audit(
            split.topic,
            split.partition,
            first.segment.log_path,
            first.start_position,
            split.size_bytes,
            self.walk.batches,
            self.walk.records,
            self._first_offset,
            self.walk.next_offset,
            self._damaged_from,
            self._damaged_to,
            *self._end,
            tuple(self._findings),
            tuple(
                ProducerSpan(producer_id, first, _last_of(self.walk.trails[producer_id]))
                for producer_id, first in self._firsts.items()
            ),
        )


def _last_of(trail: ProducerTrail) -> SequencedBatch:
    return SequencedBatch(*(getattr(trail, name) for name in SequencedBatch._fields))
