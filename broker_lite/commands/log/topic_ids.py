"""Handles directories whose topic id differs from the metadata log, for `log repair`.

A broker leaves such a partition offline, because its records may belong to another topic of the
same name. They may also be right, as in files that were copied from another cluster.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

from broker_lite.commands.log.metadata import read_metadata
from broker_lite.log.directory.partitions import make_directory, set_aside, stored_topic_id
from broker_lite.log.files.checkpoints import format_uuid
from broker_lite.log.files.names import STRAY_DIRECTORY_SUFFIX, parse_partition_directory

ADOPT: Final = "adopt"
PUT_ASIDE: Final = "put-aside"
CHOICES: Final = (ADOPT, PUT_ASIDE)


class Difference(NamedTuple):
    """A partition whose directory has another topic id than the metadata log."""

    topic: str
    partition: int
    stored: bytes
    known: bytes

    def told(self) -> str:
        """Describe it in one line."""
        return (
            f"{self.topic}-{self.partition}: topic id {format_uuid(self.stored)}, in the metadata"
            f" log {format_uuid(self.known)}"
        )


def differences(data_dir: Path) -> Iterator[Difference]:
    """Find the partitions that would be offline.

    Raises:
        KafkaStorageError: the metadata log cannot be read.
        OSError: a directory cannot be read.
    """
    image = read_metadata(data_dir)
    for directory in sorted(data_dir.iterdir()) if image is not None else ():
        key = parse_partition_directory(directory.name)
        topic = image.topics.get(key[0]) if image is not None and key is not None else None
        if key is None or topic is None or not directory.is_dir():
            continue
        stored = stored_topic_id(str(directory))
        if stored is not None and stored != topic.topic_id:
            yield Difference(*key, stored, topic.topic_id)


def settle(data_dir: Path, choice: str) -> list[str]:
    """Give directories the ids of the metadata log, or set them aside.

    Args:
        data_dir: locked.
        choice: one of CHOICES.

    Returns:
        Lines about what was done.

    Raises:
        KafkaStorageError: something cannot be read, written or renamed.
        OSError: a directory cannot be read.
    """
    told = []
    for one in list(differences(data_dir)):
        if choice == ADOPT:
            make_directory(str(data_dir / f"{one.topic}-{one.partition}"), one.known)
            told.append(f"{one.told()}; changed to that of the metadata log")
        else:
            aside = set_aside(data_dir, one.topic, one.partition, STRAY_DIRECTORY_SUFFIX)
            told.append(f"{one.told()}; put aside as {Path(aside).name}")
    return told
