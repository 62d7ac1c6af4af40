"""The specification of generated logs: a seed and topics, from TOML, JSON or a mapping.

A topic needs a name, and `records` or `bytes` (of keys and values, in all its partitions):

    seed = 7
    [[topics]]
    name = "orders"
    partitions = 4
    bytes = "10g"
    value_bytes = {distribution = "lognormal", median = 300, sigma = 1.0, max = 100000}
    keys = {distribution = "zipf", count = 100000, exponent = 1.1}
    codecs = ["lz4", "zstd"]
    producers = 3
    transaction_batches = 10
    abort_share = 0.05

TopicSpec lists all fields. A share is a number from 0 to 1; distributions.py lists the
distributions. Every partition has the same keys, because no partitioner chooses the partition of a
key.
"""

import json
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from typing import Final, Literal, cast

from broker_lite.pipeline.generate.distributions import SpecError, quantiles
from broker_lite.pipeline.read import option_values
from broker_lite.pipeline.write.options import Compression, topic_name
from broker_lite.record.codecs.compression import Codec

_BATCH_BYTES_MAX: Final = 64 << 20
_SEGMENT_BYTES_MAX: Final = 2_000_000_000
_RECORDS_MAX: Final = 1 << 40
_TIMESTAMP_MAX: Final = 1 << 50
_SPAN_US_MAX: Final = 1 << 60
_PAYLOADS: Final = ("text", "random", "zeros")


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicSpec:
    """One topic.

    Attributes:
        records: of all partitions together; or `bytes` of keys and values.
        keys: distribution of the key's number.
        key_bytes, value_bytes: distributions of sizes. Keys and values begin with their number.
        null_keys, null_values: the share of records without a key or value.
        payload: the bytes after the number: text, random or zeros.
        codecs: used in turn, batch by batch.
        batch_bytes, segment_bytes: approximate size before compression.
        producers: how many idempotent producers take turns; 0 for none.
        transaction_batches: batches of each producer in each transaction; 0 for no transactions.
        abort_share: share of transactions that are aborted. start_ms, interval_us, jitter_ms:
            timestamp of a partition's first record, step to the next one, and by how much a record
            may be earlier. A broker deletes records older than its retention.ms.
        bad_crc_share: share of batches with a wrong checksum.
        gap_share: share of batches that are left out.
        torn_tail: the last segment of each partition ends within a batch.
    """

    name: str
    partitions: int = 1
    records: int = 0
    bytes: int = 0
    keys: object
    key_bytes: object
    value_bytes: object
    null_keys: float = 0.0
    null_values: float = 0.0
    payload: Literal["text", "random", "zeros"] = "text"
    codecs: tuple[Codec, ...] = (Codec.NONE,)
    batch_bytes: int = 16384
    segment_bytes: int = 1 << 30
    producers: int = 0
    transaction_batches: int = 0
    abort_share: float = 0.0
    start_ms: int = 1_700_000_000_000
    interval_us: int = 1000
    jitter_ms: int = 0
    bad_crc_share: float = 0.0
    gap_share: float = 0.0
    torn_tail: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class GenerateSpec:
    """The whole specification; it gives the same bytes with any number of tasks."""

    seed: int
    topics: tuple[TopicSpec, ...]

    @classmethod
    def parse(cls, given: Mapping[str, object]) -> "GenerateSpec":
        """Read a specification.

        Raises:
            SpecError: it is wrong; the text names the topic, the field and what is allowed.
        """
        unknown = given.keys() - {"seed", "topics"}
        if unknown:
            raise SpecError(f"{', '.join(sorted(unknown))}: only seed and topics are allowed")
        seed = _whole(given.get("seed", 0), (1 << 63) - 1, "seed")
        tables = given.get("topics")
        if not isinstance(tables, list) or not tables:
            raise SpecError("topics: a list with at least one topic is needed")
        topics = tuple(_topic(table) for table in tables)
        if len({topic.name for topic in topics}) < len(topics):
            raise SpecError("topics: a name occurs twice")
        return cls(seed=seed, topics=topics)


def read_spec(text: str) -> Mapping[str, object]:
    """Read TOML, or JSON if it begins with a brace.

    Raises:
        SpecError: it is neither.
    """
    try:
        found = json.loads(text) if text.lstrip().startswith("{") else tomllib.loads(text)
    except ValueError as error:
        raise SpecError(f"neither TOML nor JSON: {error}") from error
    return cast("Mapping[str, object]", found)


def _topic(table: object) -> TopicSpec:
    if not isinstance(table, Mapping) or not isinstance(table.get("name"), str):
        raise SpecError("topics: each is a table with a name")
    name = table["name"]
    values: dict[str, object] = dict(_DEFAULTS)
    for field, value in table.items():
        reader = _READERS.get(field)
        if reader is None:
            known = ", ".join(field.name for field in fields(TopicSpec))
            raise SpecError(f"topic {name}: unknown field {field}; the fields are {known}")
        try:
            values[field] = reader(value)
        except ValueError as error:
            raise SpecError(f"topic {name}: {field} = {value!r}: {error}") from error
    topic = TopicSpec(**values)  # type: ignore[arg-type]
    if bool(topic.records) == bool(topic.bytes):
        raise SpecError(f"topic {name}: either records or bytes is needed")
    if max(topic.records, topic.bytes) * topic.interval_us > _SPAN_US_MAX:
        raise SpecError(
            f"topic {name}: with this interval_us, timestamps are too far in the future"
        )
    if topic.transaction_batches and not topic.producers:
        raise SpecError(f"topic {name}: transaction_batches need producers")
    return topic


def _whole(value: object, most: int, name: str = "") -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= most:
        raise SpecError(f"{name or value}: a whole number from 0 to {most} is allowed")
    return value


def _count(most: int, least: int = 0) -> Callable[[object], int]:
    def read(value: object) -> int:
        if _whole(value, most) < least:
            raise ValueError(f"a whole number from {least} to {most} is allowed")
        return _whole(value, most)

    return read


def _size(most: int) -> Callable[[object], int]:
    def read(value: object) -> int:
        size = option_values.size_bytes(str(value))
        if size > most:
            raise ValueError(f"a size up to {most} is allowed")
        return size

    return read


def _share(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
        raise ValueError("a share from 0 to 1 is allowed")
    return float(value)


def _flag(value: object) -> bool:
    if not isinstance(value, bool):
        raise ValueError("true or false is allowed")
    return value


def _payload(value: object) -> str:
    if value not in _PAYLOADS:
        raise ValueError(f"one of {', '.join(_PAYLOADS)} is allowed")
    return str(value)


def _codecs(value: object) -> tuple[Codec, ...]:
    if not isinstance(value, list) or not value:
        raise ValueError("a list of codecs is needed")
    try:
        return tuple(Compression(name).codec for name in value)
    except ValueError as error:
        raise ValueError(f"codecs are {', '.join(Compression)}") from error


def _distribution(value: object) -> object:
    quantiles(value)
    return value


_DEFAULTS: Final[Mapping[str, object]] = {
    "keys": {"distribution": "uniform", "min": 0, "max": 99_999},
    "key_bytes": 16,
    "value_bytes": 1000,
}
_READERS: Final[Mapping[str, Callable[[object], object]]] = {
    "name": lambda value: topic_name(str(value)),
    "partitions": _count(100_000, 1),
    "records": _count(_RECORDS_MAX),
    "bytes": _size(1 << 60),
    "keys": _distribution,
    "key_bytes": _distribution,
    "value_bytes": _distribution,
    "null_keys": _share,
    "null_values": _share,
    "payload": _payload,
    "codecs": _codecs,
    "batch_bytes": _size(_BATCH_BYTES_MAX),
    "segment_bytes": _size(_SEGMENT_BYTES_MAX),
    "producers": _count(10_000),
    "transaction_batches": _count(1_000_000),
    "abort_share": _share,
    "start_ms": _count(_TIMESTAMP_MAX),
    "interval_us": _count(_TIMESTAMP_MAX),
    "jitter_ms": _count((1 << 31) - 1),
    "bad_crc_share": _share,
    "gap_share": _share,
    "torn_tail": _flag,
}
