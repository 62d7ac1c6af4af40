"""Walk the entries of a record set: v2 batches, and what old_messages_walk.py lists.

Nothing here says whether an entry is valid. Bytes that cannot be read are listed as such.

See: R-02, R-10.
"""

from collections.abc import Mapping
from typing import Final, NamedTuple

from broker_lite.errors import BrokerError
from broker_lite.explain.explanation import Part, State
from broker_lite.explain.listing import Budget, ListFull, Reader, Unreadable
from broker_lite.explain.old_messages_walk import end_part, walk_message
from broker_lite.explain.record_walk import Wanted, walk_records
from broker_lite.explain.values import attributes_text, codec_name, moment
from broker_lite.log.validate.produced_batch import STREAM_PARTS_MAX
from broker_lite.record.batch import (
    CURRENT_MAGIC,
    HEADER_SIZE_UP_TO_MAGIC,
    LOG_OVERHEAD,
    MAGIC_OFFSET,
    RECORD_OVERHEAD_V0,
    Header,
    RecordBatch,
)
from broker_lite.record.codecs.compression import Decompressed
from broker_lite.record.codecs.decompressed import Bounds
from broker_lite.record.records import read_content

_TYPES: Final[Mapping[str, str]] = {
    "base_offset": "int64",
    "length": "int32",
    "leader_epoch": "int32",
    "magic": "int8",
    "crc": "uint32",
    "attributes": "int16",
    "last_offset_delta": "int32",
    "base_timestamp": "int64",
    "max_timestamp": "int64",
    "producer_id": "int64",
    "producer_epoch": "int16",
    "base_sequence": "int32",
    "record_count": "int32",
}


class SetWalk(NamedTuple):
    """How to walk the entries of one record set.

    Attributes:
        prefix: of the paths.
        decompressed_bytes_max: of one batch.
        codec: the records are read to be stored with this codec; None if they are kept as they are.
        is_stored: a reader of the log reads the records.
        record: index of a record in the first batch that is listed in any case.
    """

    prefix: str
    decompressed_bytes_max: int
    codec: int | None = None
    is_stored: bool = False
    record: int | None = None

    def full_reader(self, codec: int) -> bool:
        """Return whether the declared lengths of records count (R-34), or not (R-36)."""
        return codec == 0 or self.is_stored or self.codec not in (None, codec)


def walk_set(reader: Reader, walk: SetWalk, parts: list[Part]) -> None:
    """List all entries up to the end of the reader.

    Args:
        reader: at the first entry.
        walk: how to walk them.
        parts: gets the decompressed contents.
    """
    index = 0
    while reader.position < reader.end:
        walk_entry(reader, walk, index, parts)
        index += 1


def walk_entry(reader: Reader, walk: SetWalk, index: int, parts: list[Part]) -> None:
    """List one entry; if it cannot be read, everything up to the end of the reader.

    Args:
        reader: at the entry.
        walk: how to walk it.
        index: of the entry in its set.
        parts: gets the decompressed content.
    """
    end = reader.end
    try:
        _walk_entry(reader, walk, index, parts)
    except Unreadable:
        reader.rest(f"{walk.prefix}rest", "what comes after the unreadable field")
    except ListFull:
        reader.end = end
        reader.rest(f"{walk.prefix}rest", "the list is full", State.NOT_LISTED)
    finally:
        reader.end = end


def _walk_entry(reader: Reader, walk: SetWalk, index: int, parts: list[Part]) -> None:
    """List one entry; if it is cut, as far as it goes."""
    start, left = reader.position, reader.end - reader.position
    magic = reader.data[start + MAGIC_OFFSET] if left >= HEADER_SIZE_UP_TO_MAGIC else CURRENT_MAGIC
    is_old = magic < CURRENT_MAGIC
    path = f"{walk.prefix}{'messages' if is_old else 'batches'}[{index}]."
    reader.fixed("int64", f"{path}{'offset' if is_old else 'base_offset'}")
    length = reader.fixed("int32", f"{path}length")
    if length < RECORD_OVERHEAD_V0:
        reader.is_wrong(f"at least {RECORD_OVERHEAD_V0}")
    is_whole = length <= left - LOG_OVERHEAD
    if is_whole:
        reader.end = start + LOG_OVERHEAD + length
    else:
        reader.annotate(f"only {left - LOG_OVERHEAD} bytes follow")
    if is_old:
        walk_message(reader, magic, path, walk.decompressed_bytes_max, parts)
        return
    _walk_header(reader, path)
    batch = RecordBatch(reader.data, start, reader.end - start)
    how = Wanted(walk.full_reader(batch.codec), walk.record if index == 0 else None)
    if not batch.is_compressed:
        walk_records(reader, batch, path, how)
        return
    size = reader.end - reader.position
    reader.content(size, "bytes", f"{path}records", f"compressed, {codec_name(batch.codec)}")
    content = _decompressed(batch, walk.decompressed_bytes_max) if is_whole else None
    if content is not None:
        _walk_part(reader.budget, batch, content, path, how, parts)


def _walk_header(reader: Reader, path: str) -> None:
    """List the fields of a v2 header behind the length."""
    for name in Header._fields[2:]:
        value = reader.fixed(_TYPES[name], f"{path}{name}")
        if name == "magic" and value != CURRENT_MAGIC:
            reader.is_wrong("0, 1 or 2")
        if name == "attributes":
            reader.annotate(attributes_text(value))
        elif name in ("base_timestamp", "max_timestamp"):
            reader.annotate(moment(value))
        elif name == "crc":
            reader.annotate(f"{value:#010x}")


def _decompressed(batch: RecordBatch, bytes_max: int) -> Decompressed | None:
    try:
        return read_content(batch, bounds=Bounds(bytes_max, STREAM_PARTS_MAX))
    except BrokerError:  # there is no such codec
        return None


def _walk_part(
    budget: Budget,
    batch: RecordBatch,
    content: Decompressed,
    path: str,
    wanted: Wanted,
    parts: list[Part],
) -> None:
    """List the decompressed records of a batch."""
    data = memoryview(content.data)
    reader = Reader(data, budget)
    walk_records(reader, batch, path, wanted)
    end_part(reader, content, f"{path}records")
    parts.append(Part(f"{path}records", codec_name(batch.codec), data, reader.fields))
