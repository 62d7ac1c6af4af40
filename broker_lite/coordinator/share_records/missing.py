"""Records in flight that the log no longer has, because its cleaner has removed them.

If they are available when the record batches from the next offset on are fetched, they are
archived. Otherwise the next offset would stay at them for good, and each fetch would find the same.

A difference to Kafka: if records in flight were removed by compaction, it is written at once that
they are archived, and the start offset moves behind them. Kafka does both with the next
acknowledgement.

Rule: K-25 (SharePartition.maybeArchiveStaleBatches).
"""

from collections.abc import Sequence

from broker_lite.coordinator.share_records.acquire import Range
from broker_lite.coordinator.share_records.in_flight import InFlight, InFlightBatch, Run
from broker_lite.coordinator.share_records.partition import SharePartition
from broker_lite.coordinator.share_records.state import RecordState, StateUpdate


def archive_missing(
    partition: SharePartition, fetched: Sequence[Range], first_offset: int
) -> StateUpdate | None:
    """Archive what is available, but not in the log, from an offset on.

    It ends at the first record that is available and in the log.

    Args:
        partition: the share partition.
        fetched: the record batches from an offset on, in order.
        first_offset: that offset. It was the next offset when they were fetched; records before it
            may have become available since, and are not missing.

    Returns:
        What has to be written; None if nothing is missing.
    """
    missing = _missing(partition, fetched, first_offset)
    if not missing:
        return None
    in_flight = partition.in_flight
    for batch in in_flight.within(missing[0].first, missing[-1].last):
        if batch.is_unread:
            _end_unread(in_flight, batch, missing[-1].last)
    archived: list[Run] = []
    for _, run in in_flight.cut(missing):
        partition.settle(run, RecordState.ARCHIVED)
        archived.append(run)
    return partition.changed(archived)


def _missing(partition: SharePartition, fetched: Sequence[Range], first_offset: int) -> list[Range]:
    """Return the ranges of available records before the first one that was fetched."""
    missing: list[Range] = []
    first = max(first_offset, partition.next_offset())
    if not fetched or first >= fetched[0].first or first > partition.end_offset:
        return missing
    position = 0
    for run in partition.in_flight.runs(first, min(fetched[-1].last, partition.end_offset)):
        if run.state is not RecordState.AVAILABLE:
            continue
        begin = max(run.first, first)
        while fetched[position].last < begin:
            position += 1
        following = fetched[position].first
        if following <= begin:
            break
        missing.append(Range(begin, min(run.last, following - 1)))
        if following <= run.last:
            break
    return missing


def _end_unread(in_flight: InFlight, batch: InFlightBatch, last: int) -> None:
    """Note that it is known up to an offset which records of a batch exist.

    Nobody has read yet what lies behind the offset, so that is a batch of its own.
    """
    batch.is_unread = False
    if last < batch.last:
        in_flight.split(batch, last + 1).is_unread = True
