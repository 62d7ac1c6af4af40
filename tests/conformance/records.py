"""The records that every client of Python sends and must read back equal."""

import random
from typing import NamedTuple

START_MS = 1_700_000_000_000
PARTITIONS = 3
MAX_MESSAGE_BYTES = 6_000_000
CODECS = ("none", "gzip", "snappy", "lz4", "zstd")
MANY_PARTITIONS = 60
SIZES_BYTES = (1, 0, 100, 1000, 16_384, 100_000, 1_000_000, 5_000_000)


class Message(NamedTuple):
    partition: int
    timestamp_ms: int
    key: bytes | None
    value: bytes | None
    headers: list[tuple[str, bytes | None]]


def messages(count: int = 200, *, client_takes_all_nulls: bool = True) -> list[Message]:
    """Records of 1 byte to 5 MB with and without key, value and headers, over three partitions.

    kafka-python and aiokafka refuse a null header value and a record without key and value.
    """
    source = random.Random(7)
    made = []
    for index in range(count):
        size_bytes = SIZES_BYTES[index] if index < len(SIZES_BYTES) else source.randrange(300)
        headers: list[tuple[str, bytes | None]] = []
        if index % 4 == 1:
            null = None if client_takes_all_nulls else b"null"
            headers = [("a", null), ("a", b""), ("schlüssel", b"wert"), ("b", b"\x00\xff")]
        has_key = index % 3 != 0
        has_null_value = index % 17 == 16 and (has_key or client_takes_all_nulls)
        made.append(
            Message(
                partition=index % PARTITIONS,
                timestamp_ms=START_MS + index * 1000,
                key=f"key-{index}".encode() if has_key else None,
                value=None if has_null_value else source.randbytes(size_bytes),
                headers=headers,
            )
        )
    return made


def many() -> list[Message]:
    """Small records over sixty partitions."""
    return [
        Message(index * 7 % MANY_PARTITIONS, START_MS + index, None, f"v{index}".encode(), [])
        for index in range(3000)
    ]


def by_partition(sent: list[Message]) -> dict[int, list[Message]]:
    """The messages of each partition, in the order they were sent."""
    found: dict[int, list[Message]] = {}
    for message in sent:
        found.setdefault(message.partition, []).append(message)
    return found
