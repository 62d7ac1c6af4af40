"""Records as JSON lines, in the form that a seed file has."""

import base64
import os
import re
from collections.abc import Iterable, Iterator
from io import BytesIO
from typing import Final, NamedTuple

import msgspec
from anyio import to_thread

from broker_lite.errors import SettingsError, UnsupportedForMessageFormat
from broker_lite.log.files.open_file import FileSlice
from broker_lite.log.files.txn_index import AbortedTransaction
from broker_lite.log.log import Log
from broker_lite.log.read import READ_COMMITTED, READ_UNCOMMITTED, read_log
from broker_lite.record.batch import RecordBatch
from broker_lite.record.control import visible_batches
from broker_lite.record.framing import CURRENT_MAGIC, walk
from broker_lite.record.records import Record, iterate_records
from broker_lite.seed.fields import SeedRecord
from broker_lite.seed.formats import read_json_line
from broker_lite.testbench.bounds import JSON_BYTES_MAX
from broker_lite.testbench.turns import Turns

READ_BYTES: Final = 1024 * 1024
LINES_BYTES_MAX: Final = 32 * 1024 * 1024
_LIST: Final = re.compile(rb"\s*\[")


class BodyLines:
    """The lines of a request's body, or the elements of a list in JSON; errors name the line.

    Attributes:
        number: of the last line that was read, counted from 1.
    """

    def __init__(self, body: bytes) -> None:
        """Keep the body."""
        self._body = body
        self.number = 0

    def __iter__(self) -> Iterator[str]:
        """Read the lines.

        Raises:
            SettingsError: a line is not UTF-8.
        """
        for line in self._split():
            self.number += 1
            try:
                yield line.decode() or " "
            except UnicodeDecodeError as error:
                raise self.error(f"not UTF-8 text, at byte {error.start + 1}") from error

    def _split(self) -> Iterable[bytes]:
        if not _LIST.match(self._body):
            return (each.rstrip(b"\r\n") for each in BytesIO(self._body))
        if len(self._body) > JSON_BYTES_MAX:
            raise self.error(f"a list has at most {JSON_BYTES_MAX} bytes; send lines", 1)
        try:
            # found and not read yet: that takes a twentieth of the time
            return map(bytes, msgspec.json.decode(self._body, type=list[msgspec.Raw]))
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            raise self.error(f"no JSON: {error}", 1) from error

    def error(self, reason: str, number: int | None = None) -> SettingsError:
        """Make an error about a line; the last one that was read, unless another one is given."""
        return SettingsError(f"line {number or self.number}: {reason}")


async def parse_lines(lines: BodyLines, topic: str) -> list[SeedRecord]:
    """Read the records of a request; those that name no topic are of this one.

    Other tasks run in between.

    Raises:
        SettingsError: a line is wrong, or of another topic.
    """
    records, turns = list[SeedRecord](), Turns()
    for text in lines:
        await turns.next()
        if text.isspace():
            continue
        record = read_json_line(lines, text, topic)
        if record.topic != topic:
            raise lines.error(f"topic: these are the records of {topic}, not of {record.topic}")
        records.append(record)
    return records


class Wanted(NamedTuple):
    """Which records are read.

    Attributes:
        position: the offset of the first one.
        limit: at most so many.
        committed: without those of open and aborted transactions.
        with_offsets: each line tells the offset, too; seed files have no such field.
    """

    position: int
    limit: int
    committed: bool
    with_offsets: bool


async def read_lines(log: Log, wanted: Wanted) -> list[bytes]:
    """Read records of a partition as lines; about 1 MB at a time, decoded in a thread.

    The lines end at the high watermark, at `limit`, or after 32 MB.

    Raises:
        OffsetOutOfRange: the position is not in the log.
        KafkaStorageError: the log cannot be read.
    """
    lines: list[bytes] = []
    size_bytes = 0
    while len(lines) < wanted.limit and size_bytes < LINES_BYTES_MAX:
        found = read_log(
            log,
            wanted.position,
            max_bytes=READ_BYTES,
            isolation_level=READ_COMMITTED if wanted.committed else READ_UNCOMMITTED,
        )
        if found.slice is None:
            break
        source = _Source(log.topic, log.partition, found.slice, found.aborted_transactions)
        left = wanted._replace(limit=wanted.limit - len(lines))
        more, position = await to_thread.run_sync(_decode, source, left)
        lines += more
        size_bytes += sum(map(len, more))
        if position <= wanted.position:
            break
        wanted = wanted._replace(position=position)
    return lines


class _Source(NamedTuple):
    topic: str
    partition: int
    slice: FileSlice
    aborted: list[AbortedTransaction] | None


def _decode(source: _Source, wanted: Wanted) -> tuple[list[bytes], int]:
    """Return lines, and the offset of the first record that was not read."""
    fd, start, size_bytes, _ = source.slice
    data = memoryview(os.pread(fd, size_bytes, start))
    batches = [*_batches(data)]
    lines: list[bytes] = []
    for batch in visible_batches(batches, source.aborted):
        for record in iterate_records(batch):
            if record.offset < wanted.position:
                continue
            if len(lines) == wanted.limit:
                return lines, record.offset
            lines.append(_line(source, record, with_offset=wanted.with_offsets))
    return lines, batches[-1].next_offset if batches else wanted.position


def _batches(data: memoryview) -> Iterator[RecordBatch]:
    for entry in walk(data):
        if entry.magic != CURRENT_MAGIC:
            raise UnsupportedForMessageFormat("records of a format from before Kafka 0.11")
        yield RecordBatch(data, entry.position, entry.size_bytes)


def _line(source: _Source, record: Record, *, with_offset: bool) -> bytes:
    fields: dict[str, object] = {"topic": source.topic, "partition": source.partition}
    if with_offset:
        fields["offset"] = record.offset
    fields["key"] = as_json(record.key)
    fields["value"] = as_json(record.value)
    if record.headers:
        fields["headers"] = [
            (name.decode(errors="replace"), as_json(value)) for name, value in record.headers
        ]
    if record.timestamp >= 0:
        fields["timestamp"] = record.timestamp
    return msgspec.json.encode(fields) + b"\n"


def as_json(data: bytes | None) -> object:
    """Return a key or a value as a seed file has it: a text, or base64 if it is none."""
    if data is None:
        return None
    try:
        return data.decode()
    except UnicodeDecodeError:
        return {"base64": base64.b64encode(data).decode()}
