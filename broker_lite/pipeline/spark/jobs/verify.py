"""Verify: is every byte of a log what it has to be?

The batches are judged by the workers, in one pass over the files: framing, checksums, the order of
offsets, gaps, producers' sequences, and with them every entry of every index. Then the neighbours
of tasks are compared, and the small files are read.
"""

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Final

from pyspark.sql import SparkSession

from broker_lite.pipeline.audit.task import Audit, Finding
from broker_lite.pipeline.audit.verification import Verification
from broker_lite.pipeline.audit.whole import (
    audited_in_order,
    between_tasks,
    is_torn_tail,
    small_files,
)
from broker_lite.pipeline.files.open_file_io import open_file_io
from broker_lite.pipeline.read.options import ReadOptions
from broker_lite.pipeline.read.ranges import find_logs
from broker_lite.pipeline.spark.jobs.audit_source import audit_of, cleaned_of, read_audits

MAX_SPLIT_BYTES: Final = "1g"
"""A task costs 60 ms of CPU before it does anything, in which 400 MB could have been checked."""
DEEP_SPLIT_BYTES: Final = "128m"
"""To look at each record takes ten times as long, and more where they are compressed."""

_NOTHING: Final[Mapping[str, str]] = MappingProxyType({})


def verify(
    spark: SparkSession,
    path: str,
    options: Mapping[str, str] = _NOTHING,
    *,
    is_deep: bool = False,
    is_live: bool = False,
    is_compacted: bool = False,
) -> Verification:
    """Look at everything in a log directory, or in some of its partitions.

    Args:
        spark: a session.
        path: as of the data source.
        options: those of the data source that select partitions.
        is_deep: decompress the batches and look at each record.
        is_live: a broker may be writing, so an append at the end of a log may be unfinished.
        is_compacted: offsets may be missing anywhere; else only below the cleaner's checkpoint.

    Raises:
        OptionError: an option cannot be used.
        PlanError: a topic or partition that is named is not there.
        OSError: the directory cannot be read.
    """
    split_bytes = DEEP_SPLIT_BYTES if is_deep else MAX_SPLIT_BYTES
    options = {"maxSplitBytes": split_bytes, **options}
    io, root = open_file_io(path)
    logs = find_logs(io, root, ReadOptions.parse({**options, "path": path}))
    cleaned = cleaned_of(io, root, logs, is_compacted)
    rows = read_audits(spark, path, options, is_deep=is_deep, is_compacted=is_compacted).collect()
    audits = audited_in_order(map(audit_of, rows))
    found: list[Finding] = []
    for key, neighbours in audits.items():
        found += _batch_findings(neighbours, cleaned.get(key, 0), is_live)
    every = [one for neighbours in audits.values() for one in neighbours]
    found += small_files(io, root, logs, every)
    return Verification(
        path=path,
        partitions=len(logs),
        segments=sum(len(log.segments) for log in logs.values()),
        batches=sum(one.batches for one in every),
        records=sum(one.records for one in every),
        size_bytes=sum(one.size_bytes for one in every),
        findings=tuple(sorted(found)),
    )


def _batch_findings(audits: list[Audit], cleaned_end: int, is_live: bool) -> Iterable[Finding]:
    """Give the findings of a partition's tasks, and of what is between them."""
    for one in audits:
        for finding in one.findings:
            if not (is_live and is_torn_tail(finding, audits)):
                yield finding
    yield from between_tasks(audits, cleaned_end)
