"""All logs of a data directory: found at the start, loaded at first use, closed at the stop.

After a clean stop, a partition is only a small object until its first use. After an unclean stop,
recover() loads and repairs all logs.
"""

import logging
from collections.abc import Callable, Iterator
from pathlib import Path

from broker_lite.errors import KafkaStorageError, SettingsError, UnknownTopicOrPartition, cause_of
from broker_lite.log.config import LogConfig
from broker_lite.log.directory.chores import Chores
from broker_lite.log.directory.claims import Claims
from broker_lite.log.directory.data_directory import (
    DirectoryLock,
    claim_identity,
    leave_clean_mark,
    take_clean_mark,
)
from broker_lite.log.directory.offline import OfflinePartitions
from broker_lite.log.directory.offset_checkpoints import OffsetCheckpoints
from broker_lite.log.directory.partition_loading import PartitionLoading
from broker_lite.log.directory.partitions import (
    Partition,
    find_partitions,
    stored_bytes,
    stored_topic_id,
)
from broker_lite.log.directory.recovering import PartitionRecovery
from broker_lite.log.directory.recovery_progress import RecoveryProgress
from broker_lite.log.directory.retention import Retention
from broker_lite.log.directory.stopping import flush_each, look_at_files, make_durable, put_down
from broker_lite.log.directory.truncating import cut_end
from broker_lite.log.files.file_cache import FileCache
from broker_lite.log.files.names import METADATA_TOPIC, partition_directory
from broker_lite.log.log import Log
from broker_lite.log.recovery.loading import LoadRequest, load_log
from broker_lite.log.removal import SegmentRemoval
from broker_lite.log.visibility import Commits

logger = logging.getLogger("broker_lite.log")


class LogManager:
    """The logs of one data directory, for one node.

    Attributes:
        chores: file work for a worker thread.
        commits: the logs that hide new records from consumers until they are on disk.
        offline: the partitions whose disk failed.
        checkpoints: writes the offsets of all partitions to files.
        removal: removes segments from logs.
        retention: finds the oldest segments that are due, and has them removed.
    """

    def __init__(
        self,
        data_dir: Path,
        *,
        node_id: int,
        now_ms: Callable[[], int],
        cluster_id: str | None = None,
        file_cache: FileCache | None = None,
        defaults: LogConfig | None = None,
    ) -> None:
        """Store the arguments; nothing is read or written before open().

        Args:
            data_dir: the data directory; created if it does not exist.
            node_id: must be the node that the directory was created for.
            now_ms: the clock.
            cluster_id: None takes the directory's id, or a new one.
            file_cache: the open files; shared by all logs.
            defaults: the configuration of partitions that get none of their own.
        """
        self.data_dir = data_dir
        self.node_id = node_id
        self.cluster_id, self.directory_id = cluster_id or "", ""
        self.was_clean = False
        self.defaults = defaults if defaults is not None else LogConfig()
        self.metadata_log: Log | None = None
        self.chores = Chores(data_dir)
        self.commits = Commits()
        self._cache = file_cache if file_cache is not None else FileCache()
        self._now_ms = now_ms
        self._lock: DirectoryLock | None = None
        self._partitions: dict[tuple[str, int], Partition] = {}
        self.checkpoints = OffsetCheckpoints(data_dir, self._partitions)
        self.offline = OfflinePartitions(self._partitions)
        self._claims = Claims(data_dir, self.chores, self.offline)
        self._loading = PartitionLoading(
            self._partitions,
            directory=self._directory,
            cache=self._cache,
            now_ms=now_ms,
            chores=self.chores,
            claims=self._claims,
            checkpoints=self.checkpoints,
            offline=self.offline,
            commits=self.commits,
        )
        self.commits.went_offline = self.offline.take
        self.removal = SegmentRemoval(self._cache, now_ms)
        self.retention = Retention(
            self._partitions, self.removal, self.get, self._directory, now_ms
        )

    @property
    def sent_files_max(self) -> int:
        """How many files the next response may keep open; see FileCache."""
        return self._cache.lendable_count

    # -- start

    def open(self) -> None:
        """Lock the directory and list its partitions; load no log.

        Raises:
            SettingsError: the directory is in use, belongs to another node, or cannot be used.

        Rule: S-40 (LogManager.loadLogs).
        """
        try:
            self.data_dir.mkdir(parents=True, exist_ok=True)
            self._lock = DirectoryLock(self.data_dir)
            self._find_partitions()
        except (OSError, SettingsError) as error:
            self._unlock()
            if isinstance(error, SettingsError):
                raise
            raise SettingsError(f"data directory {self.data_dir}: {error}") from error

    def _unlock(self) -> None:
        if self._lock is not None:
            self._lock.release()
            self._lock = None

    def _find_partitions(self) -> None:
        wanted = self.cluster_id or None
        meta = claim_identity(self.data_dir, node_id=self.node_id, cluster_id=wanted)
        self.cluster_id, self.directory_id = meta.cluster_id, meta.directory_id
        self.was_clean = take_clean_mark(self.data_dir)
        found = find_partitions(self.data_dir, self.defaults, self.was_clean)
        self._partitions.update(found.partitions)
        self.checkpoints.named = found.checkpointed
        self.chores.remove_directories(found.deleted)

    def open_metadata_log(
        self, config: LogConfig | None = None, *, start_offset: int | None = None
    ) -> Log:
        """Load the cluster's metadata log, or create an empty one. No checkpoint names this log.

        Args:
            config: None takes the defaults.
            start_offset: records below it are in a snapshot; a log that ends before it starts here.

        Raises:
            KafkaStorageError: the log cannot be read or written.
        """
        if self.metadata_log is None:
            directory = self.data_dir / partition_directory(METADATA_TOPIC, 0)
            directory.mkdir(exist_ok=True)
            request = LoadRequest(
                METADATA_TOPIC,
                0,
                str(directory),
                config if config is not None else self.defaults,
                log_start_offset=start_offset,
                is_clean=self.was_clean,
            )
            self.metadata_log = load_log(request, self._cache, now_ms=self._now_ms())
        return self.metadata_log

    def unclaimed(self) -> Iterator[tuple[str, int, bytes | None]]:
        """Yield topic, partition and id of the partitions on disk that create() did not name."""
        for (topic, partition), entry in list(self._partitions.items()):
            if not entry.is_claimed:
                yield topic, partition, stored_topic_id(self._directory(topic, partition))

    def recover(
        self,
        *,
        threads: int = 1,
        is_stopping: Callable[[], bool] = lambda: False,
        progress: RecoveryProgress | None = None,
    ) -> None:
        """Finish the start. Call create() for every partition of the cluster before.

        Directories that belong to no partition are renamed to -stray. After an unclean stop, every
        log is loaded and recovered from its recovery point; it goes offline if that fails.

        The arguments are those of recover_logs().

        Raises:
            LoadStopped: is_stopping() returned True; the next start recovers everything again.

        See: S-44 (LogManager.startup).
        """
        strays = [key for key, entry in self._partitions.items() if not entry.is_claimed]
        for key in strays:
            del self._partitions[key]
        self._claims.put_aside(strays)
        progress = progress or RecoveryProgress(self._now_ms)
        now_ms = self._now_ms()
        loading = self._loading
        PartitionRecovery(
            self._partitions, self.offline, self._directory, loading.request, loading.take
        ).run(progress, threads=threads, is_stopping=is_stopping, now_ms=now_ms)

    # -- partitions

    def create(
        self,
        topic: str,
        partition: int,
        topic_id: bytes,
        config: LogConfig | None = None,
        *,
        leader_epoch: int = 0,
    ) -> None:
        """Create a partition, or take over the one that is on disk; its first use loads it.

        Raises:
            KafkaStorageError: the directory cannot be made; or the checkpoints have offsets of a
                deleted partition of this name, and cannot be written.

        See: S-02, S-75 (LogManager.getOrCreateLog).
        """
        key = (topic, partition)
        entry = self._partitions.get(key)
        if entry is None:
            entry = Partition(self.defaults)
            entry.is_new = True
            self.chores.free_name(topic, partition)
            self.checkpoints.forget(key)
            self._claims.take(topic, partition, topic_id)
            self._partitions[key] = entry
        entry.is_claimed = True
        entry.topic_id = topic_id
        entry.leader_epoch = leader_epoch
        entry.config = config if config is not None else self.defaults

    def become_leader(self, topic: str, partition: int, leader_epoch: int) -> None:
        """Begin a leader epoch of a partition; one that is not loaded begins it when it is.

        Raises:
            UnknownTopicOrPartition: there is no such partition here.
            KafkaStorageError: the epoch counts, but its file is not written yet.
        """
        entry = self._partitions.get((topic, partition))
        if entry is None:
            raise UnknownTopicOrPartition
        entry.leader_epoch = leader_epoch
        if entry.log is not None:
            entry.log.become_leader(leader_epoch)

    def get(self, topic: str, partition: int) -> Log:
        """Return a partition's log; the first call loads it.

        Raises:
            UnknownTopicOrPartition: there is no such partition here.
            KafkaStorageError: the log cannot be loaded.
        """
        entry = self._partitions.get((topic, partition))
        if entry is None:
            raise UnknownTopicOrPartition
        return entry.log if entry.log is not None else self._loading.load(topic, partition, entry)

    def truncate(self, topic: str, partition: int, offset: int) -> int:
        """Cut the end of a partition's log; see cut_end().

        Returns:
            How many offsets were cut off.

        Raises:
            UnknownTopicOrPartition: there is no such partition here.
            KafkaStorageError: the files are cut in part; the next use recovers what is left.
        """
        log = self.get(topic, partition)
        end_offset, offset = log.log_end_offset, max(offset, log.log_start_offset)
        if offset >= end_offset:
            return 0
        entry = self._partitions[topic, partition]
        cut_end(log, entry, offset, checkpoints=self.checkpoints, cache=self._cache)
        return end_offset - self.get(topic, partition).log_end_offset

    def delete(self, topic: str, partition: int) -> None:
        """Forget a partition; `chores` removes its files. Ranges being sent stay readable.

        Raises:
            UnknownTopicOrPartition: there is no such partition here.

        See: S-02, S-54 (LogManager.asyncDelete).
        """
        entry = self._partitions.pop((topic, partition), None)
        if entry is None:
            raise UnknownTopicOrPartition
        self.offline.forget((topic, partition))
        self.chores.remove_partition(topic, partition, entry.topic_id)
        if entry.log is not None:
            entry.log.delete()

    def update_config(self, topic: str, partition_count: int, config: LogConfig) -> None:
        """Apply new settings to all partitions of a topic."""
        for partition in range(partition_count):
            entry = self._partitions.get((topic, partition))
            if entry is not None:
                entry.config = config
                if entry.log is not None:
                    entry.log.update_config(config)

    def size_bytes(self, topic: str, partition: int) -> int:
        """Return the size of a partition's .log files without loading it.

        Raises:
            UnknownTopicOrPartition: there is no such partition here.
            KafkaStorageError: the directory cannot be read.
        """
        entry = self._partitions.get((topic, partition))
        if entry is None:
            raise UnknownTopicOrPartition
        if entry.log is not None:
            return entry.log.segments.size_bytes
        if entry.is_new:
            return 0
        try:
            return stored_bytes(self._directory(topic, partition))
        except OSError as error:
            raise KafkaStorageError from error

    def loaded_logs(self) -> list[Log]:
        """Return the loaded logs, without the metadata log."""
        return [e.log for e in list(self._partitions.values()) if e.log is not None]

    def _directory(self, topic: str, partition: int) -> str:
        return f"{self.data_dir}/{partition_directory(topic, partition)}"

    # -- periodic work and the stop

    def checkpoint(self) -> None:
        """Flush rolled segments and write the checkpoints; may run in a worker thread.

        Raises:
            KafkaStorageError: a file was not written, a log was not flushed, or it lost a file.

        See: S-31, S-33, S-70 (LogManager.checkpointLogRecoveryOffsets).
        """
        try:
            flush_each((log, log.segments.active.base_offset) for log in self.loaded_logs())
            look_at_files(self.loaded_logs())
        finally:
            self.checkpoints.write()

    def close(self, *, sync: bool = True, broker_epoch: int = 0) -> None:
        """Close all logs, write the checkpoints, mark the stop as clean, release the lock.

        Args:
            sync: make everything durable first; a temporary directory does not need it.
            broker_epoch: written to the mark of a clean stop.

        See: S-47 (LogManager.shutdown).
        """
        if self._lock is None:
            return
        logs = self.loaded_logs()
        if self.metadata_log is not None:
            logs.append(self.metadata_log)
        try:
            self.chores.finish()
            closed = put_down(logs)
            if sync:
                make_durable(closed)
            for log in closed:
                log.flusher.mark_durable(log.log_end_offset)
            self.checkpoint()
            are_closed = len(closed) == len(logs)
            if are_closed and all(entry.is_clean for entry in self._partitions.values()):
                leave_clean_mark(self.data_dir, broker_epoch)
        except (KafkaStorageError, OSError) as error:
            reason = cause_of(error)
            logger.error("stop is not clean data_dir=%s reason=%s", self.data_dir, reason)
        finally:
            self.abandon()

    def abandon(self) -> None:
        """Close the files and release the lock without closing the logs."""
        self._cache.discard_directory(str(self.data_dir))
        self._unlock()
