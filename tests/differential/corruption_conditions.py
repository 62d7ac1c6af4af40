"""Conditions on a damage and on how the partition is started, by the names of the table."""

from collections.abc import Callable, Mapping
from typing import Final

from tests.differential.damaged_log import Damage, Sample
from tests.differential.loaded_log import Start

_BASE_OFFSET_BYTES: Final = 8

Condition = Callable[[Sample, Damage, Start], bool]


def epochs_unreadable(sample: Sample, damage: Damage, _start: Start) -> bool:
    """The file of leader epochs is damaged."""
    return damage.name == "leader-epoch-checkpoint"


def offset_damaged(sample: Sample, damage: Damage, start: Start) -> bool:
    """A flipped bit is in the base offset of a batch that is recovered."""
    if not damage.name.endswith(".log") or not damage.mask or start.is_clean:
        return False
    position, data = 0, sample.files[damage.name]
    while position < len(data):
        if position <= damage.position < position + _BASE_OFFSET_BYTES:
            return True
        position += 12 + int.from_bytes(data[position + 8 : position + 12], "big")
    return False


def last_segment_damaged(sample: Sample, damage: Damage, start: Start) -> bool:
    """The .log of the last segment, or its index, is damaged after a clean stop."""
    return start.is_clean and damage.name in {
        f"{sample.bases[-1]:020}.log",
        f"{sample.bases[-1]:020}.index",
    }


def clean_log_damaged(_sample: Sample, damage: Damage, start: Start) -> bool:
    """The .log of another segment is damaged, and nobody has to look at it."""
    return damage.name.endswith(".log") and (start.is_clean or bool(start.recovery_point))


def transactions_damaged(_sample: Sample, damage: Damage, _start: Start) -> bool:
    """An index of aborted transactions is damaged."""
    return damage.name.endswith(".txnindex")


def index_damaged(_sample: Sample, damage: Damage, start: Start) -> bool:
    """An offset or time index is damaged that nobody makes anew at the start."""
    is_trusted = start.is_clean or bool(start.recovery_point)
    return is_trusted and damage.name.endswith((".index", ".timeindex"))


CONDITIONS: Final[Mapping[str, Condition]] = {
    "an index of aborted transactions is damaged": transactions_damaged,
    "an index that nobody makes anew is damaged": index_damaged,
    "records that nobody looks through are damaged": clean_log_damaged,
    "the file of leader epochs is damaged": epochs_unreadable,
    "the last segment of a clean log is damaged": last_segment_damaged,
    "the offset of a batch is damaged": offset_damaged,
}
