"""Checks that a partition's directory belongs to the topic that the metadata log has.

A difference to Kafka: if the topic id in a partition's directory is not the one in the metadata
log, the partition goes offline until a person decides which id is right, because its records may be
the ones that are wanted. Kafka renames the directory to `-stray` and begins an empty partition.

See: S-75 (PartitionMetadataFile).
"""

import logging
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from broker_lite.errors import KafkaStorageError
from broker_lite.log.directory.chores import Chores
from broker_lite.log.directory.offline import OfflinePartitions
from broker_lite.log.directory.partitions import claimed_topic_id, make_directory, set_aside
from broker_lite.log.files.checkpoints import PARTITION_METADATA_FILE, format_uuid
from broker_lite.log.files.names import STRAY_DIRECTORY_SUFFIX, partition_directory

logger = logging.getLogger("broker_lite.log")

_NAMED_MAX: Final = 10


class DirectoryOfAnotherTopic(KafkaStorageError):
    """A partition's directory has the id of another topic, and must not be used."""


class Claims:
    """Checks the topic id of directories before they are used."""

    __slots__ = ("_chores", "_data_dir", "_offline")

    def __init__(self, data_dir: Path, chores: Chores, offline: OfflinePartitions) -> None:
        """Store the arguments.

        Args:
            data_dir: the data directory.
            chores: knows the ids of deleted topics whose directories a crash may have left.
            offline: gets the partitions whose directories belong to another topic.
        """
        self._data_dir = data_dir
        self._chores = chores
        self._offline = offline

    def take(self, topic: str, partition: int, topic_id: bytes) -> bool:
        """Make sure that a partition's directory exists and belongs to this topic.

        Returns:
            False if the directory was left by a deleted topic of the same name. It was renamed, and
            an empty one made. True otherwise.

        Raises:
            DirectoryOfAnotherTopic: the directory has another topic's id; the partition is offline.
            KafkaStorageError: the directory cannot be read, made or renamed.
        """
        directory = f"{self._data_dir}/{partition_directory(topic, partition)}"
        stored = claimed_topic_id(directory)
        is_other = stored is not None and stored != topic_id
        if is_other:
            if stored not in self._chores.deleted_ids:
                error = DirectoryOfAnotherTopic(_difference(stored or b"", topic_id))
                self._offline.give_up((topic, partition), error)
                raise error
            aside = set_aside(self._data_dir, topic, partition, STRAY_DIRECTORY_SUFFIX)
            logger.warning("set aside, its topic was deleted directory=%s as=%s", directory, aside)
        if stored != topic_id:
            make_directory(directory, topic_id)
        self._offline.take_back((topic, partition))
        return not is_other

    def put_aside(self, partitions: Sequence[tuple[str, int]]) -> None:
        """Rename the directories of partitions that the metadata log does not have, and log it.

        Raises:
            KafkaStorageError: a directory cannot be renamed.

        See: S-44 (LogManager.handleStray).
        """
        if not partitions:
            return
        for topic, partition in partitions:
            set_aside(self._data_dir, topic, partition, STRAY_DIRECTORY_SUFFIX)
        named = [partition_directory(*key) for key in sorted(partitions)[:_NAMED_MAX]]
        if len(partitions) > _NAMED_MAX:
            named.append("...")
        logger.warning(
            "set aside as *-stray, the metadata log has no such partitions; broker-lite log import"
            " takes logs in data_dir=%s count=%d partitions=%s",
            self._data_dir,
            len(partitions),
            ",".join(named),
        )


def _difference(stored: bytes, topic_id: bytes) -> str:
    return (
        f"{PARTITION_METADATA_FILE} has topic id {format_uuid(stored)}, the metadata log has"
        f" {format_uuid(topic_id)}: `broker-lite log repair --topic-ids` decides"
    )
