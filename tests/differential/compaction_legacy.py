"""Seeded segments of messages of magic 0 and 1, as logs have them that are older than 0.11.

No client can send them to Kafka 4.3.1, so they are put into its directories while it is down.
"""

import random
from pathlib import Path

from broker_lite.record.builder import BatchBuilder
from broker_lite.record.legacy.message_builder import LegacySetBuilder
from tests.differential.compaction_logs import HOUR_MS, Plan

CODECS = (0, 0, 1, 2, 3)


def make_legacy_plan(seed: int, number: int) -> Plan:
    """A topic without steps: its log is put there."""
    draw = random.Random(f"legacy {seed} {number}")
    configs = {
        "cleanup.policy": "delete",
        "retention.ms": "-1",
        "segment.index.bytes": "4096",
        "internal.segment.bytes": str(draw.choice((300, 700, 6000))),
        "index.interval.bytes": str(draw.choice((0, 100, 1000))),
        "delete.retention.ms": str(10**9),
        "message.timestamp.type": "CreateTime",
        "file.delete.delay.ms": "600000",
    }
    return Plan(f"legacy-{number}", configs, [], [])


def write_legacy_log(directory: Path, seed: int, number: int, now_ms: int) -> None:
    """Write the segments of a log into a directory that holds nothing of it.

    The last one is of v2, as after a broker was upgraded.
    """
    draw = random.Random(f"legacy log {seed} {number}")
    keys = [b"key-%d" % index for index in range(draw.choice((2, 5, 12)))]
    magic = draw.choice((0, 1))
    offset = 0
    for _ in range(draw.randint(2, 6)):
        base, data = offset, b""
        for _ in range(draw.randint(1, 6)):
            builder = _builder(draw, magic, now_ms)
            for _ in range(draw.choice((1, 2, 5))):
                key = draw.choice(keys) if draw.random() < 0.9 else None
                value = None if draw.random() < 0.2 else draw.randbytes(draw.randrange(30))
                builder.append(offset, now_ms - HOUR_MS + offset if magic else -1, key, value)
                offset += 1
            data += builder.build()
        # Kafka fails when nothing is left of the last message of a round: this one stays
        builder = LegacySetBuilder(magic)
        builder.append(offset, now_ms - HOUR_MS if magic else -1, b"own %d" % offset, b"v")
        data += builder.build()
        offset += 1
        (directory / f"{base:020d}.log").write_bytes(data)
    last = BatchBuilder(base_offset=offset, leader_epoch=0)
    last.append(now_ms, b"end", b"v")
    (directory / f"{offset:020d}.log").write_bytes(last.build())


def _builder(draw: random.Random, magic: int, now_ms: int) -> LegacySetBuilder:
    append_time_ms = now_ms - 5 if magic and draw.random() < 0.2 else None
    return LegacySetBuilder(magic, codec=draw.choice(CODECS), log_append_time_ms=append_time_ms)
