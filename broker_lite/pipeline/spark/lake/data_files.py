"""The Parquet files that Spark wrote for one commit, found by listing their folder.

Each export writes into a folder of its own. What a driver that is killed leaves there is in no
commit, so nobody reads it.
"""

from collections.abc import Iterator
from contextlib import suppress
from typing import Any, Final, NamedTuple

import pyarrow.parquet as pq
from pyarrow import fs

TOPIC_FOLDER: Final = "by_topic"
DAY_FOLDER: Final = "by_day"
"""Spark cuts files by these columns and leaves them out; `topic` itself stays in the files."""

_NULL: Final = "__HIVE_DEFAULT_PARTITION__"


class DataFile(NamedTuple):
    """A file of records of one topic and one day.

    Attributes:
        path: below the data of its table, with slashes.
        day: in UTC, as 2026-01-31; None for records without a timestamp.
        lows: of the columns with statistics, the lowest value; highs: the highest one.
        nulls: of all columns without nested ones, how many values are null.
    """

    path: str
    topic: str
    day: str | None
    size_bytes: int
    record_count: int
    lows: dict[str, Any]
    highs: dict[str, Any]
    nulls: dict[str, int]


def find_data_files(place: str, folder: str) -> list[DataFile]:
    """Read the footers of all files of an export.

    Args:
        place: the data of the table: an absolute path, or a URI that pyarrow knows.
        folder: of the export, below that place.

    Raises:
        OSError: it cannot be read.
    """
    files, root = fs.FileSystem.from_uri(place)
    selector = fs.FileSelector(f"{root}/{folder}", recursive=True, allow_not_found=True)
    return [
        _data_file(files, info, info.path[len(root) :].lstrip("/"))
        for info in files.get_file_info(selector)
        if info.path.endswith(".parquet")
    ]


def remove_data_files(place: str) -> None:
    """Remove the folder of an export that is in no commit."""
    files, root = fs.FileSystem.from_uri(place)
    if files.get_file_info(root).type is not fs.FileType.NotFound:
        files.delete_dir(root)


def _data_file(files: fs.FileSystem, info: fs.FileInfo, path: str) -> DataFile:
    values = dict(part.split("=", 1) for part in path.split("/")[1:-1])
    footer = pq.read_metadata(info.path, filesystem=files)
    lows, highs, nulls = {}, {}, {}
    for name, parts in _statistics(footer).items():
        if all(part is not None for part in parts):
            nulls[name] = sum(part.null_count or 0 for part in parts)
            with_limits = [part for part in parts if part.has_min_max]
            with suppress(OverflowError, ValueError):  # a timestamp that Python has no date for
                lows[name] = min(part.min for part in with_limits)
                highs[name] = max(part.max for part in with_limits)
    return DataFile(
        path,
        values[TOPIC_FOLDER],
        None if values[DAY_FOLDER] == _NULL else values[DAY_FOLDER],
        info.size,
        footer.num_rows,
        lows,
        highs,
        nulls,
    )


def _statistics(footer: pq.FileMetaData) -> dict[str, list[Any]]:
    """Collect the statistics of each plain column, one of each row group."""
    found: dict[str, list[Any]] = {}
    for name, part in _chunks(footer):
        found.setdefault(name, []).append(part.statistics)
    return found


def _chunks(footer: pq.FileMetaData) -> Iterator[tuple[str, Any]]:
    for group in range(footer.num_row_groups):
        for column in range(footer.num_columns):
            part = footer.row_group(group).column(column)
            if "." not in part.path_in_schema:
                yield part.path_in_schema, part
