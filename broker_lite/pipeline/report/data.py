"""The content of a report about a log."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple


class PartitionFacts(NamedTuple):
    """A partition; times are in ms since the epoch, None without timestamps.

    Attributes:
        missing_offsets: between the first and the last one, without a record or a marker; None if
            headers do not tell, as those of compressed messages of magic 0 and 1.
    """

    topic: str
    partition: int
    batches: int
    records: int
    size_bytes: int
    first_offset: int
    last_offset: int
    first_ms: int | None
    last_ms: int | None
    missing_offsets: int | None = 0

    @property
    def name(self) -> str:
        """TOPIC-PARTITION."""
        return f"{self.topic}-{self.partition}"


def times_of(partitions: Sequence[PartitionFacts]) -> tuple[int | None, int | None]:
    """Return the first and the last time in partitions; None without timestamps."""
    firsts = [one.first_ms for one in partitions if one.first_ms is not None]
    lasts = [one.last_ms for one in partitions if one.last_ms is not None]
    return min(firsts, default=None), max(lasts, default=None)


class CodecFacts(NamedTuple):
    """The batches of a topic with one codec.

    Attributes:
        stored_bytes: size as stored.
        plain_bytes: size without compression.
    """

    topic: str
    codec: str
    batches: int
    records: int
    stored_bytes: int
    plain_bytes: int

    @property
    def ratio(self) -> float:
        """plain_bytes / stored_bytes."""
        return self.plain_bytes / self.stored_bytes if self.stored_bytes else 1.0


class SizeCount(NamedTuple):
    """How many are larger than size / 2 and at most size, a power of two or 0."""

    size: int
    number: int


class RatePoint(NamedTuple):
    """What was written to a topic within one time bucket, which begins at `at_ms`."""

    topic: str
    at_ms: int
    records: int
    size_bytes: int


class Outside(NamedTuple):
    """Records of a topic whose times lie on one side of its axis of time.

    Attributes:
        share: of the records of the topic that have a time.
        first_ms, last_ms: the first and the last of their buckets.
    """

    records: int
    share: float
    first_ms: int
    last_ms: int


class TimePoint(NamedTuple):
    """The largest timestamp near an offset; `name` is that of a partition."""

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


class GroupFacts(NamedTuple):
    """How far a group is behind.

    Attributes:
        partitions: for how many it committed an offset.
        lag: offsets up to the ends of their logs, without those that it committed.
        largest: the partition that is furthest behind, and by how much.
        commit_ms: the time of its last commit.
    """

    group: str
    partitions: int
    lag: int
    largest: str
    largest_lag: int
    commit_ms: int


class DelayFacts(NamedTuple):
    """From a batch's first timestamp, by its producer, to its append, by the broker, in ms.

    Attributes:
        batches: number of batches that tell both times.
    """

    topic: str
    batches: int
    median_ms: int
    p99_ms: int
    max_ms: int


class KeyCounts(NamedTuple):
    """The keys of a topic.

    Attributes:
        keys: number of distinct keys, without null.
        top: the keys with most records, and how many they have.
    """

    topic: str
    records: int
    without_key: int
    keys: int
    top: tuple[tuple[bytes, int], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class LogReport:
    """The whole report.

    Attributes:
        bucket_ms: width of the time buckets in `rates`, by topic; only the largest topics.
        outside: what the axis of time of a topic leaves out, in `rates` and `times`, too.
        delays: only topics with LogAppendTime.
        groups: only where the log has __consumer_offsets.
        sampled_share: share of each partition's offsets, its newest, whose records were read.
        producer_count: number of all producers; `producers` only has the largest. codecs,
            key_sizes, value_sizes, keys: empty if the records were not read.
        damaged_places: number found in batch headers; a verification checks more.
    """

    path: str
    partitions: tuple[PartitionFacts, ...]
    batch_sizes: tuple[SizeCount, ...]
    batch_records: tuple[SizeCount, ...]
    bucket_ms: Mapping[str, int]
    rates: tuple[RatePoint, ...]
    times: tuple[TimePoint, ...]
    producer_count: int
    producers: tuple[ProducerFacts, ...]
    codecs: tuple[CodecFacts, ...]
    key_sizes: tuple[SizeCount, ...]
    value_sizes: tuple[SizeCount, ...]
    keys: tuple[KeyCounts, ...]
    outside: Mapping[str, tuple[Outside, ...]] = field(default_factory=dict)
    delays: tuple[DelayFacts, ...] = ()
    groups: tuple[GroupFacts, ...] = ()
    sampled_share: float = 1.0
    damaged_places: int = 0
