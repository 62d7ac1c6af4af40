"""Checks length and magic of a batch, before anything else of it is read."""

from typing import Final

from broker_lite.pipeline.files.sound_search import BATCH_BYTES_MAX
from broker_lite.record.batch import RECORD_BATCH_OVERHEAD
from broker_lite.record.framing import CURRENT_MAGIC, LOG_OVERHEAD, RECORD_OVERHEAD_V0

_LENGTH_MIN: Final = {
    0: RECORD_OVERHEAD_V0,
    1: RECORD_OVERHEAD_V0 + 8,
    CURRENT_MAGIC: RECORD_BATCH_OVERHEAD - LOG_OVERHEAD,
}


def framing_fault(length: int, magic: int) -> tuple[str, str] | None:
    """Return the broken rule and a text; None if length and magic are right.

    See: R-02, R-04.
    """
    minimum = _LENGTH_MIN.get(magic)
    if minimum is None:
        return "R-02", f"magic {magic}"
    if length < minimum:
        return "R-04", f"length {length} of a batch of magic {magic}, at least {minimum}"
    if length > BATCH_BYTES_MAX:
        return "R-04", f"length {length}, more than the {BATCH_BYTES_MAX} that are read"
    return None
