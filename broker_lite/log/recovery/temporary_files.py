"""Finishes what a crash interrupted: the deletion of files, and the cleaner's replacements.

Rule: S-41 (LogLoader.removeTempFilesAndCollectSwapFiles).
"""

import errno
import os
from contextlib import suppress
from typing import Final

from broker_lite.errors import CorruptMessage
from broker_lite.log.files.names import (
    CLEANED_SUFFIX,
    DELETED_SUFFIX,
    LOG_SUFFIX,
    SWAP_SUFFIX,
    parse_segment_file,
)
from broker_lite.log.files.open_file import OpenFile
from broker_lite.log.files.walk import walk

_TEMPORARY_SUFFIX: Final = ".tmp"


def finish_interrupted_changes(directory: str) -> dict[str, int]:
    """Delete or rename the temporary files of a partition.

    Returns:
        The names of the files that are left, with their sizes.

    Raises:
        OSError: a file cannot be looked at, deleted or renamed.
    """
    names = _sizes(directory)
    if not any(
        name.endswith((DELETED_SUFFIX, CLEANED_SUFFIX, SWAP_SUFFIX, _TEMPORARY_SUFFIX))
        for name in names
    ):
        return names
    _remove(directory, names, (DELETED_SUFFIX, _TEMPORARY_SUFFIX))
    _drop_unfinished_cleaning(directory, names)
    _drop_replaced(directory, names)
    for name in [name for name in names if name.endswith(SWAP_SUFFIX)]:
        plain = name.removesuffix(SWAP_SUFFIX)
        os.replace(f"{directory}/{name}", f"{directory}/{plain}")
        names[plain] = names.pop(name)
    return names


def _sizes(directory: str) -> dict[str, int]:
    """List the files of a directory.

    Raises:
        OSError: a directory, say, has the name of a segment's file, whose records would be missing.
    """
    sizes = {}
    with os.scandir(directory) as entries:
        for entry in entries:
            if entry.is_file():
                with suppress(FileNotFoundError):  # retention removes .deleted files, too
                    sizes[entry.name] = entry.stat().st_size
            elif parse_segment_file(entry.name) is not None:
                reason = errno.EISDIR if entry.is_dir() else errno.ENOENT
                raise OSError(reason, os.strerror(reason), entry.path)
    return sizes


def _remove(directory: str, names: dict[str, int], suffixes: tuple[str, ...]) -> None:
    for name in [name for name in names if name.endswith(suffixes)]:
        with suppress(FileNotFoundError):  # as in _sizes
            os.unlink(f"{directory}/{name}")
        del names[name]


def _drop_unfinished_cleaning(directory: str, names: dict[str, int]) -> None:
    """Rule: S-41 step 2."""
    cleaned = [_offset(name) for name in names if name.endswith(CLEANED_SUFFIX)]
    first = min(cleaned, default=None)
    if first is None:
        return
    for name in [name for name in names if name.endswith(SWAP_SUFFIX)]:
        if _offset(name) >= first:
            os.unlink(f"{directory}/{name}")
            del names[name]
    _remove(directory, names, (CLEANED_SUFFIX,))


def _drop_replaced(directory: str, names: dict[str, int]) -> None:
    """Rule: S-41 step 3."""
    swapped = [name for name in names if name.endswith(LOG_SUFFIX + SWAP_SUFFIX)]
    if not swapped:
        return
    first = min(_offset(name) for name in swapped)
    end = max(_next_offset(f"{directory}/{name}", names[name], _offset(name)) for name in swapped)
    for name in [name for name in names if not name.endswith(SWAP_SUFFIX)]:
        if first <= _offset(name) < end:
            os.unlink(f"{directory}/{name}")
            del names[name]


def _offset(name: str) -> int:
    parsed = parse_segment_file(name)
    return parsed[0] if parsed is not None else -1


def _next_offset(path: str, size_bytes: int, base_offset: int) -> int:
    file, end = OpenFile(path), base_offset
    try:
        for place in walk(file, 0, size_bytes):
            end = place.last_offset + 1
    except CorruptMessage:
        return end
    return end
