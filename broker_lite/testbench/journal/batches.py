"""Record batches in words: what is told of a batch without reading its records."""

from collections.abc import Iterator
from typing import Final, NamedTuple, TypeAlias

from broker_lite.errors import CorruptMessage, UnknownServerError
from broker_lite.record.batch import (
    CODEC_MASK,
    CONTROL_FLAG,
    CURRENT_MAGIC,
    HEADER,
    LOG_APPEND_TIME_FLAG,
    RECORD_BATCH_OVERHEAD,
    TRANSACTIONAL_FLAG,
    Header,
)
from broker_lite.record.framing import walk

Json: TypeAlias = "bool | int | float | str | list[Json] | dict[str, Json] | None"

BATCHES_MAX: Final = 1000
"""So many batches of one partition are told; Kafka's clients send one."""
_CODECS: Final = ("none", "gzip", "snappy", "lz4", "zstd")
_LOG_OVERHEAD: Final = 12
_MAGIC_OFFSET: Final = 16


class NotKept(NamedTuple):
    """Records of which the journal kept the size only, or the heads of the batches."""

    size_bytes: int
    heads: tuple[bytes, ...] = ()


Records: TypeAlias = bytes | memoryview | NotKept


def heads_of(records: Records) -> Iterator[bytes]:
    """Yield the first bytes of each whole batch, up to its 61st.

    Raises:
        CorruptMessage: what follows is no batch.
        UnknownServerError: a length is next to the largest number.
    """
    if isinstance(records, NotKept):
        yield from records.heads
        return
    for number, entry in enumerate(walk(records)):
        if number == BATCHES_MAX:
            return
        yield bytes(records[entry.position : entry.position + RECORD_BATCH_OVERHEAD])


def header_of(head: bytes) -> Header | None:
    """Return the fields of a v2 batch's first bytes; None for older formats."""
    if len(head) < RECORD_BATCH_OVERHEAD or head[_MAGIC_OFFSET] != CURRENT_MAGIC:
        return None
    return Header._make(HEADER.unpack_from(head))


def headers_of(records: Records) -> list[Header]:
    """Return the headers of the v2 batches, as far as there are some; it never raises."""
    found: list[Header] = []
    try:
        for head in heads_of(records):
            header = header_of(head)
            if header is not None:
                found.append(header)
    except (CorruptMessage, UnknownServerError):
        pass
    return found


def record_count(records: Records) -> int:
    """Return how many records the batches say that they have; it never raises."""
    count = 0
    try:
        for head in heads_of(records):
            header = header_of(head)
            count += 1 if header is None else max(0, header.record_count)
    except (CorruptMessage, UnknownServerError):
        pass
    return count


def summaries(records: Records) -> dict[str, Json]:
    """Return the size of records and what each batch says of itself, as far as it is kept."""
    size_bytes = records.size_bytes if isinstance(records, NotKept) else len(records)
    told: dict[str, Json] = {"size_bytes": size_bytes}
    batches: list[Json] = []
    try:
        batches.extend(summary(head) for head in heads_of(records))
    except (CorruptMessage, UnknownServerError) as error:
        told["corrupt"] = str(error)
    if batches or not isinstance(records, NotKept):
        told["batches"] = batches
    else:
        told["not_kept"] = True
    return told


def summary(head: bytes) -> dict[str, Json]:
    """Return what a batch says of itself in its first 61 bytes."""
    header = header_of(head)
    if header is None:
        return {
            "magic": head[_MAGIC_OFFSET],
            "offset": int.from_bytes(head[:8], "big", signed=True),
            "size_bytes": int.from_bytes(head[8:12], "big", signed=True) + _LOG_OVERHEAD,
        }
    codec = header.attributes & CODEC_MASK
    return {
        "magic": header.magic,
        "base_offset": header.base_offset,
        "last_offset": header.base_offset + header.last_offset_delta,
        "count": header.record_count,
        "size_bytes": header.length + _LOG_OVERHEAD,
        "leader_epoch": header.leader_epoch,
        "producer_id": header.producer_id,
        "producer_epoch": header.producer_epoch,
        "base_sequence": header.base_sequence,
        "codec": _CODECS[codec] if codec < len(_CODECS) else str(codec),
        "timestamp_type": (
            "LogAppendTime" if header.attributes & LOG_APPEND_TIME_FLAG else "CreateTime"
        ),
        "base_timestamp": header.base_timestamp,
        "max_timestamp": header.max_timestamp,
        "transactional": bool(header.attributes & TRANSACTIONAL_FLAG),
        "control": bool(header.attributes & CONTROL_FLAG),
    }
