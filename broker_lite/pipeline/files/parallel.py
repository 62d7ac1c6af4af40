"""Reads and listings that wait for storage, many at a time."""

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import Final, TypeVar

from broker_lite.pipeline.files.file_io import FileIO, LocalFileIO

# pyarrow opens 25 connections to S3.
_REMOTE_READERS: Final = 25

_Item = TypeVar("_Item")
_Result = TypeVar("_Result")


def in_parallel(
    io: FileIO, function: Callable[[_Item], _Result], items: Iterable[_Item]
) -> list[_Result]:
    """Map a function that reads files; in threads for remote storage, where reads wait."""
    if isinstance(io, LocalFileIO):
        return [function(item) for item in items]
    with ThreadPoolExecutor(_REMOTE_READERS) as pool:
        return list(pool.map(function, items))
