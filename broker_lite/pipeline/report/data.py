"""What a report about a log tells: plain values, in the order in which they are shown."""

from dataclasses import dataclass
from typing import NamedTuple


class PartitionFacts(NamedTuple):
    """A partition; times are in ms since the epoch, None without any timestamp."""

    topic: str
    partition: int
    batches: int
    records: int
    size_bytes: int
    first_offset: int
    last_offset: int
    first_ms: int | None
    last_ms: int | None

    @property
    def name(self) -> str:
        """Topic and partition as a directory is named."""
        return f"{self.topic}-{self.partition}"


class CodecFacts(NamedTuple):
    """What a codec makes of the batches of a topic.

    Attributes:
        stored_bytes: of the batches as they are.
        plain_bytes: what they would be without compression.
    """

    topic: str
    codec: str
    batches: int
    records: int
    stored_bytes: int
    plain_bytes: int

    @property
    def ratio(self) -> float:
        """How many times smaller the codec makes them."""
        return self.plain_bytes / self.stored_bytes if self.stored_bytes else 1.0


class SizeCount(NamedTuple):
    """How many there are above half of a size, and up to it; sizes are powers of two, or 0."""

    size: int
    number: int


class RatePoint(NamedTuple):
    """What was written to a topic from a time on, for the width of the report's buckets."""

    topic: str
    at_ms: int
    records: int
    size_bytes: int


class TimePoint(NamedTuple):
    """The largest timestamp in the neighbourhood of an offset."""

    name: str
    offset: int
    at_ms: int


class ProducerFacts(NamedTuple):
    """An idempotent producer."""

    producer_id: int
    epochs: int
    partitions: int
    batches: int
    transactional_batches: int
    records: int
    size_bytes: int
    first_ms: int | None
    last_ms: int | None


class KeyCounts(NamedTuple):
    """How the records of a topic go to keys.

    Attributes:
        keys: how many different ones there are, null not counted.
        top: the keys with most records, by falling number, and their numbers.
    """

    topic: str
    records: int
    without_key: int
    keys: int
    top: tuple[tuple[bytes, int], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class LogReport:
    """All of it.

    Attributes:
        bucket_ms: width of the buckets of rates.
        producer_count: of all producers; only the largest are among `producers`.
        codecs, key_sizes, value_sizes, keys: empty when the records were not looked at.
        damaged_places: how many were met among the headers of the batches; verify looks at more.
    """

    path: str
    partitions: tuple[PartitionFacts, ...]
    batch_sizes: tuple[SizeCount, ...]
    batch_records: tuple[SizeCount, ...]
    bucket_ms: int
    rates: tuple[RatePoint, ...]
    times: tuple[TimePoint, ...]
    producer_count: int
    producers: tuple[ProducerFacts, ...]
    codecs: tuple[CodecFacts, ...]
    key_sizes: tuple[SizeCount, ...]
    value_sizes: tuple[SizeCount, ...]
    keys: tuple[KeyCounts, ...]
    damaged_places: int = 0
