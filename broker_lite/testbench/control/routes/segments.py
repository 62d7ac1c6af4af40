"""The files of a partition: its segments and their indexes."""

import os
from contextlib import suppress
from pathlib import Path
from typing import Final

import msgspec
from anyio import to_thread

from broker_lite.testbench.control.resource import Call, Resource
from broker_lite.testbench.control.routes.topics import find_topic
from broker_lite.testbench.errors import ControlError

_NOT_FOUND: Final = 404


class FileView(msgspec.Struct, kw_only=True):
    """A file of the log.

    Attributes:
        name: in the partition's directory.
        size_bytes: of it; an index is as large as it may become while it is written.
    """

    name: str
    size_bytes: int


class SegmentView(msgspec.Struct, kw_only=True):
    """A segment.

    Attributes:
        base_offset: of it.
        size_bytes: of its records.
        is_active: whether records are appended to it.
        files: all files that are named after it.
    """

    base_offset: int
    size_bytes: int
    is_active: bool
    files: list[FileView]


class SegmentsView(msgspec.Struct, kw_only=True):
    """What a partition consists of on the disk.

    Attributes:
        directory: of its files.
        segments: in the order of their offsets.
        others: files that belong to no segment.
    """

    directory: str
    segments: list[SegmentView]
    others: list[FileView]


async def list_segments(call: Call) -> SegmentsView:
    """Tell the segments of a partition and their files; `broker-lite log dump` reads them."""
    life, name, index = call.bench.life, call.path["topic"], call.number("partition")
    if index >= find_topic(life, name).partition_count:
        raise ControlError(_NOT_FOUND, f"topic {name} has no partition {index}")
    log = life.cluster.log(name, index)
    views = {
        f"{each.base_offset:020d}": SegmentView(
            base_offset=each.base_offset,
            size_bytes=each.size_bytes,
            is_active=each is log.segments.active,
            files=[],
        )
        for each in log.segments.all
    }
    return await to_thread.run_sync(_with_files, log.directory, views)


def _with_files(directory: str, views: dict[str, SegmentView]) -> SegmentsView:
    """Add the files of a directory to the segments that they are named after."""
    told = SegmentsView(directory=Path(directory).name, segments=[*views.values()], others=[])
    for entry in sorted(os.scandir(directory), key=lambda each: each.name):
        segment = views.get(entry.name.partition(".")[0])
        files = told.others if segment is None else segment.files
        with suppress(FileNotFoundError):  # it may be removed at the same time
            files.append(FileView(name=entry.name, size_bytes=entry.stat().st_size))
    return told


RESOURCES = (
    Resource("GET", "/v1/topics/{topic}/{partition}/segments", list_segments, answer=SegmentsView),
)
