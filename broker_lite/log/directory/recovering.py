"""Recovers many logs at the start of a broker, several at a time in worker threads."""

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from itertools import islice
from typing import Final, NamedTuple

from broker_lite.errors import BrokerError, KafkaStorageError
from broker_lite.log.directory.offline import OfflinePartitions
from broker_lite.log.directory.partitions import Partition, has_segments
from broker_lite.log.directory.recovery_progress import PartitionWatch, RecoveryProgress
from broker_lite.log.files.file_cache import FileCache
from broker_lite.log.log import Log
from broker_lite.log.recovery.load_watch import LoadStopped
from broker_lite.log.recovery.loading import LoadRequest, load_log

logger = logging.getLogger("broker_lite.log")

_TURN_S: Final = 0.1
_AHEAD: Final = 4
_OPEN_FILES_MAX: Final = 16


class Recovered(NamedTuple):
    """The result for one partition: its log, or the error."""

    request: LoadRequest
    log: Log | None
    error: BrokerError | None


def recover_logs(
    requests: Sequence[LoadRequest],
    progress: RecoveryProgress,
    *,
    threads: int,
    is_stopping: Callable[[], bool],
    now_ms: int,
) -> Iterator[Recovered]:
    """Recover logs, and yield each as soon as it is done; each has a file cache of its own.

    Args:
        requests: what is known of each partition.
        progress: gets the progress, and shows it.
        threads: number of worker threads, at least 1.
        is_stopping: called every tenth of a second; True ends the recovery.
        now_ms: as in load_log.

    Raises:
        LoadStopped: is_stopping() returned True; all threads have ended.

    See: S-44 (LogManager.loadLogs).
    """
    tasks = [
        (request, progress.watch(f"{request.topic}-{request.partition}")) for request in requests
    ]
    waiting = iter(tasks)
    running: dict[Future[Recovered], PartitionWatch] = {}
    with ThreadPoolExecutor(threads, thread_name_prefix="recovery") as pool:
        try:
            while True:
                for request, watch in islice(waiting, threads * _AHEAD - len(running)):
                    running[pool.submit(_recover, request, watch, now_ms)] = watch
                if not running:
                    return
                if is_stopping():
                    raise LoadStopped
                progress.tell()
                for future in wait(running, _TURN_S, FIRST_COMPLETED).done:
                    progress.finish(running.pop(future))
                    yield future.result()
        finally:
            progress.stop()
            progress.clear()


def _recover(request: LoadRequest, watch: PartitionWatch, now_ms: int) -> Recovered:
    watch.begin()
    try:
        log = load_log(request._replace(watch=watch), FileCache(_OPEN_FILES_MAX), now_ms=now_ms)
    except BrokerError as error:
        return Recovered(request, None, error)
    return Recovered(request, log, None)


class PartitionRecovery:
    """Recovers the partitions of a data directory that were not closed cleanly."""

    def __init__(
        self,
        partitions: Mapping[tuple[str, int], Partition],
        offline: OfflinePartitions,
        directory: Callable[[str, int], str],
        request: Callable[[str, int, Partition], LoadRequest],
        take: Callable[[Log], object],
    ) -> None:
        """Store the arguments.

        Args:
            partitions: the partitions of the data directory.
            offline: gets the partitions that cannot be recovered.
            directory: returns a partition's directory.
            request: returns the arguments for loading a partition.
            take: called with each log that was recovered.
        """
        self._partitions = partitions
        self._offline = offline
        self._directory = directory
        self._request = request
        self._take = take

    def run(
        self,
        progress: RecoveryProgress,
        *,
        threads: int,
        is_stopping: Callable[[], bool],
        now_ms: int,
    ) -> None:
        """Recover all of them; the arguments are those of recover_logs.

        Raises:
            LoadStopped: is_stopping() returned True.

        See: S-44 (LogManager.loadLogs).
        """
        requests = [request for key in self._partitions if (request := self._look_at(key))]
        if not requests:
            return
        for request, log, error in recover_logs(
            requests, progress, threads=threads, is_stopping=is_stopping, now_ms=now_ms
        ):
            try:
                if log is None:
                    raise error or KafkaStorageError
                self._take(log)
            except BrokerError as failure:
                self._offline.give_up((request.topic, request.partition), failure)

    def _look_at(self, key: tuple[str, int]) -> LoadRequest | None:
        entry = self._partitions[key]
        if entry.is_clean or entry.log is not None:
            return None
        try:
            if has_segments(self._directory(*key)):
                return self._request(*key, entry)
        except (OSError, KafkaStorageError) as error:
            self._offline.give_up(key, error)
        else:
            entry.is_clean = entry.is_new = True
        return None
