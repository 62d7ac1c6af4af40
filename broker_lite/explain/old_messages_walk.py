"""Walk the fields of a message of magic 0 or 1, and of the messages in a wrapper.

See: R-60 to R-68.
"""

from typing import Final

from broker_lite.explain.explanation import Part, State
from broker_lite.explain.listing import ListFull, Reader, Unreadable
from broker_lite.explain.values import attributes_text, codec_name, moment
from broker_lite.log.validate.produced_batch import CODEC_MAX, STREAM_PARTS_MAX
from broker_lite.record.batch import CODEC_MASK, LOG_APPEND_TIME_FLAG
from broker_lite.record.codecs import lz4_stream
from broker_lite.record.codecs.compression import Codec, Decompressed, decompress
from broker_lite.record.codecs.decompressed import Bounds
from broker_lite.record.framing import MAGIC_OFFSET, RECORD_OVERHEAD_V0
from broker_lite.record.legacy.messages import crc_is_valid

_USED_FLAGS: Final = CODEC_MASK | LOG_APPEND_TIME_FLAG


def walk_message(
    reader: Reader, magic: int, path: str, decompressed_bytes_max: int, parts: list[Part]
) -> None:
    """List the fields of a message behind its length, up to the end of the reader.

    Args:
        reader: at the checksum.
        magic: of the message, 0 or 1.
        path: of the message, with its dot.
        decompressed_bytes_max: of a wrapper.
        parts: gets the messages of a wrapper.

    Raises:
        Unreadable: the message ends before, or a length is wrong.
        ListFull: there are too many fields.
    """
    codec = _walk_head(reader, magic, path)
    _bytes_field(reader, f"{path}key")
    length = _bytes_field(reader, f"{path}value")
    if codec != Codec.NONE and length > 0:
        reader.annotate(f"compressed, {codec_name(codec)}")
        value = reader.data[reader.position - length : reader.position]
        _walk_wrapped(reader, value, (magic, codec), path, decompressed_bytes_max, parts)
    reader.rest(f"{path}rest", "after the value")


def _walk_head(reader: Reader, magic: int, path: str) -> int:
    """List the fields before the key, and return the codec."""
    crc = reader.fixed("uint32", f"{path}crc")
    reader.annotate(f"{crc:#010x}")
    reader.fixed("int8", f"{path}magic")
    attributes = reader.fixed("int8", f"{path}attributes")
    codec = attributes & CODEC_MASK
    reader.annotate(codec_name(codec) if magic == 0 else attributes_text(attributes & _USED_FLAGS))
    if magic == 1:
        timestamp = reader.fixed("int64", f"{path}timestamp")
        reader.annotate(moment(timestamp))
    return codec


def _bytes_field(reader: Reader, path: str) -> int:
    """List a length and as many bytes, and return the length."""
    length = reader.fixed("int32", f"{path}_length")
    left = reader.end - reader.position
    if length < 0:
        reader.annotate("null")
    elif length > left:
        reader.is_wrong(f"at most {left}")
    else:
        reader.content(length, "bytes", path)
    return length


def _walk_wrapped(
    outer: Reader,
    value: memoryview,
    magic_and_codec: tuple[int, int],
    path: str,
    bytes_max: int,
    parts: list[Part],
) -> None:
    """List the messages inside a wrapper."""
    magic, codec = magic_and_codec
    if codec > CODEC_MAX:
        return
    bounds = Bounds(bytes_max, STREAM_PARTS_MAX)
    if codec == Codec.LZ4 and magic == 0:
        content = lz4_stream.decompress(value, bounds, check_header=False)
    else:
        content = decompress(codec, value, output_bytes_max=bytes_max, parts_max=STREAM_PARTS_MAX)
    data = memoryview(content.data)
    reader = Reader(data, outer.budget)
    index = 0
    try:
        while reader.position < len(data):
            _walk_inner(reader, f"{path}messages[{index}].")
            index += 1
    except Unreadable:
        reader.end = len(data)
        reader.rest(f"{path}rest", "what comes after the unreadable field")
    except ListFull:
        reader.end = len(data)
        reader.rest(f"{path}rest", "the list is full", State.NOT_LISTED)
    end_part(reader, content, f"{path}value")
    parts.append(Part(f"{path}value", codec_name(codec), data, reader.fields))


def _walk_inner(reader: Reader, path: str) -> None:
    """List one message inside a wrapper.

    See: R-68.
    """
    start, end = reader.position, reader.end
    reader.fixed("int64", f"{path}offset")
    length = reader.fixed("int32", f"{path}length")
    left = end - reader.position
    if not RECORD_OVERHEAD_V0 <= length <= left:
        reader.is_wrong(f"{RECORD_OVERHEAD_V0} to {left}")
    reader.end = reader.position + length
    magic = min(reader.data[start + MAGIC_OFFSET], 1)
    head = len(reader.fields)
    codec = _walk_head(reader, magic, path)
    if not crc_is_valid(reader.data, start, reader.end - start):
        reader.suspect("the checksum of the bytes behind it", len(reader.fields) - head)
    if codec != Codec.NONE:
        reader.suspect("no codec inside of a compressed set", len(reader.fields) - head - 2)
    _bytes_field(reader, f"{path}key")
    _bytes_field(reader, f"{path}value")
    reader.rest(f"{path}rest", "after the value")
    reader.end = end


def end_part(reader: Reader, content: Decompressed, path: str) -> None:
    """Say where the decompression stopped, unless it came to the end."""
    if not content.failed and not content.limit_exceeded:
        return
    note = (
        "the codec stops here with an error"
        if content.failed
        else "the limit for decompressed bytes is reached"
    )
    with reader.budget.waived():
        reader.add(0, "bytes", f"{path}.rest", None, note, state=State.UNREADABLE)
