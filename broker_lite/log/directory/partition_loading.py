"""Loads the logs of partitions when they are first used.

What the checkpoints and the metadata say about a partition goes into the loading. A partition
without files gets a log that makes them with its first record.
"""

from collections.abc import Callable

from broker_lite.errors import KafkaStorageError
from broker_lite.log.directory.chores import Chores
from broker_lite.log.directory.claims import Claims
from broker_lite.log.directory.offline import OfflinePartitions
from broker_lite.log.directory.offset_checkpoints import OffsetCheckpoints
from broker_lite.log.directory.partitions import Partition, has_records, is_unwritten
from broker_lite.log.files.file_cache import FileCache
from broker_lite.log.log import Log
from broker_lite.log.recovery.loading import LoadRequest, load_log, new_log
from broker_lite.log.visibility import Commits


class PartitionLoading:
    """Loads logs, and puts each into its partition's entry."""

    def __init__(
        self,
        partitions: dict[tuple[str, int], Partition],
        *,
        directory: Callable[[str, int], str],
        cache: FileCache,
        now_ms: Callable[[], int],
        chores: Chores,
        claims: Claims,
        checkpoints: OffsetCheckpoints,
        offline: OfflinePartitions,
        commits: Commits,
    ) -> None:
        """Remember what is needed; the arguments are parts of the LogManager.

        Args:
            partitions: all of the data directory.
            directory: returns the directory of a topic's partition.
            cache: the open files.
            now_ms: the clock.
            chores: file work for later.
            claims: checks whose directory it is.
            checkpoints: of the offsets.
            offline: the partitions whose disk failed.
            commits: given to each log.
        """
        self._partitions = partitions
        self._directory = directory
        self._cache = cache
        self._now_ms = now_ms
        self._chores = chores
        self._claims = claims
        self._checkpoints = checkpoints
        self._offline = offline
        self._commits = commits

    def load(self, topic: str, partition: int, entry: Partition) -> Log:
        """Load the log of a partition that has none yet.

        Raises:
            KafkaStorageError: the log cannot be loaded.
        """
        with self._offline.loading((topic, partition)):
            request, now_ms = self.request(topic, partition, entry), self._now_ms()
            if is_unwritten(entry, request.directory):
                return self.take(new_log(request, self._cache, self._prepare, now_ms=now_ms))
            return self.take(load_log(request, self._cache, now_ms=now_ms))

    def request(self, topic: str, partition: int, entry: Partition) -> LoadRequest:
        """Return the arguments for loading; rename a directory that a deleted topic has left."""
        is_known = not entry.is_new and entry.topic_id
        if is_known and not self._claims.take(topic, partition, entry.topic_id):
            entry.recovery_point, entry.log_start_offset = 0, None
            self._checkpoints.forget((topic, partition))
        return LoadRequest(
            topic,
            partition,
            self._directory(topic, partition),
            entry.config,
            entry.recovery_point,
            entry.log_start_offset,
            entry.is_clean,
        )

    def take(self, log: Log) -> Log:
        """Put a loaded log into its partition's entry, and return it."""
        entry = self._partitions[log.topic, log.partition]
        log.segments.use_cache(self._cache)  # recovery used one per log
        log.visibility.commits = self._commits
        log.become_leader(entry.leader_epoch)
        entry.log = log
        entry.is_clean = True
        return log

    def _prepare(self, log: Log) -> None:
        """Check a new partition's directory before its first file is made.

        Raises:
            KafkaStorageError: the directory cannot be used.
        """
        entry = self._partitions.get((log.topic, log.partition))
        try:
            if entry is None or entry.log is not log:
                raise FileNotFoundError(f"{log.directory} is that of a deleted partition")
            if entry.topic_id:
                self._claims.take(log.topic, log.partition, entry.topic_id)
            if has_records(log.directory):
                raise FileExistsError(f"{log.directory} holds records that no checkpoint knows of")
        except OSError as error:
            raise KafkaStorageError from error
        self._chores.index_files_of(log)
