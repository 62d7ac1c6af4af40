"""Verification of a whole log: the plan of its tasks, and the checks that need all their results.

A task has whole files, or a part of a large one that begins at a batch known to be sound. After the
tasks come the checks between two neighbours, and those of the small files beside the batches.
"""

from collections.abc import Iterable, Iterator, Mapping
from itertools import pairwise
from typing import Final

from broker_lite.log.files.checkpoints import (
    CLEANER_FILE,
    HIGH_WATERMARK_FILE,
    LOG_START_FILE,
    RECOVERY_POINT_FILE,
)
from broker_lite.log.files.names import LOG_SUFFIX, parse_segment_file
from broker_lite.pipeline.audit.partition_files import partition_files
from broker_lite.pipeline.audit.task import (
    NO_OFFSET,
    UNDAMAGED,
    Audit,
    AuditTask,
    Finding,
    ProducerSpan,
    gap_fault,
    sequence_fault,
)
from broker_lite.pipeline.files.file_io import FileIO, join
from broker_lite.pipeline.files.indexes import offset_entries_near
from broker_lite.pipeline.files.layout import (
    EVERY_OFFSET,
    PartitionLog,
    find_foreign,
    read_checkpoint,
)
from broker_lite.pipeline.files.positions import batch_starts
from broker_lite.pipeline.read.index_checks import LEADS_BEHIND
from broker_lite.pipeline.read.offset_limits import TopicPartition
from broker_lite.pipeline.read.split import SegmentRange, Split, gathered

Logs = Mapping[TopicPartition, PartitionLog]

_TORN: Final = ("R-02", "R-04")
_NEVER: Final = 1 << 62


def log_directory(root: str, logs: Logs) -> str:
    """Return the log directory; the root is it, or the directory of one partition in it."""
    directories = {log.directory for log in logs.values()}
    return (root.rstrip("/").rpartition("/")[0] or "/") if root in directories else root


def cleaned_ends(io: FileIO, directory: str) -> dict[TopicPartition, int]:
    """Read the cleaner's checkpoint: up to which offset each partition was compacted.

    Raises:
        ValueError: the file is damaged.

    See: S-70, S-80 (LogCleanerManager).
    """
    return read_checkpoint(io, join(directory, CLEANER_FILE))


def cleaned_of(io: FileIO, root: str, logs: Logs, is_compacted: bool) -> dict[TopicPartition, int]:
    """Return, by partition, the offset below which offsets may be missing.

    A damaged checkpoint counts as empty; small_files() reports it.

    Args:
        io: opens the root.
        root: a log directory, or the directory of a partition.
        logs: the partitions that are checked.
        is_compacted: offsets may be missing anywhere.
    """
    if is_compacted:
        return dict.fromkeys(logs, EVERY_OFFSET)
    try:
        return cleaned_ends(io, log_directory(root, logs))
    except ValueError:
        return {}


def audit_tasks(
    io: FileIO,
    uri: str,
    logs: Logs,
    cleaned: Mapping[TopicPartition, int],
    *,
    max_split_bytes: int,
    is_deep: bool = False,
) -> list[AuditTask]:
    """Cut the files of logs into tasks that together have every byte exactly once.

    Args:
        io: opens the logs.
        uri: the log directory, for open_file_io in a task.
        logs: what to check.
        cleaned: result of cleaned_ends.
        max_split_bytes: about how many bytes a task has.
        is_deep: whether records are checked, too.

    Raises:
        FileNotFoundError: a segment vanished.
    """
    tasks = []
    for key, log in logs.items():
        for ranges in gathered(_ranges(io, log, max_split_bytes), max_split_bytes):
            split = Split(uri, log.topic, log.partition, tuple(ranges), 0, _NEVER)
            tasks.append(AuditTask(split, cleaned.get(key, 0), is_deep))
    return tasks


def _ranges(io: FileIO, log: PartitionLog, max_split_bytes: int) -> Iterator[SegmentRange]:
    for segment in log.segments:
        end = segment.size_bytes
        targets = range(max_split_bytes, end - max_split_bytes // 2, max_split_bytes)
        entries = offset_entries_near(io, segment, targets)
        starts = [start for start, _ in batch_starts(io, segment, entries, end)] if entries else []
        if not end:  # an empty .log is checked, too: its indexes may have entries
            yield SegmentRange(segment, 0, 0)
        for start, stop in pairwise(sorted({0, *starts, end})):
            yield SegmentRange(segment, start, stop)


def audited_in_order(audits: Iterable[Audit]) -> dict[TopicPartition, list[Audit]]:
    """Group results by partition, in the order of the log."""
    found: dict[TopicPartition, list[Audit]] = {}
    for one in sorted(audits, key=lambda one: (one.topic, one.partition, one.file, one.position)):
        found.setdefault((one.topic, one.partition), []).append(one)
    return found


def between_tasks(audits: Iterable[Audit], cleaned_end: int) -> Iterator[Finding]:
    """Check the first batches of each task of a partition against the last ones of the task before.

    Args:
        audits: of one partition, in order.
        cleaned_end: offsets may be missing below this one.

    See: R-18, S-05, V-56, V-57.
    """
    expected, judged_from = NO_OFFSET, cleaned_end
    last: dict[int, ProducerSpan] = {}
    audits = tuple(audits)
    if audits:
        parsed = parse_segment_file(audits[0].file.rpartition("/")[2])
        expected = parsed[0] if parsed is not None else NO_OFFSET
    for audit in audits:
        if expected != NO_OFFSET and audit.first_offset < audit.damaged_from:
            yield from _between(expected, audit, judged_from)
        for span in audit.producers:
            before = last.get(span.producer_id)
            if before is not None and span.first.last_offset < audit.damaged_from:
                fault = sequence_fault(span.producer_id, before.last, span.first, judged_from)
                if fault is not None:
                    yield fault
            last[span.producer_id] = span
        expected = max(expected, audit.next_offset)
        judged_from = max(judged_from, audit.damaged_to)
        if audit.damaged_from != UNDAMAGED and audit.next_offset == NO_OFFSET:
            judged_from = max(judged_from, expected + 1)


def _between(expected: int, audit: Audit, judged_from: int) -> Iterator[Finding]:
    offset = audit.first_offset
    if offset == NO_OFFSET:
        return
    if offset < expected:
        text = f"offset {offset} after offset {expected - 1}"
        yield Finding(audit.file, audit.position, "S-05", text)
    elif offset > expected >= judged_from:
        yield gap_fault(audit.file, audit.position, expected, offset)


def is_torn_tail(finding: Finding, audits: Iterable[Audit]) -> bool:
    """Tell whether a finding is about an unfinished append at the end of a log.

    An index may already have an entry for an append that began after the files were listed.

    Args:
        finding: of one of the audits.
        audits: of the partition, in order.

    See: R-04.
    """
    ends = ((audit.end_file, audit.end_position) for audit in audits if audit.size_bytes)
    end_file, end_position = max(ends, default=("", 0))
    if finding.text.endswith(LEADS_BEHIND):
        return finding.file >= end_file.removesuffix(LOG_SUFFIX)
    return finding.rule in _TORN and (finding.file, finding.position) >= (end_file, end_position)


def small_files(io: FileIO, root: str, logs: Logs, audits: Iterable[Audit]) -> Iterator[Finding]:
    """Check foreign files, checkpoints and the small files of partitions.

    Args:
        io: opens the root.
        root: a log directory, or the directory of a partition.
        logs: the partitions that were checked.
        audits: the results of all tasks.

    See: S-01, S-04, S-17, S-70.
    """
    for entry in find_foreign(io, root):
        yield Finding(entry.path, -1, "S-04", entry.reason)
    ends: dict[TopicPartition, int] = {}
    for one in audits:
        key = one.topic, one.partition
        ends[key] = max(ends.get(key, 0), one.next_offset)
    directory = log_directory(root, logs)
    for name in (RECOVERY_POINT_FILE, HIGH_WATERMARK_FILE, LOG_START_FILE, CLEANER_FILE):
        yield from _judge_checkpoint(io, join(directory, name), logs, ends)
    for log in logs.values():
        yield from _judge_last_segment(log, ends.get((log.topic, log.partition), 0))
        yield from partition_files(io, log)


def _judge_checkpoint(
    io: FileIO, path: str, logs: Logs, ends: Mapping[TopicPartition, int]
) -> Iterator[Finding]:
    try:
        offsets = read_checkpoint(io, path)
    except ValueError as error:
        yield Finding(path, -1, "S-70", str(error))
        return
    for (topic, partition), offset in offsets.items():
        log = logs.get((topic, partition))
        if log is None:
            continue
        base = log.segments[-1].base_offset if log.segments else 0
        end = max(ends.get((topic, partition), 0), base, log.checkpointed_start)
        if offset > end:
            text = f"{topic}-{partition} ends at offset {end}, and was written up to {offset}"
            yield Finding(path, -1, "S-70", text)


def _judge_last_segment(log: PartitionLog, end: int) -> Iterator[Finding]:
    """Check for a gap in front of an empty last segment, which has no batch that would show it."""
    segment = log.segments[-1] if log.segments else None
    if segment is not None and segment.size_bytes == 0 and 0 < end < segment.base_offset:
        yield gap_fault(segment.log_path, 0, end, segment.base_offset)
