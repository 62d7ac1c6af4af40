"""Verifies every byte of a log.

The workers check the batches in one pass over the files: framing, checksums, order of offsets,
gaps, sequences of producers, and every index entry. Then the driver compares neighbouring tasks and
checks the small files.
"""

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Final

from pyspark.sql import SparkSession

from broker_lite.pipeline.audit.task import Audit, Finding, run_audit
from broker_lite.pipeline.audit.verification import Verification
from broker_lite.pipeline.audit.whole import (
    Logs,
    audit_tasks,
    audited_in_order,
    between_tasks,
    cleaned_of,
    is_torn_tail,
    small_files,
)
from broker_lite.pipeline.files.file_io import LocalFileIO
from broker_lite.pipeline.files.open_file_io import open_file_io
from broker_lite.pipeline.read.options import ReadOptions
from broker_lite.pipeline.read.ranges import find_logs
from broker_lite.pipeline.spark.tasks import on_workers

MAX_SPLIT_BYTES: Final = "1g"
"""Starting a task costs 60 ms of CPU, in which 400 MB can be checked."""
DEEP_SPLIT_BYTES: Final = "128m"
"""Checking each record takes ten times as long, and more if they are compressed."""


def verify(
    spark: SparkSession,
    path: str,
    options: Mapping[str, str] = MappingProxyType({}),
    *,
    is_deep: bool = False,
    is_live: bool = False,
    is_compacted: bool = False,
) -> Verification:
    """Verify a log directory, or some of its partitions.

    Args:
        spark: a session.
        path: of the data source.
        options: of the data source, to select partitions.
        is_deep: decompress the batches and check each record.
        is_live: a broker may be writing, so an append at the end of a log may be unfinished.
        is_compacted: offsets may be missing anywhere, not only below the cleaner's checkpoint.

    Raises:
        OptionError: an option cannot be used.
        PlanError: a named topic or partition does not exist.
        OSError: the directory cannot be read.
    """
    split_bytes = DEEP_SPLIT_BYTES if is_deep else MAX_SPLIT_BYTES
    parsed = ReadOptions.parse({"maxSplitBytes": split_bytes, **options, "path": path})
    io, root = open_file_io(path)
    logs = find_logs(io, root, parsed)
    cleaned = cleaned_of(io, root, logs, is_compacted)
    tasks = audit_tasks(
        io,
        root if isinstance(io, LocalFileIO) else path,
        logs,
        cleaned,
        max_split_bytes=parsed.split_bytes(_size_bytes(logs)),
        is_deep=is_deep,
    )
    audits = audited_in_order(on_workers(spark, run_audit, tasks).collect())
    found: list[Finding] = []
    for key, neighbours in audits.items():
        found += _batch_findings(neighbours, cleaned.get(key, 0), is_live)
    every = [one for neighbours in audits.values() for one in neighbours]
    found += small_files(io, root, logs, every)
    return Verification.of(path, logs, every, found)


def _batch_findings(audits: list[Audit], cleaned_end: int, is_live: bool) -> Iterable[Finding]:
    """Yield the findings of a partition's tasks, and those between tasks."""
    for one in audits:
        for finding in one.findings:
            if not (is_live and is_torn_tail(finding, audits)):
                yield finding
    yield from between_tasks(audits, cleaned_end)


def _size_bytes(logs: Logs) -> int:
    return sum(segment.size_bytes for log in logs.values() for segment in log.segments)
