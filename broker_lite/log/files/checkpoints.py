"""The small text files of a data directory: offset checkpoints, ids, the mark of a clean stop.

The parse and format functions only convert text; they do no I/O. Every such file is written by
replace_file(), so a reader sees the old content or the new one, also after a crash.
"""

import base64
import binascii
import json
import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from broker_lite.log.files.open_file import CREATE, OpenFile, synchronize

VERSION: Final = 0
UUID_BYTES: Final = 16
RECOVERY_POINT_FILE: Final = "recovery-point-offset-checkpoint"
LOG_START_FILE: Final = "log-start-offset-checkpoint"
HIGH_WATERMARK_FILE: Final = "replication-offset-checkpoint"
CLEANER_FILE: Final = "cleaner-offset-checkpoint"
PARTITION_METADATA_FILE: Final = "partition.metadata"
META_PROPERTIES_FILE: Final = "meta.properties"
CLEAN_SHUTDOWN_FILE: Final = ".kafka_cleanshutdown"

_INTEGER: Final = re.compile(r"-?[0-9]{1,19}")


class CorruptCheckpoint(ValueError):
    """A checkpoint or metadata file cannot be read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MetaProperties:
    """The ids of a data directory; directory_id is "" if an old file has none."""

    cluster_id: str
    node_id: int
    directory_id: str


def format_lines(lines: Iterable[str]) -> str:
    """Return the text of a checkpoint of version 0: version, count, one line for each entry.

    Rule: S-70 (CheckpointFile.write).
    See: S-60.
    """
    entries = list(lines)
    return "\n".join((str(VERSION), str(len(entries)), *entries)) + "\n"


def parse_lines(text: str) -> list[str]:
    """Return the lines of the entries of a checkpoint of version 0; none for an empty file.

    Raises:
        CorruptCheckpoint: the version is another one, or the count is wrong.

    Rule: S-70 (CheckpointFile.read).
    See: S-60.
    """
    if not text:
        return []
    lines = text.removesuffix("\n").split("\n")
    if lines[0] != str(VERSION):
        raise CorruptCheckpoint(f"unknown version {lines[0]!r}")
    if len(lines) < 2 or lines[1] != str(len(lines) - 2):
        raise CorruptCheckpoint("the count does not fit the entries")
    return lines[2:]


def parse_integers(line: str, words: list[str], count: int) -> list[int]:
    """Parse the words of a checkpoint's line as exactly `count` integers.

    Raises:
        CorruptCheckpoint: the line has another number of words, or a word is not an int64.
    """
    if len(words) != count or not all(_INTEGER.fullmatch(word) for word in words):
        raise CorruptCheckpoint(f"malformed line {line!r}")
    numbers = [int(word) for word in words]
    if any(not -(1 << 63) <= number < 1 << 63 for number in numbers):
        raise CorruptCheckpoint(f"malformed line {line!r}")
    return numbers


def format_offsets(offsets: Mapping[tuple[str, int], int]) -> str:
    """Return the text of an offset checkpoint, from the offsets by (topic, partition).

    Rule: S-70 (OffsetCheckpointFile).
    """
    return format_lines(
        f"{topic} {partition} {offset}" for (topic, partition), offset in offsets.items()
    )


def parse_offsets(text: str) -> dict[tuple[str, int], int]:
    """Parse an offset checkpoint; if a partition has two lines, the last one counts.

    Raises:
        CorruptCheckpoint: the text is malformed.

    Rule: S-70 (OffsetCheckpointFile).
    """
    offsets: dict[tuple[str, int], int] = {}
    for line in parse_lines(text):
        topic, *words = line.split(" ")
        partition, offset = parse_integers(line, words, 2)
        offsets[topic, partition] = offset
    return offsets


def format_partition_metadata(topic_id: bytes) -> str:
    """Return the text of partition.metadata, without a newline at its end.

    Rule: S-75 (PartitionMetadataFile).
    """
    return f"version: {VERSION}\ntopic_id: {format_uuid(topic_id)}"


def parse_partition_metadata(text: str) -> bytes:
    """Parse the topic id of partition.metadata.

    Raises:
        CorruptCheckpoint: the version is another one, a field is missing, or the id is zero.

    Rule: S-75 (PartitionMetadataFile).
    """
    fields = dict(line.split(": ", 1) for line in text.splitlines() if ": " in line)
    if fields.get("version") != str(VERSION):
        raise CorruptCheckpoint("partition.metadata: no known version")
    topic_id = parse_uuid(fields.get("topic_id", ""))
    if not any(topic_id):
        raise CorruptCheckpoint("partition.metadata: the topic id is zero")
    return topic_id


def format_uuid(value: bytes) -> str:
    """Return 16 bytes as Kafka prints an id: base64url, 22 characters."""
    return base64.urlsafe_b64encode(value).decode("ascii").rstrip("=")


def parse_uuid(text: str) -> bytes:
    """Parse an id as Kafka prints it.

    Raises:
        CorruptCheckpoint: the text is not 16 bytes as base64url.
    """
    try:
        value = base64.b64decode(text + "==", altchars=b"-_", validate=True)
    except (binascii.Error, ValueError):
        value = b""
    if len(value) != UUID_BYTES:
        raise CorruptCheckpoint(f"not an id: {text!r}")
    return value


def format_meta_properties(meta: MetaProperties) -> str:
    """Return the text of meta.properties, version 1.

    Rule: S-76 (MetaProperties).
    """
    return (
        f"#\nnode.id={meta.node_id}\ndirectory.id={meta.directory_id}\n"
        f"version=1\ncluster.id={meta.cluster_id}\n"
    )


def parse_meta_properties(text: str) -> MetaProperties:
    """Parse meta.properties of version 0 or 1.

    Raises:
        CorruptCheckpoint: the version is another one, or there is no node id.

    Rule: S-76 (MetaProperties).
    """
    fields = dict(_properties(text))
    version = fields.get("version", "0")
    if version not in {"0", "1"}:
        raise CorruptCheckpoint(f"meta.properties: unknown version {version!r}")
    node_id = fields.get("node.id" if version == "1" else "broker.id", "")
    if not _INTEGER.fullmatch(node_id):
        raise CorruptCheckpoint("meta.properties: no node id")
    return MetaProperties(
        cluster_id=fields.get("cluster.id", ""),
        node_id=int(node_id),
        directory_id=fields.get("directory.id", ""),
    )


def _properties(text: str) -> Iterable[tuple[str, str]]:
    for line in text.splitlines():
        stripped = line.strip()
        if stripped and stripped[0] not in "#!":
            key, _, value = stripped.partition("=")
            # Java's writer of properties puts a backslash before "=", ":" and some others.
            yield key.strip().replace("\\", ""), value.strip().replace("\\", "")


def format_clean_shutdown(broker_epoch: int) -> str:
    """Return the text of .kafka_cleanshutdown.

    Rule: S-77 (CleanShutdownFileHandler).
    """
    return json.dumps({"version": 0, "brokerEpoch": broker_epoch}, separators=(",", ":"))


def parse_clean_shutdown(text: str | None) -> None:
    """Check that a clean stop wrote .kafka_cleanshutdown; before Kafka 3.7 the file was empty.

    Raises:
        CorruptCheckpoint: the file holds something else.

    Rule: S-77 (CleanShutdownFileHandler).
    """
    try:
        mark = json.loads(text) if text else None
    except ValueError:
        mark = text
    if mark is not None and not (isinstance(mark, dict) and "brokerEpoch" in mark):
        raise CorruptCheckpoint("it names no broker epoch")


def read_file(path: Path) -> str | None:
    """Read a text file; return None if it does not exist.

    Raises:
        CorruptCheckpoint: the file is not UTF-8.
        OSError: the file cannot be read.
    """
    try:
        return path.read_bytes().decode("utf-8")
    except FileNotFoundError:
        return None
    except UnicodeDecodeError as error:
        raise CorruptCheckpoint(f"{path.name} is not text") from error


def stored_offsets(path: Path, *, is_due: bool = False) -> dict[tuple[str, int], int]:
    """Read an offset checkpoint; a missing file has no entries.

    An empty file is an error, because no broker writes one. Kafka reads it as a file without
    entries.

    Args:
        path: the file.
        is_due: the file must exist.

    Raises:
        CorruptCheckpoint: the file is malformed, empty, or missing though it must exist.
        OSError: the file cannot be read.

    See: S-70.
    """
    text = read_file(path)
    if not text and (is_due or text is not None):
        raise CorruptCheckpoint("it is missing" if text is None else "it is empty")
    return parse_offsets(text or "")


def replace_file(path: Path, text: str) -> None:
    """Replace a file's content; even after a crash the file has its old or its new content.

    Raises:
        OSError: the file has its old content; a file "<name>.tmp" may remain.

    Rule: S-70 (CheckpointFile.write).
    """
    temporary = f"{path}.tmp"
    file = OpenFile(temporary, CREATE)
    file.write(text.encode("utf-8"), 0)
    file.sync()
    os.replace(temporary, path)
    sync_directory(path.parent)


def sync_directory(path: Path) -> None:
    """Make the names of the files in a directory durable.

    Raises:
        OSError: the directory cannot be opened or synced.
    """
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        synchronize(descriptor, os.fsync)
    finally:
        os.close(descriptor)
