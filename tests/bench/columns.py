"""How fast segments become Arrow columns, in CPU time: python -m tests.bench.columns.

Of each data set, best of some rounds: the compiled walk over batches in memory, with all columns;
the record view of its file, with all columns and with two; the batch view, which looks at every
checksum. Batches of 16 KB, keys of 10 bytes, values of random hexadecimal digits; the file is in
the page cache.

Measured on one core of a shared 2-core x86-64 machine, CPython 3.11, gcc 12 -O3, at load 8:

| | in memory, M records/s | all columns | offset, timestamp | batch view, GB/s |
| --- | --- | --- | --- | --- |
| 100 B, none | 15.3 | 10.3 | 13.3 | 3.6 |
| 1 KB, none | 2.8 | 1.9 | 2.4 | 3.3 |
| 100 B, lz4 | 8.3 | 6.9 | 8.8 | 3.6 |
| 100 B, zstd | 4.1 | 3.9 | 4.3 | 2.5 |
"""

import argparse
import random
import resource
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from broker_lite.pipeline.files.file_io import LocalFileIO
from broker_lite.pipeline.read.batches import read_batches
from broker_lite.pipeline.read.corruption import raise_corruption
from broker_lite.pipeline.read.measured import measure_batch
from broker_lite.pipeline.read.options import ReadOptions
from broker_lite.pipeline.read.split import Split
from broker_lite.pipeline.views.batch_view import batch_rows
from broker_lite.pipeline.views.record_columns import ColumnGatherer
from broker_lite.pipeline.views.record_schema import record_schema
from broker_lite.pipeline.views.record_view import record_batches
from broker_lite.record import implementations
from broker_lite.record.batch import RecordBatch
from broker_lite.record.builder import BatchBuilder
from broker_lite.record.codecs.compression import Codec
from tests.pipeline.support import T0, whole_split, write_segment

ROUNDS = 5
BATCH_BYTES = 16_000
TEMPLATES = 64
MEMORY_BATCHES = 256  # 4 MB, the size of an Arrow batch
EVERY_OFFSET = 0, 1 << 62

IO = LocalFileIO()


class DataSet(NamedTuple):
    """What is written: one size of values, one codec."""

    name: str
    value_bytes: int
    codec: Codec


DATA_SETS = (
    DataSet("100 B, none", 100, Codec.NONE),
    DataSet("1 KB, none", 1000, Codec.NONE),
    DataSet("100 B, lz4", 100, Codec.LZ4),
    DataSet("100 B, zstd", 100, Codec.ZSTD),
)


def write(root: Path, data_set: DataSet, size_bytes: int) -> Split:
    """Write a partition of one segment, from some batches over and over with rising offsets."""
    digits = random.Random(7)
    count = BATCH_BYTES // data_set.value_bytes
    templates = []
    for _ in range(TEMPLATES):
        builder = BatchBuilder(codec=data_set.codec)
        for index in range(count):
            key = b"k%09d" % digits.randrange(10**9)
            builder.append(
                T0 + index, key, digits.randbytes(data_set.value_bytes // 2).hex().encode()
            )
        templates.append(bytearray(builder.build()))
    data, offset = bytearray(), 0
    while len(data) < size_bytes:
        template = templates[offset // count % TEMPLATES]
        template[:8] = offset.to_bytes(8, "big")
        data += template
        offset += count
    write_segment(root, bytes(data))
    return whole_split(root)


def best(job: Callable[[], int]) -> tuple[float, int]:
    """Give the least CPU seconds of a job, and what it counted."""
    least = float("inf")
    for _ in range(ROUNDS):
        start = time.process_time()
        count = job()
        least = min(least, time.process_time() - start)
    return least, count


def in_memory(split: Split) -> float:
    """Give M records/s of measuring and gathering alone."""
    found = read_batches(IO, split, check_crc=False, on_corrupt=raise_corruption)
    views = [
        one.batch
        for one, _ in zip(found, range(MEMORY_BATCHES), strict=False)
        if isinstance(one.batch, RecordBatch)
    ]
    gatherer = ColumnGatherer(record_schema(), "topic", 0, *EVERY_OFFSET)

    def job() -> int:
        count = 0
        for batch in views:
            if gatherer.add(measure_batch(batch, *EVERY_OFFSET)):
                count += gatherer.take().num_rows
        return count + (gatherer.take().num_rows if gatherer.records else 0)

    seconds, count = best(job)
    return count / seconds / 1e6


def record_view(split: Split, columns: str | None) -> float:
    """Give M records/s of the record view, checksums included."""
    options = ReadOptions.parse({"path": split.uri} | ({"columns": columns} if columns else {}))
    seconds, count = best(lambda: sum(one.num_rows for one in record_batches(IO, split, options)))
    return count / seconds / 1e6


def batch_view(split: Split) -> float:
    """Give GB/s of stored bytes of the batch view, checksums included."""
    options = ReadOptions.parse({"path": split.uri, "view": "batches"})
    seconds, _ = best(lambda: sum(one.num_rows for one in batch_rows(IO, split, options)))
    return split.size_bytes / seconds / 1e9


def main() -> None:
    """Print a row for each data set."""
    parser = argparse.ArgumentParser(description=__doc__.partition(":")[0])
    parser.add_argument("--size-mb", type=int, default=256, help="of each data set")
    size_bytes = parser.parse_args().size_mb << 20
    sys.stdout.write(f"{implementations()}\n")
    sys.stdout.write("| | in memory, M records/s | all columns | offset, timestamp |")
    sys.stdout.write(" batch view, GB/s |\n| --- | --- | --- | --- | --- |\n")
    for data_set in DATA_SETS:
        with tempfile.TemporaryDirectory() as folder:
            split = write(Path(folder), data_set, size_bytes)
            figures = (
                in_memory(split),
                record_view(split, None),
                record_view(split, "offset,timestamp"),
                batch_view(split),
            )
        cells = " | ".join(f"{figure:.1f}" for figure in figures)
        sys.stdout.write(f"| {data_set.name} | {cells} |\n")
    peak_mb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10
    sys.stdout.write(f"largest resident size: {peak_mb} MB, with writing the files\n")


if __name__ == "__main__":
    main()
