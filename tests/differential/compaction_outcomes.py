"""What of two compacted logs differs, and which of it may."""

from collections import Counter
from pathlib import Path
from typing import Final, NamedTuple

from broker_lite.record.batch import CURRENT_MAGIC, MAGIC_OFFSET, RecordBatch
from broker_lite.record.legacy.messages import LegacyMessage, iterate_legacy
from broker_lite.record.records import iterate_records
from tests.differential.compaction_logs import Plan
from tests.log.logs import batches_of

REASONS: Final = {
    "horizon": "R-91: a delete horizon is the time of the cleaning, and the deltas are relative",
    "compressed": "R-83: what is compressed again has the bytes of another encoder",
}
"""The differences that may be, and why."""


class Difference(NamedTuple):
    """One that may not be."""

    topic: str
    phase: str
    offset: int
    text: str


def compare(
    kafka: Path, ours: Path, plan: Plan, phase: str, window: range
) -> tuple[int, Counter[str], list[Difference]]:
    """Compare what two directories hold of a log.

    Args:
        kafka: cleaned by Kafka.
        ours: cleaned by broker-lite.
        plan: of the log.
        phase: for the report.
        window: in which both were cleaned, in ms since the epoch.

    Returns:
        How many batches there are, how often something differs that may, and what may not.
    """
    listed, found, batches = Counter[str](), [], 0
    theirs_by_base, ours_by_base = segments(kafka), segments(ours)
    if theirs_by_base.keys() != ours_by_base.keys():
        text = f"segments {sorted(theirs_by_base)} are {sorted(ours_by_base)} here"
        return 0, listed, [Difference(plan.topic, phase, -1, text)]
    horizons = range(
        window.start + int(plan.configs["delete.retention.ms"]),
        window.stop + int(plan.configs["delete.retention.ms"]),
    )
    for base, theirs in theirs_by_base.items():
        pairs = batches_of(theirs), batches_of(ours_by_base[base])
        offsets = [[offset_of(one) for one in each] for each in pairs]
        if offsets[0] != offsets[1]:
            text = f"batches {offsets[0]} are {offsets[1]} here"
            found.append(Difference(plan.topic, phase, base, text))
            continue
        for one, other in zip(*pairs, strict=True):
            batches += 1
            name = judge(one, other, horizons)
            if name in REASONS:
                listed[name] += 1
            elif name:
                found.append(Difference(plan.topic, phase, offset_of(one), name))
        sizes = [[len(one) for one in each] for each in pairs]
        if sizes[0] == sizes[1] and base != max(theirs_by_base):
            found += [
                Difference(plan.topic, phase, base, f"{suffix} {sides[0]} is {sides[1]} here")
                for suffix in (".index", ".timeindex", ".txnindex")
                if (sides := tuple(content(each, base, suffix) for each in (kafka, ours)))[0]
                != sides[1]
            ]
    return batches, listed, found


def segments(directory: Path) -> dict[int, bytes]:
    return {int(path.stem): path.read_bytes() for path in directory.glob("*.log")}


def content(directory: Path, base: int, suffix: str) -> str:
    path = directory / f"{base:020d}{suffix}"
    return path.read_bytes().hex() if path.exists() else ""


def view(data: bytes) -> RecordBatch:
    return RecordBatch(memoryview(data), 0, len(data))


def offset_of(data: bytes) -> int:
    return int.from_bytes(data[:8], "big")


def judge(theirs: bytes, ours: bytes, horizons: range) -> str:
    """Name the difference of two batches; nothing when there is none."""
    if theirs == ours:
        return ""
    if theirs[MAGIC_OFFSET] != ours[MAGIC_OFFSET]:
        return f"magic {theirs[MAGIC_OFFSET]} is {ours[MAGIC_OFFSET]} here"
    if theirs[MAGIC_OFFSET] < CURRENT_MAGIC:
        return _judge_old(*(LegacyMessage(memoryview(one), 0, len(one)) for one in (theirs, ours)))
    return _judge(view(theirs), view(ours), horizons)


def _judge_old(theirs: LegacyMessage, ours: LegacyMessage) -> str:
    for name in ("last_offset", "attributes", "timestamp"):
        sides = getattr(theirs, name), getattr(ours, name)
        if sides[0] != sides[1]:
            return f"{name} {sides[0]} is {sides[1]} here"
    if not ours.crc_is_valid():
        return "the checksum is wrong"
    records = [list(iterate_legacy(one)) for one in (theirs, ours)]
    if records[0] != records[1]:
        return f"records {records[0]} are {records[1]} here"
    return "compressed" if theirs.codec else "other bytes"


def _judge(theirs: RecordBatch, ours: RecordBatch, horizons: range) -> str:
    for name in (
        "attributes",
        "last_offset_delta",
        "leader_epoch",
        "max_timestamp",
        "producer_id",
        "producer_epoch",
        "base_sequence",
        "record_count",
    ):
        sides = getattr(theirs, name), getattr(ours, name)
        if sides[0] != sides[1]:
            return f"{name} {sides[0]} is {sides[1]} here"
    if not ours.crc_is_valid():
        return "the checksum is wrong"
    records = [
        [(r.offset, r.timestamp, r.key, r.value, r.headers) for r in iterate_records(one)]
        for one in (theirs, ours)
    ]
    if records[0] != records[1]:
        return f"records {records[0]} are {records[1]} here"
    if theirs.base_timestamp != ours.base_timestamp:
        if theirs.base_timestamp in horizons and ours.base_timestamp in horizons:
            return "horizon"
        return f"horizon {theirs.base_timestamp} is {ours.base_timestamp} here, not in {horizons}"
    return "compressed" if theirs.codec else f"{theirs.data.hex()} is {ours.data.hex()} here"
