"""One offline compaction of a partition, in the form that the broker's cleaner rules take."""

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
    """Make the Round of a partition.

    Args:
        survivors: offset of the newest record of each key within the round, tombstones included.
        emptied_markers: offsets of the markers whose transactions have no data batch in the round.
        aborted: transactions whose records are removed.
        producers: producers that a broker still remembers.
        end_offset: end of the round; later records are not touched.
        now_ms: the time.
        delete_retention_ms: how long tombstones and markers stay after the cleaner first saw them.
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
        can_discard, NewestByOffset(survivors), last_record, end_offset, now_ms, delete_retention_ms
    )
