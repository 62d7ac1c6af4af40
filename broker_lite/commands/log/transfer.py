"""Copies topics from one data directory into another, with their metadata.

It copies all or nothing. The copies are made under a name that brokers ignore, and each is
recovered as after a crash, which checks every batch and rebuilds the indexes. Then they are
renamed, and one batch of the metadata log registers them. If the command is interrupted before, the
next start of the broker sets the directories aside.

See: S-70, S-75, S-76, S-96, S-97.
"""

import shutil
import uuid
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from pathlib import Path
from types import MappingProxyType
from typing import Final

from broker_lite.commands.log.copies import Copied, Copier, SourceTopic, close_durably, read_offsets
from broker_lite.commands.log.metadata import read_metadata
from broker_lite.commands.shared.progress import ProgressBar
from broker_lite.control.cluster.eligible_replicas import safety_configs
from broker_lite.control.cluster.features import initial_features
from broker_lite.control.cluster.metadata_changes import (
    acl_creation,
    config_changes,
    creation,
    producer_ids,
)
from broker_lite.control.cluster.producer_id_blocks import PRODUCER_ID_BLOCK
from broker_lite.control.metadata.image import MetadataImage
from broker_lite.control.metadata.metadata_batches import feature_records
from broker_lite.control.metadata.metadata_log import PARTITION_DIRECTORY, MetadataLog
from broker_lite.control.metadata.metadata_records import MetadataRecord, Placement
from broker_lite.control.metadata.metadata_snapshot import newest_snapshot
from broker_lite.control.metadata.quorum_files import write_bootstrap_checkpoint
from broker_lite.control.topics.topic_rules import TopicPlan
from broker_lite.errors import SettingsError
from broker_lite.log.config import LogConfig
from broker_lite.log.directory.data_directory import (
    DirectoryLock,
    claim_identity,
    leave_clean_mark,
    take_clean_mark,
)
from broker_lite.log.files.checkpoints import (
    LOG_START_FILE,
    RECOVERY_POINT_FILE,
    format_offsets,
    parse_uuid,
    replace_file,
    sync_directory,
)
from broker_lite.log.files.file_cache import FileCache
from broker_lite.log.files.names import METADATA_TOPIC, partition_directory
from broker_lite.log.recovery.loading import LoadRequest, load_log
from broker_lite.security.acls.acl import Acl
from broker_lite.settings import Settings

_STAGING: Final = ".import-"


class Transfer:
    """Copies topics into a data directory, which is created if missing.

    Args:
        data_dir: the target, which is locked within the context; no broker may use it.
        node_id: of a new directory.
        cluster_id: of a new directory; None generates one.
        may_cut: leave out the end of a log from the first damage on; else damage is an error.
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
        self._staging = data_dir / f"{_STAGING}{uuid.uuid4().hex}"
        self._is_known = False
        for left_over in data_dir.glob(f"{_STAGING}*"):  # left by a killed process
            shutil.rmtree(left_over)
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
        self,
        topics: Sequence[SourceTopic],
        bar: ProgressBar,
        *,
        next_producer_id: int = 0,
        acls: Mapping[Acl, bytes] = MappingProxyType({}),
    ) -> dict[str, list[Copied]]:
        """Copy topics and register them in the metadata log.

        Args:
            topics: none of them may exist in the directory.
            bar: shows the progress.
            next_producer_id: above all known producer ids of the topics.
            acls: with their ids; those that the directory has already are not added again.

        Returns:
            The copied partitions, by topic.

        Raises:
            SettingsError: the directory has a topic of the name or the id.
            KafkaStorageError: a partition is damaged, or something cannot be written.
            OSError: something cannot be read or written.
        """
        image = read_metadata(self._data_dir) or MetadataImage()
        self._check(image, topics)
        self._staging.mkdir()
        copier = Copier(self._staging, may_cut=self._may_cut, now_ms=self._now_ms)
        copied = {topic.name: copier.copy(topic, bar) for topic in topics}
        ends = [one.producer_id_end for of_topic in copied.values() for one in of_topic]
        next_producer_id = max(next_producer_id, *ends, 0)
        added = [
            acl_creation(acl_id, acl) for acl, acl_id in acls.items() if acl not in image.acls.ids
        ]
        was_clean = take_clean_mark(self._data_dir)
        try:
            self._put_in_place(topics, copied)
            self._note_offsets(copied)
            self._make_known(image, topics, copied, next_producer_id, added, is_clean=was_clean)
        except BaseException:
            self._take_back(copied)
            raise
        if was_clean or not image.topics:
            leave_clean_mark(self._data_dir, max(image.broker_epoch(self._meta.node_id), 0))
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
                    raise SettingsError(f"{place} exists already")

    # -- renaming and registering the copies

    def _put_in_place(
        self, topics: Iterable[SourceTopic], copied: Mapping[str, Sequence[Copied]]
    ) -> None:
        for topic in topics:
            for one in copied[topic.name]:
                one.directory.rename(self._data_dir / one.directory.name)
        sync_directory(self._data_dir)

    def _take_back(self, copied: Mapping[str, Sequence[Copied]]) -> None:
        """Remove the renamed copies, unless the metadata log may have them already."""
        if not self._is_known:
            for one in chain.from_iterable(copied.values()):
                shutil.rmtree(self._data_dir / one.directory.name, ignore_errors=True)

    def _note_offsets(self, copied: Mapping[str, Sequence[Copied]]) -> None:
        """Write the checkpoints; a log with recovery point 0 would count as never written to.

        See: S-70.
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
        added: Sequence[MetadataRecord],
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
            for change in safety_configs(image, features, Settings({})):
                records += config_changes(*change)
        metadata_log.become_leader(now_ms=self._now_ms)
        own = (self._meta.node_id,)
        placement = Placement(own, own, (parse_uuid(self._meta.directory_id),))
        for topic in topics:
            records += _records(topic, copied[topic.name], placement)
        if next_producer_id > image.next_producer_id:
            end = -(-next_producer_id // PRODUCER_ID_BLOCK) * PRODUCER_ID_BLOCK
            epoch = image.broker_epoch(self._meta.node_id)
            records.append(producer_ids(self._meta.node_id, epoch, end))
        records += added
        self._is_known = True
        metadata_log.append(records, now_ms=self._now_ms)
        close_durably(log)


def _records(
    topic: SourceTopic, copied: Sequence[Copied], placement: Placement
) -> list[MetadataRecord]:
    """Make the metadata records of a topic, with the leader epochs of its logs."""
    plan = TopicPlan(topic.name, [placement] * len(copied), topic.overrides)
    records: list[MetadataRecord] = []
    for change in creation(plan, topic.topic_id):
        if isinstance(change, MetadataRecord):
            records.append(change)
            continue
        for record in change.each():
            record.value.leader_epoch = copied[record.value.partition_id].leader_epoch
            records.append(record)
    return records
