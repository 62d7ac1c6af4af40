"""A batch of a Fetch answer whose bytes can be changed in their place."""

import struct
from typing import Final, NamedTuple

from broker_lite.record.batch import (
    ATTRIBUTES_OFFSET,
    CODEC_MASK,
    CURRENT_MAGIC,
    LOG_OVERHEAD,
    RECORD_BATCH_OVERHEAD,
    Header,
    parse_header,
)
from broker_lite.record.crc import crc32c
from broker_lite.record.varint import (
    VarintError,
    decode_varint,
    decode_varlong,
    encode_unsigned,
)
from broker_lite.testbench.faults.problems import CannotApply

CRC: Final = 17
_FORMATS: Final = {
    "base_offset": (0, ">q"),
    "length": (8, ">i"),
    "leader_epoch": (12, ">i"),
    "magic": (16, ">b"),
    "crc": (CRC, ">I"),
    "attributes": (ATTRIBUTES_OFFSET, ">h"),
    "last_offset_delta": (23, ">i"),
    "base_timestamp": (27, ">q"),
    "max_timestamp": (35, ">q"),
    "producer_id": (43, ">q"),
    "producer_epoch": (51, ">h"),
    "base_sequence": (53, ">i"),
    "record_count": (57, ">i"),
}


class Span(NamedTuple):
    """Where something is: its first byte, and the one after its last."""

    start: int
    end: int

    @property
    def size(self) -> int:
        """How many bytes it has."""
        return self.end - self.start


class Parts(NamedTuple):
    """Where the parts of one record are.

    Attributes:
        body: the record behind its length.
        offset_delta: a varint.
        key: empty if there is none.
        value_length: a varint.
        value: empty if there is none.
        header_count: a varint.
        whole: the record with its length.
    """

    body: Span
    offset_delta: Span
    key: Span
    value_length: Span
    value: Span
    header_count: Span
    whole: Span


class Batch:
    """The first batch of a partition's records.

    Attributes:
        data: all bytes of the partition; the batch begins at the first.
        header: as it was.
        end: the position after the batch.
    """

    def __init__(self, data: bytearray) -> None:
        """Read the header.

        Raises:
            CannotApply: there is no whole batch of magic 2.
        """
        if len(data) < RECORD_BATCH_OVERHEAD:
            raise CannotApply("the answer has no records of what is chosen")
        self.data = data
        self.header: Header = parse_header(data)
        self.end = LOG_OVERHEAD + self.header.length
        if self.header.magic != CURRENT_MAGIC or self.end > len(data):
            raise CannotApply("the first batch is not a whole one of magic 2")

    @property
    def is_compressed(self) -> bool:
        """True if the records are compressed."""
        return self.header.attributes & CODEC_MASK != 0

    def set(self, **fields: int) -> None:
        """Change fields of the header, by the names of Header."""
        for name, value in fields.items():
            position, form = _FORMATS[name]
            struct.pack_into(form, self.data, position, value)

    def flip(self, position: int) -> None:
        """Flip the lowest bit of a byte."""
        self.data[position] ^= 1

    def write(self, span: Span, data: bytes) -> None:
        """Replace bytes by as many others."""
        assert len(data) == span.size
        self.data[span.start : span.end] = data

    def seal(self) -> None:
        """Make the checksum right for what the batch holds now."""
        self.set(crc=crc32c(self.data[ATTRIBUTES_OFFSET : self.end]))

    def records(self) -> list[Parts]:
        """Find the parts of all records.

        Raises:
            CannotApply: the records are compressed, or there are none that can be read.
        """
        if self.is_compressed:
            raise CannotApply("the batch is compressed")
        found: list[Parts] = []
        view = memoryview(bytes(self.data))
        position = RECORD_BATCH_OVERHEAD
        try:
            while position < self.end:
                found.append(_parts(view, position, self.end))
                position = found[-1].whole.end
        except VarintError:
            found = []
        if not found:
            raise CannotApply("the batch has no records that can be read")
        return found


def _parts(data: memoryview, start: int, end: int) -> Parts:
    length, position = decode_varint(data, start, end)
    body = Span(position, position + length)
    _, delta = decode_varlong(data, position + 1, end)
    _, position = decode_varint(data, delta, end)
    offset_delta = Span(delta, position)
    length, position = decode_varint(data, position, end)
    key = Span(position, position + max(0, length))
    length, position = decode_varint(data, key.end, end)
    value_length = Span(key.end, position)
    value = Span(position, position + max(0, length))
    _, position = decode_varint(data, value.end, end)
    header_count = Span(value.end, position)
    whole = Span(start, body.end)
    return Parts(body, offset_delta, key, value_length, value, header_count, whole)


def lowest_negative(size: int, least: int) -> bytes:
    """Return the varint of a negative number, at most -least, in as many bytes.

    Args:
        size: how many bytes.
        least: 1 or 2.
    """
    zigzag = max(2 * least - 1, 1 << (7 * (size - 1)) | 1)
    return encode_unsigned(zigzag)


def highest(size: int) -> bytes:
    """Return the varint of the highest number that takes so many bytes."""
    return encode_unsigned((1 << (7 * size)) - 2)
