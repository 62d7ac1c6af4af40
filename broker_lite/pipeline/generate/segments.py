"""Writes the segments of a generated log: records, batches, markers and wanted faults.

The seed, the partition and the number of a batch alone decide its content, its producer and its
faults.
"""

import random
from array import array
from functools import cache
from typing import Final

from broker_lite.pipeline.files.file_io import FileIO
from broker_lite.pipeline.generate.distributions import quantiles
from broker_lite.pipeline.generate.plan import shape_of
from broker_lite.pipeline.generate.spec import TopicSpec
from broker_lite.pipeline.write.encode import (
    LEADER_EPOCH,
    NO_PRODUCER,
    BatchEncoder,
    EncodedBatch,
    Producer,
)
from broker_lite.pipeline.write.log_writer import LogWriter, Placement, StagedSegment
from broker_lite.pipeline.write.record_input import RecordInput
from broker_lite.record.batch import RECORD_BATCH_OVERHEAD, SEQUENCE_MAX
from broker_lite.record.control import EndTransactionMarker, end_transaction_batch
from broker_lite.record.loops.encode_records import BytesColumn, RecordEncoder
from broker_lite.record.loops.synthetic import SyntheticRecords, mixed
from broker_lite.record.murmur2 import murmur2

FIRST_PRODUCER_ID: Final = 1 << 40
"""Far above the ids that a broker assigns in practice."""

_ALL: Final = 1 << 64
_MASK: Final = _ALL - 1
_POOL_BYTES: Final = 256 << 10
_WORDS: Final = 2000
_RECORD_OVERHEAD_MAX: Final = 40
_UNLIMITED: Final = 1 << 62
_NO_OFFSETS: Final = memoryview(array("q"))
_ABORT, _BAD_CRC, _GAP = range(3)


class PartitionGenerator:
    """Generates the segments of one partition, in any order.

    Args:
        seed: of the specification.
        topic: of the specification.
        partition: which one.
        first_offset: offset of its first new record.
    """

    def __init__(self, seed: int, topic: TopicSpec, partition: int, first_offset: int) -> None:
        self.topic = topic
        self._partition = partition
        self.shape = shape_of(topic, partition)
        self._first_offset = first_offset
        self._seed = mixed(mixed(seed) ^ murmur2(topic.name.encode()) << 32 ^ partition)
        self._records = SyntheticRecords(
            self._seed,
            quantiles(topic.keys),
            quantiles(topic.key_bytes),
            int(topic.null_keys * (1 << 32)),
            quantiles(topic.value_bytes),
            int(topic.null_values * (1 << 32)),
            memoryview(make_pool(topic.payload, seed)),
            topic.start_ms,
            topic.interval_us,
            topic.jitter_ms,
        )

    def write(self, io: FileIO, root: str, tag: str, number: int) -> list[StagedSegment]:
        """Write a segment into staged files; none if all its batches are to be missing.

        Args:
            io: opens the root.
            root: the log directory.
            tag: of the attempt.
            number: of the segment.

        Raises:
            OSError: a file cannot be written.
        """
        segment = self.shape.segment(number)
        placement = Placement(root, self.topic.name, self._partition, tag, segment_bytes=_UNLIMITED)
        writer = LogWriter(io, placement)
        encoder = BatchEncoder(self._first_offset + segment.base_offset)
        for batch in range(segment.first_batch, segment.end_batch):
            encoded = self._encode(encoder, batch)
            if self.topic.torn_tail and batch + 1 == self.shape.batch_count:
                writer.append_torn(encoded)
                break
            if not self._is_chosen(_GAP, batch, self.topic.gap_share):
                writer.append(encoded)
            for lane in self.shape.markers_after(batch):
                writer.append(self._marker(encoder, batch, lane, encoded.max_timestamp))
        return writer.close()

    def _encode(self, encoder: BatchEncoder, batch: int) -> EncodedBatch:
        first, count = self.shape.records_of(batch)
        made = self._records
        made.fill(first, count)
        keys = BytesColumn(made.key_bits, made.key_ends, made.key_data, 0)
        values = BytesColumn(made.value_bits, made.value_ends, made.value_data, 0)
        encoder.grow(
            RECORD_BATCH_OVERHEAD
            + count * _RECORD_OVERHEAD_MAX
            + made.key_ends[count]
            + made.value_ends[count]
        )
        encoder.codec = self.topic.codecs[batch % len(self.topic.codecs)]
        records = RecordEncoder(made.timestamps, _NO_OFFSETS, keys, values, None)
        full = list(encoder.append(RecordInput(records, made.timestamps, _NO_OFFSETS), 0, count))
        assert not full, "there was room for all of them"
        encoded = encoder.finish(self._producer(batch))
        if self._is_chosen(_BAD_CRC, batch, self.topic.bad_crc_share):
            memoryview(encoded.data)[-1] ^= 1
        return encoded

    def _producer(self, batch: int) -> Producer:
        """Return the producer of a batch, with its next sequence in the partition."""
        if not self.topic.producers:
            return NO_PRODUCER
        turn, lane = divmod(batch, self.shape.lanes)
        sequence = turn * self.shape.batch_records & SEQUENCE_MAX
        is_transactional = self.topic.transaction_batches > 0
        return Producer(FIRST_PRODUCER_ID + lane, 0, sequence, is_transactional)

    def _marker(self, encoder: BatchEncoder, batch: int, lane: int, timestamp: int) -> EncodedBatch:
        transaction = batch // self.shape.cycle_batches * self.shape.lanes + lane
        is_abort = self._is_chosen(_ABORT, transaction, self.topic.abort_share)
        offset = encoder.next_offset
        encoder.skip(1)
        data = end_transaction_batch(
            FIRST_PRODUCER_ID + lane,
            0,
            EndTransactionMarker(not is_abort, 0),
            timestamp=timestamp,
            base_offset=offset,
            leader_epoch=LEADER_EPOCH,
        )
        return EncodedBatch(data, offset, offset, timestamp, record_count=0)

    def _is_chosen(self, purpose: int, number: int, share: float) -> bool:
        return mixed(self._seed ^ mixed(~(number * 3 + purpose) & _MASK)) < share * _ALL


@cache
def make_pool(payload: str, seed: int) -> bytes:
    """Make the bytes that keys and values are cut from: words, noise or zeros."""
    if payload == "zeros":
        return bytes(_POOL_BYTES)
    source = random.Random(seed)  # noqa: S311 - reproducible bytes are wanted
    if payload == "random":
        return source.randbytes(_POOL_BYTES)
    letters = "abcdefghijklmnopqrstuvwxyz"
    words = ["".join(source.choices(letters, k=source.randint(2, 11))) for _ in range(_WORDS)]
    # As in any language, few words are frequent, so codecs compress about as well as on real logs.
    weights = [1 / (rank + 1) for rank in range(_WORDS)]
    text = " ".join(source.choices(words, weights, k=_POOL_BYTES // 5))
    return text.encode()[:_POOL_BYTES]
