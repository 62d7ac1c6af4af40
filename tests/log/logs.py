"""Logs on disk for tests: appends as a client makes them, and what is in a directory afterwards."""

import json
import os
import resource
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from broker_lite.log.config import LogConfig
from broker_lite.log.files.file_cache import FileCache
from broker_lite.log.log import AppendInfo, Log
from broker_lite.log.read import LogRead
from broker_lite.log.recovery.loading import LoadRequest, load_log
from broker_lite.log.validate.validated import ValidatedRecords
from broker_lite.record.batch import RecordBatch
from broker_lite.record.builder import BatchBuilder
from broker_lite.record.control import EndTransactionMarker

NOW_MS = 1795258182114
T0 = 1700000000000
FOREVER_MS = 1 << 62
STEM = "00000000000000000000"


def vector(name: str) -> bytes:
    """First hex block of a vector of files.json."""
    path = Path(__file__).parents[1] / "vectors" / "files.json"
    found = [v for v in json.loads(path.read_text())["vectors"] if v["id"] == name]
    return bytes.fromhex(found[0]["hex"][-1])


@contextmanager
def descriptors_left(count: int) -> Iterator[None]:
    """Let this process open ``count`` descriptors more than it has now."""
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    highest = max(int(name) for name in os.listdir("/dev/fd"))
    resource.setrlimit(resource.RLIMIT_NOFILE, (highest + count, limits[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, limits)


def validated(data: bytes) -> ValidatedRecords:
    view = memoryview(bytearray(data))
    batch = RecordBatch(view, 0, len(view))
    return ValidatedRecords(view, batch, batch.record_count, batch.max_timestamp, -1)


def batch_bytes(
    *timestamps: int,
    producer: tuple[int, int, int] = (-1, -1, -1),
    transactional: bool = False,
    value: bytes = b"v",
    codec: int = 0,
) -> bytes:
    producer_id, epoch, sequence = producer
    builder = BatchBuilder(
        codec=codec,
        producer_id=producer_id,
        producer_epoch=epoch,
        base_sequence=sequence,
        is_transactional=transactional,
    )
    for timestamp in timestamps or (T0,):
        builder.append(timestamp=timestamp, key=b"k", value=value)
    return builder.build()


def append(log: Log, *timestamps: int, now_ms: int = NOW_MS, **fields: object) -> AppendInfo:
    return log.append(validated(batch_bytes(*timestamps, **fields)), now_ms=now_ms)  # type: ignore[arg-type]


def end_transaction(log: Log, producer_id: int, *, commit: bool, now_ms: int = NOW_MS) -> int:
    return log.append_control(producer_id, 0, EndTransactionMarker(commit, 4), now_ms=now_ms)


def open_log(
    directory: Path,
    config: LogConfig | None = None,
    *,
    clean: bool = True,
    recovery_point: int = 0,
    log_start_offset: int | None = None,
    cache: FileCache | None = None,
    now_ms: int = NOW_MS,
) -> Log:
    directory.mkdir(exist_ok=True)
    request = LoadRequest(
        "topic",
        0,
        str(directory),
        config if config is not None else LogConfig(segment_ms=FOREVER_MS),
        recovery_point,
        log_start_offset,
        clean,
    )
    log = load_log(request, cache if cache is not None else FileCache(), now_ms=now_ms)
    log.become_leader(0)
    return log


def files(directory: Path) -> dict[str, bytes]:
    return {name: (directory / name).read_bytes() for name in sorted(os.listdir(directory))}


def segment_bases(directory: Path) -> list[int]:
    return [int(path.stem) for path in sorted(directory.glob("*.log"))]


def content(read: LogRead) -> bytes:
    part = read.slice
    return b"" if part is None else os.pread(part.fd, part.size_bytes, part.position)


def batches_of(data: bytes) -> list[bytes]:
    """Split the content of a .log file."""
    found, position = [], 0
    while position < len(data):
        size_bytes = 12 + int.from_bytes(data[position + 8 : position + 12], "big")
        found.append(data[position : position + size_bytes])
        position += size_bytes
    return found


def in_the_way(path: Path, away: Path) -> None:
    """Let a file not be opened, otherwise than because it is gone."""
    path.rename(away)
    path.mkdir()


def put_back(path: Path, away: Path) -> None:
    path.rmdir()
    away.rename(path)
