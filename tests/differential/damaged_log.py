"""A small partition with a bit of everything, and the ways in which its files can be damaged."""

import random
import shutil
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final, NamedTuple

from broker_lite.log.config import LogConfig
from broker_lite.log.files.file_cache import FileCache
from broker_lite.log.log import Log
from broker_lite.log.recovery.loading import LoadRequest, load_log
from broker_lite.record.builder import BatchBuilder
from broker_lite.record.control import EndTransactionMarker

INDEX_INTERVAL_BYTES: Final = 150
INDEX_BYTES_MAX: Final = 4096
SEGMENT_BYTES: Final = 900
CONFIG: Final = LogConfig(
    segment_bytes=SEGMENT_BYTES,
    index_interval_bytes=INDEX_INTERVAL_BYTES,
    segment_index_bytes=INDEX_BYTES_MAX,
    segment_ms=1 << 62,
)
CODECS: Final = 5
_PLAIN, _IDEMPOTENT, _COMMITTING, _ABORTING, _OPEN = range(5)

Files = Mapping[str, bytes]


class Sample(NamedTuple):
    """The files of a partition that was stopped cleanly, and what a checkpoint would say of it."""

    files: Files
    bases: list[int]
    end_offset: int


class Damage(NamedTuple):
    """One change of one file; a mask of 0 cuts the file at the position.

    A position of -1 removes the file, one behind its end appends bytes.
    """

    name: str
    position: int
    mask: int = 0
    tail: bytes = b""

    def text(self) -> str:
        """Say what it is."""
        what = f"^{self.mask:02x}" if self.mask else f"+{len(self.tail)}" if self.tail else "cut"
        return f"{self.name}@{self.position}{what}"

    def apply(self, files: Files) -> dict[str, bytes]:
        """Give the files as they are with the damage."""
        changed = dict(files)
        content = changed.pop(self.name)
        if self.mask:
            data = bytearray(content)
            data[self.position] ^= self.mask
            content = bytes(data)
        elif self.position >= 0:
            content = content[: self.position] + self.tail
        else:
            return changed
        changed[self.name] = content
        return changed


def make_sample(directory: Path, seed: int, rounds: int = 14) -> Sample:
    """Write a partition with the broker's own code, and stop it cleanly.

    It has several segments, all codecs, two leader epochs, a plain and an idempotent producer, and
    transactions that were committed, aborted and left open.
    """
    directory.mkdir(parents=True)
    source = random.Random(seed)
    now_ms = int(time.time() * 1000)
    log = load_log(LoadRequest("sample", 0, str(directory), CONFIG), FileCache(), now_ms=now_ms)
    log.become_leader(1)
    sequences: dict[int, int] = {}
    for number in range(rounds):
        if number == rounds // 2:
            log.become_leader(3)
        _write_round(log, source, sequences, number, now_ms)
    _append(log, _OPEN, sequences, 0, now_ms, 1)
    log.close()
    log.flush()
    files = {path.name: path.read_bytes() for path in sorted(directory.iterdir())}
    bases = [segment.base_offset for segment in log.segments.all]
    shutil.rmtree(directory)
    return Sample(files, bases, log.log_end_offset)


def _write_round(
    log: Log, source: random.Random, sequences: dict[int, int], number: int, now_ms: int
) -> None:
    moment = now_ms + number * 10
    for producer in source.sample((_PLAIN, _IDEMPOTENT, _COMMITTING, _ABORTING), 2):
        _append(log, producer, sequences, number % CODECS, moment, source.randint(1, 3))
        if producer >= _COMMITTING:
            marker = EndTransactionMarker(producer == _COMMITTING, 4)
            log.append_control(1000 + producer, 0, marker, now_ms=moment)


def _append(
    log: Log, producer: int, sequences: dict[int, int], codec: int, now_ms: int, count: int
) -> None:
    sequence = sequences.get(producer, 0)
    sequences[producer] = sequence + count
    builder = BatchBuilder(
        codec=codec,
        producer_id=1000 + producer if producer else -1,
        producer_epoch=0 if producer else -1,
        base_sequence=sequence if producer else -1,
        is_transactional=producer >= _COMMITTING,
    )
    for index in range(count):
        value = f"{producer}-{sequence + index}".encode() * 3
        builder.append(timestamp=now_ms + index, key=b"k", value=value)
    log.append_batch(builder.build(), now_ms=now_ms)


def every_damage(files: Files, source: random.Random) -> Iterator[Damage]:
    """Each byte with some bits flipped, each file cut at each length, gone, and too long."""
    for name, content in files.items():
        yield Damage(name, -1)
        for tail in (bytes(100), bytes(range(1, 40)), content[:70] or b"\1"):
            yield Damage(name, len(content), tail=tail)
        for position in range(len(content)):
            yield Damage(name, position)
            yield Damage(name, position, source.choice((1 << source.randrange(8), 0xFF)))


def write_files(directory: Path, files: Files) -> None:
    """Make a directory hold these files and no others."""
    shutil.rmtree(directory, ignore_errors=True)
    directory.mkdir(parents=True)
    for name, content in files.items():
        (directory / name).write_bytes(content)
