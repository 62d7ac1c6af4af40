"""How long it takes to plan a read of many segments.

    python -m tests.bench.planning [--segments 10000] [--partitions 1] [--segment-mb 100]
    python -m tests.bench.planning --simulated --segments 1000000 --partitions 10000

Segments are sparse files: a batch lies wherever the index has an entry, zeros in between. The best
of three rounds counts, from the page cache. The bar is 2 s for 10,000 segments. Measured on a
shared 2-core x86-64 machine at load 5: 15,625 splits of 64 MB in 0.9 to 1.1 s, 0.5 s of it CPU.

With --simulated the files take no disk, and to list a directory or to open a file costs a round
trip of 20 ms, as in an object store. One plan is made, once, with the default options. The bar is
30 s and 2 GB for 1,000,000 segments.
"""

import argparse
import os
import pickle
import resource
import struct
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import cast

from broker_lite.log.files.names import segment_stem
from broker_lite.pipeline.files.file_io import FileIO
from broker_lite.pipeline.files.open_file_io import open_file_io
from broker_lite.pipeline.read.options import ReadOptions
from broker_lite.pipeline.read.plan import plan
from broker_lite.record.batch import RecordBatch
from broker_lite.record.builder import BatchBuilder
from tests.bench.simulated_log import ENTRIES, ROOT, SEGMENT_RECORDS, T0, SimulatedLog

ROUNDS = 3
ROUND_TRIP_S = 0.02
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


def simulate(partitions: int, segments: int, segment_bytes: int) -> None:
    """Plan a read of a log that takes no disk; print a line."""
    log = SimulatedLog(partitions, segments, segment_bytes, ROUND_TRIP_S)
    before_mb = peak_mb()
    wall, cpu = time.perf_counter(), time.process_time()
    splits = plan(cast("FileIO", log), ROOT, ReadOptions.parse({"path": "memory://logs"}))
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    size_bytes = sum(len(pickle.dumps(split)) for split in splits)
    print(
        f"{len(splits)} splits of {splits[0].size_bytes >> 20} MB in {wall:.1f} s, {cpu:.1f} s of"
        f" CPU; {peak_mb() - before_mb} MB more at the peak; {size_bytes >> 20} MB for the tasks"
    )


def peak_mb() -> int:
    """The most memory that this process has had."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10


def main() -> int:
    """Print a line a plan."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--segments", type=int, default=10_000)
    parser.add_argument("--partitions", type=int, default=1)
    parser.add_argument("--segment-mb", type=int, default=100)
    parser.add_argument("--simulated", action="store_true")
    arguments = parser.parse_args()
    each = arguments.segments // arguments.partitions
    if arguments.simulated:
        simulate(arguments.partitions, each, arguments.segment_mb << 20)
        return 0
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
