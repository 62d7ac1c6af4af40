"""Logs for streams: what a cleaner and retention do to files while somebody reads them."""

from collections.abc import Callable, Iterable
from itertools import pairwise
from pathlib import Path

from broker_lite.log.files.names import DELETED_SUFFIX
from broker_lite.pipeline.compact.group import rewrite
from broker_lite.pipeline.compact.plan import SEGMENT_BYTES, plan_compaction
from broker_lite.pipeline.compact.round import offline_round
from broker_lite.pipeline.compact.survivors import BUCKET_OFFSETS, OffsetSet
from broker_lite.pipeline.compact.swap import swap
from broker_lite.pipeline.files.file_io import LocalFileIO
from broker_lite.pipeline.files.layout import find_partitions
from broker_lite.pipeline.read.options import ReadOptions
from broker_lite.pipeline.read.transactions import AbortedRanges
from tests.pipeline.support import T0

Step = Callable[[], None]

IO = LocalFileIO()
NO_DELETES: OffsetSet = OffsetSet({})


def stream_options(root: Path, **given: str) -> ReadOptions:
    return ReadOptions.parse({"path": str(root)} | given, is_stream=True)


class SmallReads(LocalFileIO):
    """Local files that are read in pieces of a given size."""

    __slots__ = ("_read_bytes",)

    def __init__(self, read_bytes: int) -> None:
        self._read_bytes = read_bytes

    @property
    def read_bytes(self) -> int:
        return self._read_bytes


class Steps(LocalFileIO):
    """Takes note of renames and removals instead of doing them; a removal is a rename, as Kafka's.

    Attributes:
        steps: one after the other, what was asked for.
    """

    __slots__ = ("steps",)

    def __init__(self) -> None:
        self.steps: list[Step] = []

    def rename(self, old: str, new: str) -> None:  # type: ignore[explicit-override]
        self.steps.append(lambda: IO.rename(old, new))

    def delete(self, path: str) -> None:  # type: ignore[explicit-override]
        self.rename(path, path + DELETED_SUFFIX)

    def sync(self, path: str) -> None:  # type: ignore[explicit-override]
        pass


def compaction(
    root: Path,
    survives: Callable[[int], bool],
    *,
    tag: str = "tag",
    segment_bytes: int = SEGMENT_BYTES,
) -> list[Step]:
    """Rewrite the closed segments of all partitions, and give the steps of the exchange.

    Args:
        root: a log directory.
        survives: tells of an offset whether its record is left.
        tag: what no other compaction has.
        segment_bytes: how large segments may be together that become one.
    """
    io = Steps()
    logs = find_partitions(IO, str(root))
    for group in plan_compaction(IO, logs, segment_bytes=segment_bytes):
        survivors = offset_set(filter(survives, range(group.base_offset, group.end_offset)))
        given = offline_round(
            survivors=survivors,
            emptied_markers=NO_DELETES,
            aborted=AbortedRanges(),
            producers={},
            end_offset=group.round_end,
            now_ms=T0,
            delete_retention_ms=1000,
        )
        swap(io, group, rewrite(IO, str(root), group, given, tag))
    return io.steps


def offset_set(inside: Iterable[int]) -> OffsetSet:
    buckets: dict[int, bytearray] = {}
    for offset in inside:
        number, within = divmod(offset, BUCKET_OFFSETS)
        bits = buckets.setdefault(number, bytearray(BUCKET_OFFSETS // 8))
        bits[within // 8] |= 1 << within % 8
    return OffsetSet({number: bytes(bits) for number, bits in buckets.items()})


def delete_segments_below(directory: Path, offset: int) -> None:
    """Do what retention does: closed segments with nothing at or above an offset are set aside."""
    bases = sorted(int(path.stem) for path in directory.glob("*.log"))
    for base, following in pairwise(bases):
        if following <= offset:
            for path in directory.glob(f"{base:020}.*[!d]"):
                path.rename(f"{path}{DELETED_SUFFIX}")
