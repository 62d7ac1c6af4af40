"""Partitions copied from one data directory into another, with what the metadata says of them.

All of it or nothing: the copies are made beside the partitions of the directory, under a name that
nobody looks at, and each is loaded as after a crash, which checks every batch and makes its indexes
anew. Then they get their names, and one batch of the metadata log makes them known. Whoever is
interrupted before it leaves directories that the next start sets aside.

Rule: S-70, S-75, S-76, S-96, S-97.
"""

import shutil
import uuid
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from broker_lite.commands.log_metadata import read_metadata
from broker_lite.commands.progress import ProgressBar
from broker_lite.control import metadata_records as kinds
from broker_lite.control.changes import Replica, creation, producer_ids
from broker_lite.control.features import initial_features
from broker_lite.control.image import MetadataImage
from broker_lite.control.metadata_log import (
    PARTITION_DIRECTORY,
    MetadataLog,
    feature_records,
    write_bootstrap_checkpoint,
)
from broker_lite.control.metadata_records import MetadataRecord
from broker_lite.control.metadata_snapshot import newest_snapshot
from broker_lite.control.producer_ids import PRODUCER_ID_BLOCK
from broker_lite.control.topic_rules import TopicPlan
from broker_lite.errors import KafkaStorageError, SettingsError
from broker_lite.log.checkpoints import (
    LOG_START_FILE,
    RECOVERY_POINT_FILE,
    CorruptCheckpoint,
    format_offsets,
    format_partition_metadata,
    parse_offsets,
    parse_uuid,
    read_file,
    replace_file,
    sync_directory,
)
from broker_lite.log.config import LogConfig
from broker_lite.log.data_directory import (
    DirectoryLock,
    claim_identity,
    leave_clean_mark,
    take_clean_mark,
)
from broker_lite.log.files import FileCache
from broker_lite.log.leader_epochs import FILE_NAME as EPOCH_FILE
from broker_lite.log.loading import LoadRequest, load_log
from broker_lite.log.log import Log
from broker_lite.log.names import (
    INDEX_SUFFIX,
    LOG_SUFFIX,
    METADATA_TOPIC,
    SNAPSHOT_SUFFIX,
    TIME_INDEX_SUFFIX,
    TRANSACTION_INDEX_SUFFIX,
    parse_segment_file,
    partition_directory,
)
from broker_lite.log.stopping import make_durable, put_down

_COPIED: Final = (
    LOG_SUFFIX,
    SNAPSHOT_SUFFIX,
    INDEX_SUFFIX,
    TIME_INDEX_SUFFIX,
    TRANSACTION_INDEX_SUFFIX,
)
_COPY_BYTES: Final = 4 << 20
_TRIES: Final = 5
_PARTITION_METADATA: Final = "partition.metadata"


class SourcePartition(NamedTuple):
    """A partition that is to be copied; log_start_offset is that of a checkpoint, if it has any."""

    directory: Path
    log_start_offset: int | None


class SourceTopic(NamedTuple):
    """A topic that is to be taken over, with all of its partitions in order."""

    name: str
    topic_id: bytes
    overrides: Mapping[str, str]
    partitions: tuple[SourcePartition, ...]


class Copied(NamedTuple):
    """A partition that was copied and loaded.

    Attributes:
        cut_bytes: what could not be loaded, at its end.
    """

    directory: Path
    leader_epoch: int
    log_start_offset: int
    end_offset: int
    producer_id_end: int
    cut_bytes: int


class Transfer:
    """Puts topics into a data directory, made if it is not there.

    Args:
        data_dir: where to; no broker may run on it, and none can as long as the context lasts.
        node_id: of a new directory.
        cluster_id: of a new directory; None makes one.
        may_cut: what cannot be loaded is left out; else that ends all of it.
        now_ms: the time.
    """

    def __init__(
        self, data_dir: Path, *, node_id: int, cluster_id: str | None, may_cut: bool, now_ms: int
    ) -> None:
        self._data_dir = data_dir
        self._may_cut = may_cut
        self._now_ms = now_ms
        self._cache = FileCache()
        data_dir.mkdir(parents=True, exist_ok=True)
        self._lock = DirectoryLock(data_dir)
        self._staging = data_dir / f".import-{uuid.uuid4().hex}"
        try:
            self._meta = claim_identity(data_dir, node_id=node_id, cluster_id=cluster_id)
        except BaseException:
            self._lock.release()
            raise

    def __enter__(self) -> "Transfer":
        return self

    def __exit__(self, *_: object) -> None:
        shutil.rmtree(self._staging, ignore_errors=True)
        self._lock.release()

    def take(
        self, topics: Sequence[SourceTopic], bar: ProgressBar, *, next_producer_id: int = 0
    ) -> dict[str, list[Copied]]:
        """Copy topics and make them known.

        Args:
            topics: none that the directory has.
            bar: is told how far it is.
            next_producer_id: no producer of the topics has one that is as high, as far as known.

        Returns:
            What became of the partitions, by topic.

        Raises:
            SettingsError: the directory has a topic of the name or the id.
            KafkaStorageError: a partition cannot be loaded as it is, or something not written.
            OSError: something cannot be read or written.
        """
        image = read_metadata(self._data_dir) or MetadataImage()
        self._check(image, topics)
        self._staging.mkdir()
        copied = {topic.name: self._copy_topic(topic, bar) for topic in topics}
        ends = [one.producer_id_end for of_topic in copied.values() for one in of_topic]
        next_producer_id = max(next_producer_id, *ends, 0)
        was_clean = take_clean_mark(self._data_dir)
        self._put_in_place(topics, copied)
        self._note_offsets(copied)
        self._make_known(image, topics, copied, next_producer_id, is_clean=was_clean)
        if was_clean or not image.topics:
            leave_clean_mark(self._data_dir, max(image.broker_epoch, 0))
        return copied

    def _check(self, image: MetadataImage, topics: Iterable[SourceTopic]) -> None:
        for topic in topics:
            if topic.name in image.topics:
                raise SettingsError(f"{self._data_dir} has a topic {topic.name} already")
            if topic.topic_id in image.topics_by_id:
                other = image.topics_by_id[topic.topic_id].name
                raise SettingsError(
                    f"{self._data_dir} has the topic {other} with the id of {topic.name}"
                )
            for number in range(len(topic.partitions)):
                place = self._data_dir / partition_directory(topic.name, number)
                if place.exists():
                    raise SettingsError(f"{place} is there already")

    # -- copies

    def _copy_topic(self, topic: SourceTopic, bar: ProgressBar) -> list[Copied]:
        found = []
        for number, partition in enumerate(topic.partitions):
            target = self._staging / partition_directory(topic.name, number)
            size_bytes = _copy_partition(partition.directory, target, bar)
            metadata = format_partition_metadata(topic.topic_id)
            (target / _PARTITION_METADATA).write_text(metadata)
            found.append(self._load(topic.name, number, partition, target, size_bytes))
        return found

    def _load(
        self, name: str, number: int, source: SourcePartition, target: Path, size_bytes: int
    ) -> Copied:
        request = LoadRequest(
            name,
            number,
            str(target),
            LogConfig(),
            log_start_offset=source.log_start_offset,
            is_clean=False,
        )
        log = load_log(request, self._cache, now_ms=self._now_ms)
        cut_bytes = size_bytes - log.size_bytes
        if cut_bytes and not self._may_cut:
            self._put_down(log)
            raise KafkaStorageError(
                f"{source.directory}: {cut_bytes} bytes from offset {log.log_end_offset} on are no"
                " sound batches; log verify tells more, --cut leaves them out"
            )
        copied = Copied(
            target,
            max(log.epochs.latest_epoch, 0),
            log.log_start_offset,
            log.log_end_offset,
            max((entry.producer_id for entry in log.producer_state), default=-1) + 1,
            cut_bytes,
        )
        self._put_down(log)
        return copied

    def _put_down(self, log: Log) -> None:
        if put_down([log]) != [log]:
            raise KafkaStorageError(f"{log.directory} cannot be written")
        make_durable([log])

    # -- what makes them known

    def _put_in_place(
        self, topics: Iterable[SourceTopic], copied: Mapping[str, Sequence[Copied]]
    ) -> None:
        for topic in topics:
            for one in copied[topic.name]:
                one.directory.rename(self._data_dir / one.directory.name)
        sync_directory(self._data_dir)

    def _note_offsets(self, copied: Mapping[str, Sequence[Copied]]) -> None:
        """Write the checkpoints: a log that they name with 0 would count as one never written to.

        Rule: S-70.
        """
        starts = read_offsets(self._data_dir / LOG_START_FILE)
        points = read_offsets(self._data_dir / RECOVERY_POINT_FILE)
        for name, of_topic in copied.items():
            for number, one in enumerate(of_topic):
                starts.pop((name, number), None)
                if one.log_start_offset > 0:
                    starts[name, number] = one.log_start_offset
                points[name, number] = one.end_offset
        replace_file(self._data_dir / LOG_START_FILE, format_offsets(starts))
        replace_file(self._data_dir / RECOVERY_POINT_FILE, format_offsets(points))

    def _make_known(
        self,
        image: MetadataImage,
        topics: Sequence[SourceTopic],
        copied: Mapping[str, Sequence[Copied]],
        next_producer_id: int,
        *,
        is_clean: bool,
    ) -> None:
        directory = self._data_dir / PARTITION_DIRECTORY
        directory.mkdir(exist_ok=True)
        snapshot = newest_snapshot(directory)
        start_offset = snapshot.end_offset if snapshot is not None else None
        request = LoadRequest(
            METADATA_TOPIC,
            0,
            str(directory),
            LogConfig(),
            log_start_offset=start_offset,
            is_clean=is_clean,
        )
        log = load_log(request, self._cache, now_ms=self._now_ms)
        metadata_log = MetadataLog(log, self._meta.node_id, snapshot)
        records: list[MetadataRecord] = []
        if metadata_log.is_new:
            features = initial_features()
            write_bootstrap_checkpoint(self._data_dir, features, now_ms=self._now_ms)
            records += feature_records(features)
        metadata_log.become_leader(now_ms=self._now_ms)
        replica = Replica(self._meta.node_id, parse_uuid(self._meta.directory_id))
        for topic in topics:
            records += _records(topic, copied[topic.name], replica)
        if next_producer_id > image.next_producer_id:
            end = -(-next_producer_id // PRODUCER_ID_BLOCK) * PRODUCER_ID_BLOCK
            records.append(producer_ids(self._meta.node_id, image.broker_epoch, end))
        metadata_log.append(records, now_ms=self._now_ms)
        self._put_down(log)


def read_offsets(path: Path) -> dict[tuple[str, int], int]:
    """Read a checkpoint, empty where there is none.

    Raises:
        KafkaStorageError: the file is damaged.

    Rule: S-70.
    """
    try:
        return parse_offsets(read_file(path) or "")
    except CorruptCheckpoint as error:
        raise KafkaStorageError(f"{path}: {error}") from error


def size_bytes_of(directory: Path) -> int:
    """Sum up what there is to copy of a partition."""
    return sum(path.stat().st_size for path in _files(directory))


def _records(
    topic: SourceTopic, copied: Sequence[Copied], replica: Replica
) -> list[MetadataRecord]:
    """Make the records of a topic, whose leader epochs go on from those in its logs."""
    plan = TopicPlan(topic.name, len(copied), 1, topic.overrides)
    records = creation(plan, topic.topic_id, replica)
    for record in records:
        if record.api_key == kinds.PARTITION:
            record.value.leader_epoch = copied[record.value.partition_id].leader_epoch
    return records


def _files(directory: Path) -> list[Path]:
    """Name the files to copy; without its index a segment would be cut as if it were the last."""
    found = []
    for path in directory.iterdir():
        parsed = parse_segment_file(path.name)
        if path.name == EPOCH_FILE or (parsed is not None and parsed[1] in _COPIED):
            found.append(path)
    return sorted(found)


def _copy_partition(source: Path, target: Path, bar: ProgressBar) -> int:
    """Copy the files of a partition; a broker may be removing segments of it.

    Returns:
        How many bytes of batches there are.

    Raises:
        FileNotFoundError: files vanished at each try.
    """
    for number in range(_TRIES):
        target.mkdir()
        try:
            paths = _files(source)
            for path in paths:
                _copy_file(path, target / path.name, bar)
        except FileNotFoundError:
            shutil.rmtree(target)
            if number == _TRIES - 1:
                raise
        else:
            break
    return sum((target / p.name).stat().st_size for p in paths if p.name.endswith(LOG_SUFFIX))


def _copy_file(source: Path, target: Path, bar: ProgressBar) -> None:
    with source.open("rb", buffering=0) as reader, target.open("wb", buffering=0) as writer:
        while data := reader.read(_COPY_BYTES):
            writer.write(data)
            bar.add(len(data), f"{source.parent.name}/{source.name}")
