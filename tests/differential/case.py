"""What a case is, the topics it goes to, and what all makers of cases share."""

import random
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from tests.differential.batches import GZIP, LZ4, NONE, SNAPPY, ZSTD, BatchSpec, random_records

HOUR_MS: Final = 3_600_000
_CONFIGS: Final[dict[str, dict[str, str]]] = {
    "plain": {},
    "append-time": {"message.timestamp.type": "LogAppendTime"},
    "compacted": {"cleanup.policy": "compact"},
    "compacted-append-time": {
        "cleanup.policy": "compact",
        "message.timestamp.type": "LogAppendTime",
    },
    "gzip": {"compression.type": "gzip"},
    "snappy": {"compression.type": "snappy"},
    "lz4": {"compression.type": "lz4"},
    "zstd": {"compression.type": "zstd"},
    "uncompressed": {"compression.type": "uncompressed"},
    "zstd-append-time": {"compression.type": "zstd", "message.timestamp.type": "LogAppendTime"},
    "small": {"max.message.bytes": "600"},
    "small-uncompressed": {"max.message.bytes": "600", "compression.type": "uncompressed"},
    "small-segment": {"segment.bytes": "1048576", "max.message.bytes": "2000000"},
    "narrow": {
        "message.timestamp.before.max.ms": str(24 * HOUR_MS),
        "message.timestamp.after.max.ms": str(HOUR_MS),
    },
    "compacted-narrow": {
        "cleanup.policy": "compact",
        "message.timestamp.before.max.ms": str(24 * HOUR_MS),
    },
}
WIDE: Final = "wide"
OFFSETS, TRANSACTIONS = "__consumer_offsets", "__transaction_state"
# records of 1970 are among the cases: nothing may be deleted by its age
TOPICS: Final = {
    name: {"retention.ms": "-1", **config}
    for name, config in {TRANSACTIONS: {}, OFFSETS: {}, WIDE: {}, **_CONFIGS}.items()
}
PARTITION_COUNTS: Final = {WIDE: 4, TRANSACTIONS: 4}


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One produce request. `partitions`: (topic, partition index, record set or None).

    From version 13 on a topic goes by its id, which each broker knows for itself; a name that it
    does not know stands for an id that nobody has, the empty name for the zero id.
    """

    kind: str
    partitions: tuple[tuple[str, int, bytes | None], ...]
    version: int = 9
    acks: int = 1
    transactional_id: str | None = None
    client_id: str = "raw-client"
    note: str = field(default="")


Maker = Callable[[], Case]


class CaseMaker:
    """Random topics, batches and requests with one partition, from a source that is shared."""

    def __init__(self, source: random.Random, now_ms: int) -> None:
        self.source = source
        self.now_ms = now_ms

    def topic(self) -> str:
        """One of the topics with one partition that anybody may write to."""
        return self.source.choice(list(_CONFIGS))

    def topics(self, count: int) -> list[str]:
        """Different ones of them."""
        return self.source.sample(list(_CONFIGS), count)

    def batch(self, *, codec: int | None = None, keys: bool | None = None) -> BatchSpec:
        """A batch that is sound and has no producer."""
        source = self.source
        count = source.choice((1, 1, 2, 3, 10, 40))
        return BatchSpec(
            records=random_records(
                source, count, keys=source.random() < 0.7 if keys is None else keys
            ),
            codec=source.choice((NONE, NONE, GZIP, SNAPPY, LZ4, ZSTD)) if codec is None else codec,
            base_timestamp=self.now_ms - source.choice((0, 1000, HOUR_MS, 23 * HOUR_MS)),
        )

    def case(self, kind: str, data: bytes | None, **request: object) -> Case:
        """A request for partition 0 of one topic."""
        topic = str(request.pop("topic", "") or self.topic())
        version = self.source.choice((7, 8, 9, 9, 10, 11, 12, 13))
        request.setdefault("version", version)
        return Case(kind=kind, partitions=((topic, 0, data),), **request)  # type: ignore[arg-type]
