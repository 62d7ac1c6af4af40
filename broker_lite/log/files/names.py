"""Names in a data directory: directories of partitions, files of segments.

The directory of a partition is `<topic>-<partition>`. The files of a segment are named by its base
offset in 20 digits, with different extensions (S-02, S-03, S-04).

Rule: S-04.
"""

import re
import uuid
from typing import Final

LOG_SUFFIX: Final = ".log"
INDEX_SUFFIX: Final = ".index"
TIME_INDEX_SUFFIX: Final = ".timeindex"
TRANSACTION_INDEX_SUFFIX: Final = ".txnindex"
SNAPSHOT_SUFFIX: Final = ".snapshot"
DELETED_SUFFIX: Final = ".deleted"
CLEANED_SUFFIX: Final = ".cleaned"
SWAP_SUFFIX: Final = ".swap"
DELETE_DIRECTORY_SUFFIX: Final = "-delete"
STRAY_DIRECTORY_SUFFIX: Final = "-stray"
METADATA_TOPIC: Final = "__cluster_metadata"
DIRECTORY_NAME_MAX: Final = 255

_PARTITION_DIRECTORY: Final = re.compile(r"([a-zA-Z0-9._-]{1,249})-([0-9]{1,10})")
_SET_ASIDE_DIRECTORY: Final = re.compile(r".+-[0-9]+\.[0-9a-f]{32}-(delete|stray|future)")
_SEGMENT_FILE: Final = re.compile(r"([0-9]{20})\.(.+)")


def partition_directory(topic: str, partition: int) -> str:
    """Return the name of a partition's directory.

    Rule: S-02 (UnifiedLog.logDirName).
    """
    return f"{topic}-{partition}"


def parse_partition_directory(name: str) -> tuple[str, int] | None:
    """Parse topic and partition from a directory's name; None for any other directory.

    Rule: S-02 (UnifiedLog.parseTopicPartitionName).
    """
    match = _PARTITION_DIRECTORY.fullmatch(name)
    if match is None or is_set_aside(name):
        return None
    return match[1], int(match[2])


def is_set_aside(name: str) -> bool:
    """Whether a directory was renamed to -delete, -stray or -future.

    Rule: S-02 (LocalLog).
    """
    return _SET_ASIDE_DIRECTORY.fullmatch(name) is not None


def set_aside_directory(topic: str, partition: int, suffix: str) -> str:
    """Return a new name for a partition's directory; a long topic name is cut so that it fits.

    Rule: S-02 (LocalLog.logDirNameWithSuffixCappedLength).
    """
    ending = f"-{partition}.{uuid.uuid4().hex}{suffix}"
    return topic[: DIRECTORY_NAME_MAX - len(ending)] + ending


def segment_stem(directory: str, base_offset: int) -> str:
    """Return the path of a segment's files without extension.

    Rule: S-03 (LogFileUtils.filenamePrefixFromOffset).
    """
    return f"{directory}/{base_offset:020d}"


def parse_segment_file(name: str) -> tuple[int, str] | None:
    """Parse base offset and extension (".log", ".index.swap", ...); None for any other file.

    Rule: S-03 (LogFileUtils.offsetFromFileName).
    """
    match = _SEGMENT_FILE.fullmatch(name)
    return (int(match[1]), "." + match[2]) if match is not None else None
