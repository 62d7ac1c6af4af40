"""What an offline compaction goes by, as the rules of the broker's cleaner take it."""

from collections.abc import Mapping

from broker_lite.log.cleaner.survivors import LastRecord, Round
from broker_lite.log.producers.entry import ProducerEntry
from broker_lite.pipeline.compact.survivors import NewestByOffset, OffsetSet
from broker_lite.pipeline.read.transactions import AbortedRanges
from broker_lite.record.batch import RecordBatch


def offline_round(
    *,
    survivors: OffsetSet,
    emptied_markers: OffsetSet,
    aborted: AbortedRanges,
    producers: Mapping[int, ProducerEntry],
    end_offset: int,
    now_ms: int,
    delete_retention_ms: int,
) -> Round:
    """Put together what was found out about a partition.

    Args:
        survivors: offsets of the newest record of each key, tombstones too, within the round.
        emptied_markers: offsets of the markers whose transactions have no data batch in it.
        aborted: transactions whose records go.
        producers: those that a broker still knows.
        end_offset: of the round: what lies behind is not touched.
        now_ms: when it is.
        delete_retention_ms: how long tombstones and markers stay after they were first seen.
    """

    def can_discard(batch: RecordBatch) -> bool:
        """See: S-86."""
        if batch.is_control:
            return batch.record_count == 0 or batch.base_offset in emptied_markers
        return aborted.hides(batch)

    def last_record(producer_id: int) -> LastRecord | None:
        """See: S-87."""
        entry = producers.get(producer_id)
        if entry is None:
            return None
        return LastRecord(entry.batches[-1].last_offset if entry.batches else -1, entry.epoch)

    return Round(
        can_discard,
        NewestByOffset(survivors),
        last_record,
        end_offset,
        now_ms,
        delete_retention_ms,
    )
