"""A batch of a log and its place."""

from typing import NamedTuple

from broker_lite.pipeline.files.layout import Segment
from broker_lite.record.batch import RecordBatch
from broker_lite.record.legacy.messages import LegacyMessage


class LogBatch(NamedTuple):
    """A batch, its segment, and its position in the segment's .log file.

    The batch is a view of the buffer that was read.
    """

    segment: Segment
    position: int
    batch: RecordBatch | LegacyMessage


def first_offset_of(batch: RecordBatch | LegacyMessage, next_offset: int) -> int:
    """Return the first offset of a batch.

    Args:
        batch: of any magic.
        next_offset: the offset after the previous batch. A wrapper of magic 0 or 1 does not have
            its first offset, so this stands in for it.
    """
    if isinstance(batch, RecordBatch):
        return batch.base_offset
    return min(next_offset, batch.last_offset)
