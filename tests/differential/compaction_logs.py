"""Seeded random logs for compaction: batches of many kinds, and markers of transactions.

A log is a list of steps; the steps of the same number of all logs go to the broker in one request.
"""

import random
from collections.abc import Iterator
from typing import NamedTuple

from broker_lite.record.builder import BatchBuilder

CODECS = (0, 0, 0, 1, 2, 3, 4)
PLAIN = -1
HOUR_MS = 3_600_000


class Marker(NamedTuple):
    """The end of a transaction."""

    producer_id: int
    is_commit: bool


Step = bytes | Marker


class Plan(NamedTuple):
    """A topic of one partition: its settings, and the steps before and between its cleanings."""

    topic: str
    configs: dict[str, str]
    first: list[Step]
    second: list[Step]


class _Producer:
    """Numbers a producer's batches."""

    def __init__(self, producer_id: int, is_transactional: bool) -> None:
        self.producer_id = producer_id
        self.is_transactional = is_transactional
        self.is_open = False
        self.sequence = 0

    def builder(self, codec: int) -> BatchBuilder:
        if self.producer_id == PLAIN:
            return BatchBuilder(codec=codec)
        self.is_open = self.is_open or self.is_transactional
        return BatchBuilder(
            codec=codec,
            producer_id=self.producer_id,
            producer_epoch=3,
            base_sequence=self.sequence,
            is_transactional=self.is_transactional,
        )


def make_plan(seed: int, number: int, now_ms: int) -> Plan:
    """Draw a log.

    Args:
        seed: of the run.
        number: of the log; some have something special.
        now_ms: timestamps lie before it.
    """
    draw = random.Random(f"compaction {seed} {number}")
    configs = {
        "cleanup.policy": "delete",
        "retention.ms": "-1",
        "segment.index.bytes": "4096",
        "internal.segment.bytes": str(draw.choice((300, 700, 2000, 6000))),
        "index.interval.bytes": str(draw.choice((0, 100, 1000))),
        "delete.retention.ms": str(draw.choice((0, 1, 10**9))),
        "message.timestamp.type": draw.choice(("CreateTime",) * 5 + ("LogAppendTime",)),
        "file.delete.delay.ms": "600000",
    }
    topic = f"log-{number}"
    if number % 16 == 15:
        configs["internal.segment.bytes"] = str(1 << 20)
        configs["delete.retention.ms"] = str(10**9)
        return Plan(topic, configs, *(list(_many_keys(draw, now_ms)) for _ in range(2)))
    producers = [_Producer(PLAIN, False)]
    producers += [_Producer(1000 + index, False) for index in range(draw.randrange(3))]
    producers += [_Producer(2000 + index, True) for index in range(draw.randrange(3))]
    keys = [b"key-%d" % index for index in range(draw.choice((2, 5, 12, 60)))]
    # what is larger than a segment would be refused
    count_max = max((int(configs["internal.segment.bytes"]) - 150) // 80, 1)
    style = keys, now_ms, count_max
    first = [_step(draw, producers, *style, True) for _ in range(draw.randint(10, 50))]
    if draw.random() < 0.6:  # else some transactions stay open, and end the round early
        first += [Marker(one.producer_id, draw.random() < 0.5) for one in producers if one.is_open]
        for one in producers:
            one.is_open = False
    first += [_step(draw, producers[:1], *style, True) for _ in range(3)]
    second = [_step(draw, producers, *style, False) for _ in range(draw.randint(5, 25))]
    return Plan(topic, configs, first, second)


def _many_keys(draw: random.Random, now_ms: int) -> Iterator[Step]:
    """More keys than the map has room for."""
    for _ in range(60):
        builder = BatchBuilder()
        for _ in range(1000):
            builder.append(now_ms - HOUR_MS, b"%d" % draw.randrange(90_000), b"v" * 20)
        yield builder.build()


def _step(
    draw: random.Random,
    producers: list[_Producer],
    keys: list[bytes],
    now_ms: int,
    count_max: int,
    may_lack_key: bool,
) -> Step:
    producer = draw.choice(producers)
    if producer.is_transactional and draw.random() < (0.3 if producer.is_open else 0.05):
        producer.is_open = False
        return Marker(producer.producer_id, draw.random() < 0.5)
    builder = producer.builder(draw.choice(CODECS))
    for _ in range(min(draw.choice((1, 1, 1, 2, 3, 8, 30)), count_max)):
        key = draw.choice(keys) if not may_lack_key or draw.random() < 0.95 else None
        value = None if draw.random() < 0.25 else draw.randbytes(draw.randrange(40))
        headers = []
        if draw.random() < 0.2:
            name = draw.choice((b"", b"h", "ä".encode(), b"\xff\xfe"))
            headers.append((name, draw.choice((None, b"", b"x"))))
        timestamp = now_ms - HOUR_MS + draw.randrange(-5000, 5000)
        builder.append(timestamp, key, value, headers)
    producer.sequence += builder.record_count
    return builder.build()
