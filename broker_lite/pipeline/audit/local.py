"""Verification of a local log in one process, without Spark.

A broker may write to the directory meanwhile. So what is merely unfinished is no finding: a
half-written append, an index or a snapshot that is ahead of the listed batches, files that are
being deleted. A partition whose files retention deletes or the cleaner replaces during the check is
checked again, and a finding counts only if a second check finds it, too.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import KW_ONLY, dataclass, field
from typing import Final

from broker_lite.log.files.names import SNAPSHOT_SUFFIX
from broker_lite.pipeline.audit.beside import judge_beside, judge_identity
from broker_lite.pipeline.audit.task import Audit, Finding, audit
from broker_lite.pipeline.audit.verification import Verification
from broker_lite.pipeline.audit.whole import (
    audit_tasks,
    between_tasks,
    cleaned_ends,
    is_torn_tail,
    log_directory,
    small_files,
)
from broker_lite.pipeline.files.file_io import LocalFileIO
from broker_lite.pipeline.files.layout import (
    EVERY_OFFSET,
    INDEX_SUFFIXES,
    PartitionLog,
    find_partitions,
)
from broker_lite.pipeline.files.pinned_files import PinnedFiles
from broker_lite.pipeline.read.offset_limits import TopicPartition

Wanted = Callable[[str, int], bool]

_LOOKS_MAX: Final = 10
_PINNED_MAX: Final = 100
_WHOLE_BYTES: Final = 1 << 62
_AHEAD: Final = ("leads behind the last batch", "is not the last offset of a batch")


@dataclass(frozen=True, slots=True)
class LocalVerifier:
    """Verifies a log directory, or the directory of one partition.

    Attributes:
        root: an absolute path.
        wanted: takes topic and partition.
        is_deep: decompress the batches and check each record.
        is_live: a broker may be writing.
        is_compacted: offsets may be missing anywhere, not only below the cleaner's checkpoint.
        is_cleaned: tells whether a broker's cleaner works on a topic. The cleaner writes its
            checkpoint after it removed records, so the checkpoint of a live log lags behind.
        io: reads the files; a caller that shows progress passes one that counts.
    """

    root: str
    wanted: Wanted
    _: KW_ONLY
    is_deep: bool = False
    is_live: bool = False
    is_compacted: bool = False
    is_cleaned: Callable[[str], bool] = lambda _: False
    io: LocalFileIO = field(default_factory=LocalFileIO)

    def verify(self) -> Verification:
        """Check every wanted partition and the files of the directory.

        Raises:
            LayoutError: the directory holds segments, but is not named TOPIC-PARTITION.
            FileNotFoundError: there is no such directory.
            OSError: a file cannot be read.
        """
        logs = find_partitions(self.io, self.root, self.wanted)
        directory = log_directory(self.root, logs)
        findings = list(judge_identity(self.io, directory))
        audits: list[Audit] = []
        for key in logs:
            found, of_log = self._settled(key)
            audits += of_log
            findings += found
        if not self.is_live:
            findings += small_files(self.io, self.root, logs, audits)
        return Verification.of(self.root, logs, audits, set(findings))

    def _settled(self, key: TopicPartition) -> tuple[list[Finding], list[Audit]]:
        """Check a partition again while files vanish, and once more when something is wrong.

        Raises:
            FileNotFoundError: files vanished during every attempt.
        """
        before: list[Finding] | None = None
        for look in range(_LOOKS_MAX):
            try:
                found, audits = self._look(key)
            except FileNotFoundError:
                if not self.is_live or look == _LOOKS_MAX - 1:
                    raise
                continue
            if not self.is_live or not found:
                break
            if before is not None:
                return [finding for finding in found if finding in before], audits
            before = found
        return found, audits

    def _look(self, key: TopicPartition) -> tuple[list[Finding], list[Audit]]:
        if not self.is_live:
            return self._look_at(self.io, key)
        with PinnedFiles(self.io) as io:
            return self._look_at(io, key)

    def _look_at(self, io: LocalFileIO, key: TopicPartition) -> tuple[list[Finding], list[Audit]]:
        logs = find_partitions(io, self.root, lambda *one: one == key)
        if not logs:
            return [], []  # the topic was deleted
        log = logs[key]
        if self.is_live:
            _pin(io, log)
        cleaned_end = self._cleaned_end(key, log_directory(self.root, logs))
        tasks = audit_tasks(
            io,
            self.root,
            logs,
            {key: cleaned_end},
            max_split_bytes=_WHOLE_BYTES,
            is_deep=self.is_deep,
        )
        audits = [audit(io, task) for task in tasks]
        found = [finding for one in audits for finding in one.findings]
        found += between_tasks(audits, cleaned_end)
        end_offset = _end_offset(log, audits)
        found += judge_beside(io, log, end_offset)
        if self.is_live:
            found = list(_finished(found, audits, log))
        return found, audits

    def _cleaned_end(self, key: TopicPartition, directory: str) -> int:
        if self.is_compacted or (self.is_live and self.is_cleaned(key[0])):
            return EVERY_OFFSET
        try:
            return cleaned_ends(self.io, directory).get(key, 0)
        except ValueError:  # small_files() reports the damaged checkpoint
            return EVERY_OFFSET


def _pin(io: LocalFileIO, log: PartitionLog) -> None:
    """Open the oldest segments, so that they stay readable when retention deletes them.

    Raises:
        FileNotFoundError: retention was faster.
    """
    for segment in log.segments[:_PINNED_MAX]:
        io.open(segment.log_path)
        for suffix in segment.suffixes:
            io.open(segment.stem + suffix)


def _end_offset(log: PartitionLog, audits: Iterable[Audit]) -> int:
    base = log.segments[-1].base_offset if log.segments else 0
    ends = (one.next_offset for one in audits)
    return max(base, log.checkpointed_start, *ends, 0)


def _finished(
    findings: Iterable[Finding], audits: list[Audit], log: PartitionLog
) -> Iterator[Finding]:
    """Leave out findings about data that a broker wrote after the log was listed."""
    stem = log.segments[-1].stem if log.segments else ""
    indexes = {stem + suffix for suffix in INDEX_SUFFIXES}
    for finding in findings:
        is_ahead = finding.file in indexes and finding.text.endswith(_AHEAD)
        is_behind_end = finding.rule in ("S-18", "S-60") and "behind the end" in finding.text
        is_being_written = finding.file.endswith(SNAPSHOT_SUFFIX) and finding.rule == "S-17"
        if is_ahead or is_behind_end or is_being_written:
            continue
        if audits and is_torn_tail(finding, audits):
            continue
        yield finding
