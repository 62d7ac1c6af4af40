"""What became of a partition's directory when a broker loaded it, by us and by Kafka's own code."""

import os
import struct
import subprocess
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, NamedTuple

from broker_lite.errors import BrokerError
from broker_lite.log.files.file_cache import FileCache
from broker_lite.log.files.index import SegmentIndex
from broker_lite.log.log import Log
from broker_lite.log.producers.snapshot import ENTRY, HEADER
from broker_lite.log.read import read_log
from broker_lite.log.recovery.loading import LoadRequest, load_log
from tests.differential.damaged_log import CONFIG, INDEX_BYTES_MAX, INDEX_INTERVAL_BYTES
from tests.differential.java_program import command_of

_FRAME_MIN: Final = 17
_SIZE_MIN: Final = 26
_LOOKUPS_MAX: Final = 200
_READ_BYTES_MAX: Final = 1 << 20
SAMPLE_SETTINGS: Final = (
    f"segment.index.bytes={INDEX_BYTES_MAX}",
    f"index.interval.bytes={INDEX_INTERVAL_BYTES}",
)
_ENTRY_BYTES: Final = {".index": 8, ".timeindex": 12}


class Start(NamedTuple):
    """How a partition is started: what the mark of a clean stop and the checkpoints say."""

    is_clean: bool
    recovery_point: int
    log_start_offset: int = 0


@dataclass(slots=True)
class Loaded:
    """One side's outcome; where it failed there is nothing else to compare.

    Attributes:
        failure: what was raised, "" when it was loaded.
        offsets: log start, log end, recovery point, last stable offset.
        content: what a reader gets from the log start on: size, checksum, and how it ended.
        lookups: the batch that is found for each offset, as a checksum.
        files: .log, .txnindex, .snapshot and epochs as bytes; indexes without unused room.
    """

    failure: str = ""
    offsets: tuple[int, ...] = ()
    content: str = ""
    lookups: str = ""
    files: dict[str, bytes] = field(default_factory=dict)

    def differences(self, other: "Loaded") -> list[str]:
        """Name what is not the same."""
        if self.failure or other.failure:
            return [] if bool(self.failure) == bool(other.failure) else ["failure"]
        found = []
        names = ("start", "end", "recovery point", "stable")
        for name, mine, its in zip(names, self.offsets, other.offsets, strict=False):
            if mine != its:
                found.append(name)
        if self.content != other.content:
            found.append("content")
        if self.lookups != other.lookups:
            found.append("lookups")
        paths = sorted(self.files.keys() | other.files.keys())
        found += [name for name in paths if self.files.get(name) != other.files.get(name)]
        return found


def load_ours(directory: Path, start: Start, now_ms: int) -> tuple[Loaded, Log | None]:
    """Load a directory with the broker's own code."""
    request = LoadRequest(
        "sample",
        0,
        str(directory),
        CONFIG,
        start.recovery_point,
        start.log_start_offset or None,
        start.is_clean,
    )
    try:
        log = load_log(request, FileCache(), now_ms=now_ms)
    except BrokerError as error:
        return Loaded(failure=f"{type(error).__name__} {error}"), None
    offsets = (
        log.log_start_offset,
        log.log_end_offset,
        log.flusher.recovery_point,
        log.last_stable_offset,
    )
    content, lookups = read_all(log), look_up_all(log)
    files = stored_files(directory)
    for index in (log.segments.active.offset_index, log.segments.active.time_index):
        files[Path(index.path).name] = _entries(index)
    return Loaded(offsets=offsets, content=content, lookups=lookups, files=files), log


def _entries(index: SegmentIndex) -> bytes:
    return b"".join(index.ENTRY.pack(*index.entry(i)) for i in range(index.count))


def read_all(log: Log) -> str:
    """Read everything from the log start on, as LoadLogs.java does."""
    checksum = size = 0
    offset = log.log_start_offset
    try:
        while offset < log.log_end_offset:
            data = _read(log, offset, _READ_BYTES_MAX)
            batches, is_readable = split(data)
            if not is_readable:
                return f"{size}:{checksum}:unreadable"
            size += len(data)
            checksum = zlib.crc32(data, checksum)
            following = max((next_offset(batch) for batch in batches), default=offset)
            if following <= offset:
                return f"{size}:{checksum}:stuck"
            offset = following
    except BrokerError as error:
        return f"{size}:{checksum}:{type(error).__name__}"
    return f"{size}:{checksum}:end"


def look_up_all(log: Log) -> str:
    """Read the batch of each offset, as LoadLogs.java does."""
    checksum = 0
    end = min(log.log_end_offset, log.log_start_offset + _LOOKUPS_MAX)
    for offset in range(log.log_start_offset, end):
        try:
            found = str(len(_read(log, offset, 1)))
        except BrokerError:
            found = "error"
        checksum = zlib.crc32(f"{offset}:{found};".encode(), checksum)
    return str(checksum)


def read_batches_of(log: Log) -> Iterator[bytes]:
    """Read the whole batches from the log start on, as far as they can be read."""
    offset = log.log_start_offset
    while offset < log.log_end_offset:
        try:
            batches, _ = split(_read(log, offset, _READ_BYTES_MAX))
        except BrokerError:
            return
        yield from batches
        following = max((next_offset(batch) for batch in batches), default=offset)
        if following <= offset:
            return
        offset = following


def _read(log: Log, offset: int, max_bytes: int) -> bytes:
    part = read_log(log, offset, max_bytes=max_bytes).slice
    return b"" if part is None else os.pread(part.fd, part.size_bytes, part.position)


def split(data: bytes) -> tuple[list[bytes], bool]:
    """Give the whole batches, and whether all lengths can be such."""
    position = 0
    found: list[bytes] = []
    while position < len(data) - _FRAME_MIN:
        size_bytes = int.from_bytes(data[position + 8 : position + 12], "big", signed=True) + 12
        if size_bytes < _SIZE_MIN:
            return found, False
        if size_bytes > len(data) - position:
            break
        found.append(data[position : position + size_bytes])
        position += size_bytes
    return found, True


def next_offset(batch: bytes) -> int:
    """Give the offset behind a batch of any format."""
    base_offset, _, _, magic = struct.unpack_from(">qiib", batch)
    delta = struct.unpack_from(">i", batch, 23)[0] if magic > 1 else 0
    following: int = base_offset + delta + 1
    return following


def stored_files(directory: Path) -> dict[str, bytes]:
    """Read what is to be compared; unused room at the end of an index does not count."""
    found = {}
    for path in directory.iterdir():
        width = _ENTRY_BYTES.get(path.suffix)
        content = path.read_bytes()
        if path.suffix in {".deleted", ".tmp"} or path.name == "partition.metadata":
            continue
        if width is not None:
            content = _without_room(content, width)
        elif path.suffix == ".snapshot":
            content = _in_order(content)
        elif path.suffix == ".txnindex" and not content:
            continue  # Kafka leaves an empty one where there is none here
        found[path.name] = content
    return found


def _in_order(snapshot: bytes) -> bytes:
    """Sort the producers, which have no order; the checksum goes by it."""
    if len(snapshot) != HEADER.size + int.from_bytes(snapshot[6:10], "big") * ENTRY.size:
        return snapshot
    entries = (snapshot[i : i + ENTRY.size] for i in range(HEADER.size, len(snapshot), ENTRY.size))
    return snapshot[:2] + snapshot[6 : HEADER.size] + b"".join(sorted(entries))


def _without_room(content: bytes, width: int) -> bytes:
    end = len(content) - len(content) % width
    while end and not any(content[end - width : end]):
        end -= width
    return content[:end]


class KafkaLoader:
    """A process with Kafka's own log code that loads directories."""

    def __init__(self, process: "subprocess.Popen[str]") -> None:
        self._process = process

    def load(self, starts: Mapping[Path, Start], *, content: bool = True) -> dict[Path, Loaded]:
        """Load directories, each as it is; what is in them afterwards is part of the outcome.

        Args:
            starts: the directories, and how each is started.
            content: read it all, and compare the files.
        """
        sink, source = self._process.stdin, self._process.stdout
        assert sink is not None
        assert source is not None
        outcomes = {}
        for path, start in starts.items():
            sink.write(
                f"{path} {str(start.is_clean).lower()}"
                f" {start.recovery_point} {start.log_start_offset} {str(content).lower()}\n"
            )
            sink.flush()
            line = source.readline()
            while not line.startswith(("loaded ", "failed ")):  # what Kafka logs
                assert line, "the loader has ended"
                line = source.readline()
            outcomes[path] = _outcome(path if content else None, line)
        return outcomes


def _outcome(path: Path | None, line: str) -> Loaded:
    words = line.split()
    if words[0] != "loaded":
        return Loaded(failure=" ".join(words[1:]))
    return Loaded(
        offsets=tuple(int(word) for word in words[1:5]),
        content=words[5],
        lookups=words[6],
        files=stored_files(path) if path is not None else {},
    )


@contextmanager
def kafka_loader(*settings: str, is_for_long: bool = False) -> Iterator[KafkaLoader]:
    """Start Kafka's log code in a process of its own, for as long as the context lasts.

    Args:
        settings: of the logs, as NAME=VALUE.
        is_for_long: it pays to optimise the code.
    """
    command = command_of("LoadLogs", settings, is_for_long=is_for_long)
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as process:
        try:
            yield KafkaLoader(process)
        finally:
            process.stdin.close()  # type: ignore[union-attr]
            process.wait(60)
