"""The metadata log `__cluster_metadata-0`, in the format of a KRaft quorum with one voter.

A change is one batch, so that after a crash the log has all of it or nothing. At each start the
broker becomes the leader again, so the log continues with the next leader epoch and a LeaderChange
control record. Kafka's dump tool reads the log with `--cluster-metadata-decoder`.

Source: KafkaRaftClient, KIP-595, KIP-631; compared with the files of a Kafka 4.3.1.
"""

from collections.abc import Iterator, Sequence
from typing import Final, Self

from broker_lite.control.metadata.metadata_batches import (
    LEADER_CHANGE,
    make_batch,
    make_control_batch,
)
from broker_lite.control.metadata.metadata_records import (
    OLDEST_METADATA_VERSION,
    MetadataChange,
    MetadataRecord,
    decode,
)
from broker_lite.control.metadata.metadata_snapshot import Snapshot, newest_snapshot
from broker_lite.control.metadata.quorum_files import (
    claim_directory,
    tell_of_quorum_state,
    write_quorum_state,
)
from broker_lite.errors import KafkaStorageError
from broker_lite.log.config import LogConfig
from broker_lite.log.directory.manager import LogManager
from broker_lite.log.files.names import METADATA_TOPIC
from broker_lite.log.files.segment import LogSegment
from broker_lite.log.log import Log
from broker_lite.log.recovery.recover_segment import read_batches
from broker_lite.record.records import iterate_records
from broker_lite.wire import DecodeError, messages

PARTITION_DIRECTORY: Final = f"{METADATA_TOPIC}-0"


class MetadataLog:
    """The metadata log, for one owner, without a lock.

    Attributes:
        snapshot: replaces the records below its end offset; None if the log has all records.
    """

    def __init__(self, log: Log, node_id: int, snapshot: Snapshot | None = None) -> None:
        """Use an open log.

        Args:
            log: of `__cluster_metadata-0`, already recovered.
            node_id: of this node, the only voter.
            snapshot: replaces the records below its end offset; None if the log has all records.
        """
        self._log = log
        self._node_id = node_id
        self.snapshot = snapshot
        self._has_failed = False

    @classmethod
    def open(cls, logs: LogManager, config: LogConfig | None = None) -> Self:
        """Open the metadata log of a data directory, with the newest snapshot.

        Args:
            logs: have to be open.
            config: of the log, None for the defaults.

        Raises:
            KafkaStorageError: the log cannot be read or written, or belongs to another topic.
        """
        directory = logs.data_dir / PARTITION_DIRECTORY
        snapshot = None
        try:
            if directory.exists():
                claim_directory(str(directory))
                snapshot = newest_snapshot(directory)
        except OSError as error:
            raise KafkaStorageError from error
        start_offset = snapshot.end_offset if snapshot is not None else None
        return cls(
            logs.open_metadata_log(config, start_offset=start_offset), logs.node_id, snapshot
        )

    @property
    def end_offset(self) -> int:
        """The offset of the next record."""
        return self._log.log_end_offset

    @property
    def leader_epoch(self) -> int:
        """The current leader epoch."""
        return self._log.leader_epoch

    @property
    def segments(self) -> Sequence[LogSegment]:
        """The files of the log, the oldest first."""
        return self._log.segments.all

    @property
    def is_new(self) -> bool:
        """Whether nothing was ever written to the log."""
        return self._log.log_end_offset == 0

    def replay(self) -> Iterator[Sequence[MetadataRecord]]:
        """Iterate over the records of each batch from the start, without control records.

        Raises:
            KafkaStorageError: a record cannot be read, or a part of the log is missing.
        """
        snapshot = self.snapshot
        start_offset = snapshot.end_offset if snapshot is not None else 0
        if self._log.log_start_offset > start_offset:
            raise KafkaStorageError(f"{PARTITION_DIRECTORY} needs a snapshot that is missing")
        if snapshot is not None:
            yield from snapshot.batches
        next_offset = start_offset
        try:
            for segment in self._log.segments.all:
                for batch in read_batches(segment, 0):
                    if batch.base_offset < start_offset:
                        continue
                    next_offset = batch.next_offset
                    if not batch.is_control:
                        yield [decode(record.value or b"") for record in iterate_records(batch)]
        except (DecodeError, OSError) as error:
            raise KafkaStorageError(f"{PARTITION_DIRECTORY} cannot be read: {error}") from error
        if next_offset != self.end_offset:
            raise KafkaStorageError(f"{PARTITION_DIRECTORY} is damaged at offset {next_offset}")

    def become_leader(self, *, now_ms: int) -> None:
        """Begin the next leader epoch: write its control record and the file quorum-state.

        Raises:
            KafkaStorageError: one of them was not written.
        """
        directory = self._log.directory
        claim_directory(directory)  # open() may have just made it, without partition.metadata
        if not self.is_new:
            tell_of_quorum_state(directory, self._node_id)
        # a log that begins at a snapshot may have no epoch yet
        snapshot_epoch = self.snapshot.epoch if self.snapshot is not None else -1
        epoch = max(self._log.leader_epoch, snapshot_epoch) + 1
        self._log.become_leader(epoch)
        voter = messages.LeaderChangeMessage.Voter(voter_id=self._node_id)
        change = messages.LeaderChangeMessage(
            leader_id=self._node_id, voters=[voter], granting_voters=[voter]
        )
        value = messages.LeaderChangeMessage.encode(change, 0)
        self._log.append_batch(make_control_batch(LEADER_CHANGE, value, now_ms), now_ms=now_ms)
        write_quorum_state(directory, self._node_id, epoch)

    def append(
        self,
        records: Sequence[MetadataChange],
        *,
        now_ms: int,
        metadata_version: int = OLDEST_METADATA_VERSION,
    ) -> int:
        """Write one change; it is on disk when this returns.

        Args:
            records: at least one.
            now_ms: their timestamp.
            metadata_version: the level in force, which decides on the format of the records.

        Returns:
            The offset of the last record.

        Raises:
            KafkaStorageError: the change was not written, or it may not be on disk. In the second
                case no further change is accepted, because the next start may or may not find
                this one.
        """
        if self._has_failed:
            raise KafkaStorageError(f"an earlier change of {PARTITION_DIRECTORY} failed")
        self._log.append_batch(make_batch(records, now_ms, metadata_version), now_ms=now_ms)
        try:
            self._log.flush()
        except KafkaStorageError:
            self._has_failed = True
            raise
        return self.end_offset - 1
