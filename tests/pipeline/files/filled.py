"""A log of small batches, with the place of each."""

from pathlib import Path

from broker_lite.pipeline.files.file_io import LocalFileIO
from broker_lite.pipeline.files.layout import PartitionLog, find_partitions
from tests.pipeline.support import Partition, numbered

IO = LocalFileIO()
BATCH_RECORDS = 5


def log_of(root: Path) -> PartitionLog:
    return find_partitions(IO, str(root))["topic", 0]


def fill(
    root: Path, *, batches: int = 40, segment_bytes: int = 3_000
) -> list[tuple[int, int, int]]:
    """Write batches of five records; (segment, position, base offset) of each comes back."""
    with Partition(root, segment_bytes=segment_bytes, index_interval_bytes=600) as partition:
        for index in range(batches):
            partition.append(numbered(BATCH_RECORDS, first=index * BATCH_RECORDS))
    places = []
    for number, segment in enumerate(log_of(root).segments):
        data = Path(segment.log_path).read_bytes()
        position = 0
        while position < len(data):
            base_offset = int.from_bytes(data[position : position + 8], "big")
            places.append((number, position, base_offset))
            position += 12 + int.from_bytes(data[position + 8 : position + 12], "big")
    return places
