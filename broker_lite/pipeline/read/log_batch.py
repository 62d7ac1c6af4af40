"""A batch of a log, and where it lies."""

from typing import NamedTuple

from broker_lite.pipeline.files.layout import Segment
from broker_lite.record.batch import RecordBatch
from broker_lite.record.legacy.messages import LegacyMessage


class LogBatch(NamedTuple):
    """A batch, its segment, and its position in the segment's .log file.

    The batch is a view of memory that lives as long as the view does.
    """

    segment: Segment
    position: int
    batch: RecordBatch | LegacyMessage


def first_offset_of(batch: RecordBatch | LegacyMessage, next_offset: int) -> int:
    """Give the first offset of a batch.

    Args:
        batch: of any magic.
        next_offset: what follows the batches in front. Where the set in a wrapper of magic 0 or 1
            begins is known by that alone.
    """
    if isinstance(batch, RecordBatch):
        return batch.base_offset
    return min(next_offset, batch.last_offset)
