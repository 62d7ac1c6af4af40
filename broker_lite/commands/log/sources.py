"""Finds the topics in copied directories.

It uses the names and ids of the directories, and the metadata log if there is one.
"""

import secrets
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from broker_lite.commands.log.copies import SourcePartition, SourceTopic, read_offsets
from broker_lite.commands.log.metadata import read_metadata
from broker_lite.control.metadata.image import MetadataImage
from broker_lite.control.metadata.topic import Topic
from broker_lite.control.metadata.topic_names import make_id
from broker_lite.errors import SettingsError
from broker_lite.log.directory.partitions import stored_topic_id
from broker_lite.log.files.checkpoints import (
    LOG_START_FILE,
    META_PROPERTIES_FILE,
    CorruptCheckpoint,
    MetaProperties,
    parse_meta_properties,
    read_file,
)
from broker_lite.log.files.names import (
    METADATA_TOPIC,
    parse_partition_directory,
    parse_segment_file,
)
from broker_lite.security.acls.acl import Acl


class Sources(NamedTuple):
    """The topics that were found.

    Attributes:
        meta: the meta.properties of the first directory that has one.
        next_producer_id: from the metadata log, 0 without one.
        acls: from the metadata logs, with their ids.
    """

    topics: tuple[SourceTopic, ...]
    meta: MetaProperties | None
    next_producer_id: int
    acls: Mapping[Acl, bytes]


class _Found(NamedTuple):
    topic: str
    number: int
    partition: SourcePartition


def find_sources(paths: Iterable[Path], wanted: Callable[[str], bool]) -> Sources:
    """Find topics in directories of partitions and in whole data directories.

    Args:
        paths: directories of both kinds.
        wanted: selects topics.

    Raises:
        SettingsError: there is no partition, one is missing or there twice, or ids differ.
        KafkaStorageError: a metadata log or a checkpoint cannot be read.
        OSError: a directory cannot be read.
    """
    found: dict[str, dict[int, SourcePartition]] = {}
    images: list[MetadataImage] = []
    meta = None
    for path in paths:
        directory = path.absolute()
        meta = meta or read_meta(directory)
        image = read_metadata(directory)
        if image is not None:
            images.append(image)
        for one in _partitions(directory):
            if not wanted(one.topic):
                continue
            numbers = found.setdefault(one.topic, {})
            if one.number in numbers:
                raise SettingsError(f"{one.topic}-{one.number} is there twice")
            numbers[one.number] = one.partition
    if not found:
        raise SettingsError(f"{', '.join(map(str, paths))}: no partition was found")
    topics = tuple(_topic(name, found[name], images) for name in sorted(found))
    next_producer_id = max((image.next_producer_id for image in images), default=0)
    acls = {acl: acl_id for image in images for acl, acl_id in image.acls.ids.items()}
    return Sources(topics, meta, next_producer_id, acls)


def _partitions(directory: Path) -> Iterator[_Found]:
    own = parse_partition_directory(directory.name)
    if own is not None and _has_segments(directory):
        yield _Found(
            *own,
            SourcePartition(directory, read_offsets(directory.parent / LOG_START_FILE).get(own)),
        )
        return
    starts = read_offsets(directory / LOG_START_FILE)
    for path in sorted(directory.iterdir()):
        parsed = parse_partition_directory(path.name) if path.is_dir() else None
        if parsed is not None and parsed[0] != METADATA_TOPIC:
            yield _Found(*parsed, SourcePartition(path, starts.get(parsed)))


def _has_segments(directory: Path) -> bool:
    return any(parse_segment_file(path.name) is not None for path in directory.iterdir())


def _topic(
    name: str, partitions: Mapping[int, SourcePartition], images: Sequence[MetadataImage]
) -> SourceTopic:
    known = next((image.topics[name] for image in images if name in image.topics), None)
    count = known.partition_count if known is not None else max(partitions) + 1
    missing = [str(number) for number in range(count) if number not in partitions]
    if missing:
        raise SettingsError(f"{name} has {count} partitions, missing: {', '.join(missing)}")
    numbers = sorted(partitions)
    if len(numbers) > count:
        raise SettingsError(f"{name} has {count} partitions, but there is a {numbers[-1]}")
    topic_id = _topic_id(name, known, partitions.values())
    overrides = known.overrides if known is not None else {}
    return SourceTopic(name, topic_id, overrides, tuple(partitions[n] for n in numbers))


def _topic_id(name: str, known: Topic | None, partitions: Iterable[SourcePartition]) -> bytes:
    """Return the id from the directories; a new one if they have none, as old ones do."""
    ids = {stored_topic_id(str(partition.directory)) for partition in partitions} - {None}
    if known is not None:
        ids.add(known.topic_id)
    if len(ids) > 1:
        raise SettingsError(f"{name}: its partitions are those of several topics of that name")
    (topic_id,) = ids or {make_id(secrets.token_bytes)}
    assert topic_id is not None, "it was taken out"
    return topic_id


def read_meta(directory: Path) -> MetaProperties | None:
    """Read meta.properties; None if there is none.

    Raises:
        SettingsError: the file is damaged.
    """
    try:
        text = read_file(directory / META_PROPERTIES_FILE)
        return None if text is None else parse_meta_properties(text)
    except CorruptCheckpoint as error:
        raise SettingsError(f"{directory}: {error}") from error
