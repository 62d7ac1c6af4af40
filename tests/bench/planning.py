"""How long it takes to plan a read of many segments.

    python -m tests.bench.planning [--segments 10000] [--partitions 1] [--segment-mb 100]

Segments are sparse files: a batch lies wherever the index has an entry, zeros in between. The best
of three rounds counts, from the page cache. The bar is 2 s for 10,000 segments. Measured on a
shared 2-core x86-64 machine at load 5: 15,625 splits of 64 MB in 0.9 to 1.1 s, 0.5 s of it CPU.
"""

import argparse
import os
import struct
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from broker_lite.log.files.names import segment_stem
from broker_lite.pipeline.files.open_file_io import open_file_io
from broker_lite.pipeline.read.options import ReadOptions
from broker_lite.pipeline.read.plan import plan
from broker_lite.record.batch import RecordBatch
from broker_lite.record.builder import BatchBuilder

ROUNDS = 3
ENTRIES = 4
SEGMENT_RECORDS = 1_000
T0 = 1_700_000_000_000
PLANS = {
    "one split a partition": {"maxSplitBytes": "1t"},
    "splits of 64 MB": {},
    "batches of 64 MB": {"view": "batches"},
    "100 offsets a split at most, last 100 segments": {"maxRecordsPerPartition": "100"},
    "from a timestamp in the last segment": {"startingTimestamp": ""},
}


def write_partition(directory: Path, segments: int, segment_bytes: int) -> None:
    """Write sparse segments, each with a batch at the start and at each entry of its index."""
    builder = BatchBuilder()
    builder.append(T0, b"key", b"value" * 20)
    batch = bytearray(builder.build())
    view = RecordBatch(memoryview(batch), 0, len(batch))
    directory.mkdir()
    for number in range(segments):
        base_offset = number * SEGMENT_RECORDS
        stem = segment_stem(str(directory), base_offset)
        view.set_max_timestamp(True, T0 + number)
        entries = []
        with open(stem + ".log", "wb") as file:
            for part in range(ENTRIES + 1):
                relative = part * SEGMENT_RECORDS // (ENTRIES + 1)
                position = part * segment_bytes // (ENTRIES + 1)
                view.set_last_offset(base_offset + relative)
                os.pwrite(file.fileno(), batch, position)
                entries.append(struct.pack(">ii", relative, position))
            file.truncate(segment_bytes)
        Path(stem + ".index").write_bytes(b"".join(entries[1:]))
        Path(stem + ".timeindex").write_bytes(struct.pack(">qi", T0 + number, 0))


def seconds_of(function: Callable[[], object]) -> tuple[float, float]:
    """Wall and CPU time, each the best of some rounds."""
    walls, cpus = [], []
    for _ in range(ROUNDS):
        wall, cpu = time.perf_counter(), time.process_time()
        function()
        walls.append(time.perf_counter() - wall)
        cpus.append(time.process_time() - cpu)
    return min(walls), min(cpus)


def options_of(root: str, name: str, segments: int, partitions: int) -> ReadOptions:
    """The options of a plan; some are about the last segments only."""
    given = {"path": root, **PLANS[name]}
    if "startingTimestamp" in given:
        given["startingTimestamp"] = str(T0 + segments - 1)
    if "maxRecordsPerPartition" in given:
        first = max(segments - 100, 0) * SEGMENT_RECORDS
        starts = ", ".join(f'"{number}": {first}' for number in range(partitions))
        given["startingOffsets"] = f'{{"bench": {{{starts}}}}}'
    return ReadOptions.parse(given)


def main() -> int:
    """Print a line a plan."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--segments", type=int, default=10_000)
    parser.add_argument("--partitions", type=int, default=1)
    parser.add_argument("--segment-mb", type=int, default=100)
    arguments = parser.parse_args()
    each = arguments.segments // arguments.partitions
    with tempfile.TemporaryDirectory() as directory:
        for partition in range(arguments.partitions):
            write_partition(
                Path(directory) / f"bench-{partition}", each, arguments.segment_mb << 20
            )
        io, root = open_file_io(directory)
        for name in PLANS:
            options = options_of(root, name, each, arguments.partitions)
            wall, cpu = seconds_of(lambda options=options: plan(io, root, options))
            count = len(plan(io, root, options))
            print(f"{name:50} {count:7} splits {wall:6.2f} s, {cpu:6.2f} s of CPU")
    return 0


if __name__ == "__main__":
    sys.exit(main())
