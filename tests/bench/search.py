"""How fast `log search` and `log replay` are: python -m tests.bench.search [--mib 1024].

Logs of JSON values with keys and a header, in batches of 16 KB, of which one record is sought: by
key, by header, by text, by a JSON expression, by one that has to decode all values, and by a short
time. GB/s are those of the files, from the page cache, by the wall and by CPU time of all
processes. Then records are replayed into a broker-lite, at the highest rate and at a fixed one.

Measured on a shared 2-core x86-64 machine, CPython 3.11, at load 5, on 512 MiB. The start of Python
is in the figures; zstd is 3.5 times larger when it is decompressed.

| sought | none, GB/s by CPU | zstd |
| --- | --- | --- |
| key, text | 0.6 | 0.16 |
| 100 keys | 0.30 | 0.09 |
| JSON, a text | 0.36 | 0.11 |
| JSON, a number: every value is decoded | 0.03 | 0.01 |
| a second of time | 3.3 MB of 537 read | 1.2 MB |

Replay: 371,000 records of 180 bytes in 6.7 s at the highest rate, 6.2 s with transactions; 10,000/s
at most 27 ms late.
"""

import argparse
import random
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Final, NamedTuple

from broker_lite.record import implementations
from broker_lite.record.batch import ATTRIBUTES_OFFSET
from broker_lite.record.builder import BatchBuilder
from broker_lite.record.codecs.compression import Codec
from broker_lite.record.crc import crc32c
from tests.pipeline.support import T0, NewRecord, Partition
from tests.support.broker_process import BrokerProcess
from tests.support.command_line import environment, process_of

BATCH_BYTES: Final = 16_000
TEMPLATES: Final = 64
BATCH_MS: Final = 10
SEGMENT_BYTES: Final = 256 << 20
CODECS: Final = (Codec.NONE, Codec.ZSTD, Codec.LZ4)
SEARCHES: Final[dict[str, Sequence[str]]] = {
    "key": ("--key", "needle-key"),
    "100 keys": (
        *(word for each in range(100) for word in ("--key", f"x{each}")),
        "--key=needle-key",
    ),
    "header": ("--header", "trace=needle-trace"),
    "text": ("--text", "needle-text"),
    "JSON, a text": ("--json", "customer.id == 'needle-text'"),
    "JSON, a number": ("--json", "total == `-1`"),
    "time, 1 s": ("--from", str(T0 + 10_000), "--until", str(T0 + 11_000), "--lateness", "1s"),
}
# About 100,000 records at the fixed rate.
_TEN_SECONDS: Final = ("--until", str(T0 + 15_000), "--lateness", "0")
REPLAYS: Final[Sequence[Sequence[str]]] = (
    ("--rate", "max"),
    ("--rate", "max", "--id", "bench"),
    ("--rate", "10000/s", *_TEN_SECONDS),
    ("--rate", "10000/s", "--id", "bench", *_TEN_SECONDS),
)


class Spent(NamedTuple):
    """What a command took, and the last line it wrote to standard error."""

    wall_s: float
    cpu_s: float
    told: str


def run(*words: str) -> Spent:
    begun, before = time.monotonic(), resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(
        process_of(words), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, env=environment()
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu_s = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return Spent(time.monotonic() - begun, cpu_s, done.stderr.decode().splitlines()[-1])


def write(root: Path, codec: Codec, size_bytes: int) -> int:
    """Write a log of a size, with times that rise; return the number of records."""
    digits = random.Random(7)
    templates = [_template(digits, codec) for _ in range(TEMPLATES)]
    count = 0
    with Partition(root, "orders", segment_bytes=SEGMENT_BYTES) as partition:
        number = written_bytes = 0
        while written_bytes < size_bytes:
            data, records = templates[number % TEMPLATES]
            partition.log.append_batch(_at_time(data, T0 + number * BATCH_MS), now_ms=T0)
            number, written_bytes, count = number + 1, written_bytes + len(data), count + records
        needle = b'{"customer": {"id": "needle-text"}, "total": -1}'
        record = NewRecord(
            b"needle-key", needle, ((b"trace", b"needle-trace"),), T0 + number * BATCH_MS
        )
        partition.append([record], codec=codec)
    return count + 1


def _template(digits: random.Random, codec: Codec) -> tuple[bytes, int]:
    builder = BatchBuilder(codec=codec)
    while builder.uncompressed_size_bytes < BATCH_BYTES:
        value = b'{"customer": {"id": "c%d", "city": "%s"}, "total": %d, "note": "%s"}' % (
            digits.randrange(10**6),
            digits.choice((b"Oslo", b"Lima", b"Rome")),
            digits.randrange(10**4),
            digits.randbytes(32).hex().encode(),
        )
        key = b"k%09d" % digits.randrange(10**9)
        builder.append(T0, key, value, ((b"trace", digits.randbytes(8).hex().encode()),))
    return builder.build(), builder.record_count


def _at_time(template: bytes, timestamp_ms: int) -> bytearray:
    data = bytearray(template)
    data[27:43] = timestamp_ms.to_bytes(8, "big") * 2  # base and max timestamp
    data[17:21] = crc32c(memoryview(data)[ATTRIBUTES_OFFSET:]).to_bytes(4, "big")
    return data


def search(root: Path, rounds: int) -> None:
    size_bytes = sum(path.stat().st_size for path in root.rglob("*.log"))
    for name, flags in SEARCHES.items():
        best = min(run("log", "search", str(root), *flags) for _ in range(rounds))
        print(
            f"  {name:15} {size_bytes / best.wall_s / 1e9:6.2f} GB/s by the wall,"
            f" {size_bytes / best.cpu_s / 1e9:6.2f} by CPU, {best.wall_s:6.2f} s: {best.told}"
        )


def replay(root: Path, directory: Path) -> None:
    for number, flags in enumerate(REPLAYS):
        with BrokerProcess(directory / f"data-{number}") as broker:
            spent = run("log", "replay", str(root), "--to", broker.bootstrap, *flags)
        name = " ".join(flags[1:4])
        print(f"  {name:20} {spent.wall_s:6.1f} s, {spent.cpu_s:6.1f} s of CPU: {spent.told}")


def main() -> None:
    """Write, search and replay."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--mib", type=int, default=1024, help="size of the files of a log")
    parser.add_argument("--replay-mib", type=int, default=64)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    print(implementations(), flush=True)
    with tempfile.TemporaryDirectory() as name:
        directory = Path(name)
        for codec in CODECS:
            root = directory / codec.name.lower()
            records = write(root, codec, options.mib << 20)
            print(f"{codec.name.lower()}: {records} records", flush=True)
            search(root, options.rounds)
        records = write(directory / "replayed", Codec.NONE, options.replay_mib << 20)
        print(f"replay of {records} records", flush=True)
        replay(directory / "replayed", directory)


if __name__ == "__main__":
    sys.exit(main())
