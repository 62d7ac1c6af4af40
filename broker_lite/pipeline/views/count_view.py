"""Counts the records of a split: a row for each group, with what was asked of its records.

They are the records of the record view. The rows of several splits have to be added up: a group
can have records in each of them, and more than one row in one of them, where there are so many
groups that not all fit into the memory.

If only counts and offsets are wanted, a batch tells them by its header, and nothing is
decompressed. That is exact for a sound batch that lies in the split as a whole and has a record for
each of its offsets. A batch that a cleaner took records from, and one that is cut by the split, is
read record by record. So is every batch where checksums are not checked.
"""

from array import array
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final

import pyarrow as pa

from broker_lite.pipeline.files.file_io import FileIO
from broker_lite.pipeline.read import counting as names
from broker_lite.pipeline.read.corruption import ON_CORRUPTION
from broker_lite.pipeline.read.counting import Counting
from broker_lite.pipeline.read.measured import Measured
from broker_lite.pipeline.read.options import ReadOptions
from broker_lite.pipeline.read.split import Split
from broker_lite.pipeline.views.record_columns import TimestampOutOfRange
from broker_lite.pipeline.views.visible_records import VisibleRecords
from broker_lite.record.batch import RecordBatch
from broker_lite.record.legacy.messages import LegacyMessage
from broker_lite.record.loops.group_totals import GroupTotals

SLOTS_MAX: Final = 1 << 16
"""How many groups are in memory, 72 bytes each."""

_CREATE_TIME: Final = -2
_TIMESTAMP: Final = pa.timestamp("us", tz="UTC")
_TYPES: Final[Mapping[str, pa.DataType]] = {
    names.TOPIC: pa.string(),
    names.PARTITION: pa.int32(),
    names.TIME_BUCKET: _TIMESTAMP,
    names.KEY_HASH: pa.int32(),
    names.MIN_TIMESTAMP: _TIMESTAMP,
    names.MAX_TIMESTAMP: _TIMESTAMP,
}


def count_schema(options: ReadOptions) -> pa.Schema:
    """Return the columns: the groups, then the measures; a measure without a type is a long."""
    counting = _counting(options)
    fields = [(name, _TYPES.get(name, pa.int64())) for name in (*counting.by, *counting.measures)]
    return pa.schema(fields)


def count_batches(
    io: FileIO, split: Split, options: ReadOptions, *, slots_max: int = SLOTS_MAX
) -> Iterator[pa.RecordBatch]:
    """Yield the groups of a split as Arrow batches of count_schema().

    Args:
        io: opens split.uri.
        split: from plan() for the record view.
        options: with `counting`; also uses isolation_level, check_crc, on_corrupt and
            fail_on_data_loss.
        slots_max: how many groups are in memory; more take more rows.

    Raises:
        CorruptLog: something is damaged, with onCorrupt=fail.
        TimestampOutOfRange: a timestamp does not fit into microseconds.
        FileNotFoundError: a segment vanished, with failOnDataLoss=true.
        OSError: a file cannot be read.
    """
    counter = _Counter(split, options, slots_max)
    visible = VisibleRecords(io, split, options, ON_CORRUPTION[options.on_corrupt])
    is_by_header = counter.counting.is_by_header and options.check_crc
    for found in visible.batches():
        batch = found.batch
        if is_by_header and not isinstance(batch, LegacyMessage) and _is_whole(batch, split):
            if not visible.hides(batch):
                counter.add_header(batch)
            continue
        for measured in visible.measured(found):
            if measured.totals[0]:
                yield from counter.add(measured)
    yield from counter.take()


def _counting(options: ReadOptions) -> Counting:
    assert options.counting is not None, "the options of this view"
    return options.counting


def _is_whole(batch: RecordBatch, split: Split) -> bool:
    """Tell whether a batch has a record for each of its offsets, and all of them are wanted."""
    return (
        batch.record_count == batch.next_offset - batch.base_offset
        and split.first_offset <= batch.base_offset
        and batch.next_offset <= split.end_offset
    )


class _Counter:
    """The groups of a split so far."""

    def __init__(self, split: Split, options: ReadOptions, slots_max: int) -> None:
        self.counting = _counting(options)
        self._split = split
        self._schema = count_schema(options)
        slots = self.counting.key_hashes + 1 if self.counting.key_hashes else 1
        self._buckets_max = max(1, slots_max // slots) if self.counting.bucket_ms else 1
        self._totals = self._new_totals()
        self._records = 0  # of headers
        self._offsets: list[int] = []  # the lowest and the highest one of headers

    def _new_totals(self) -> GroupTotals:
        return GroupTotals(self._buckets_max, self.counting.bucket_ms, self.counting.key_hashes)

    def add_header(self, batch: RecordBatch) -> None:
        """Count the records of a batch by its header."""
        self._records += batch.record_count
        ends = [batch.base_offset, batch.next_offset - 1]
        self._offsets = ends if not self._offsets else [self._offsets[0], ends[1]]

    def add(self, batch: Measured) -> Iterator[pa.RecordBatch]:
        """Count the records of a batch; yields groups whenever there is no room for another."""
        append_time, split, read = batch.append_time_ms, self._split, 0
        while True:
            read = self._totals.add(
                *(batch.buffer, batch.start, batch.end, batch.record_count),
                *(batch.base_offset, batch.base_timestamp),
                _CREATE_TIME if append_time is None else append_time,
                *(split.first_offset, split.end_offset, read),
            )
            if read == batch.record_count:
                return
            yield from self.take()

    def take(self) -> Iterator[pa.RecordBatch]:
        """Yield the groups so far, if there are any, and forget them."""
        totals = self._totals
        places = [place for place, count in enumerate(_list(totals.records)) if count]
        columns = {name: made(totals, places) for name, made in _COLUMNS.items()}
        rows = len(places)
        if self._records:
            headers = {
                names.RECORDS: self._records,
                names.MIN_OFFSET: self._offsets[0],
                names.MAX_OFFSET: self._offsets[1],
            }
            for name in columns:
                columns[name].append(headers.get(name))
            rows += 1
        columns[names.TOPIC] = [self._split.topic] * rows
        columns[names.PARTITION] = [self._split.partition] * rows
        if rows:
            yield self._arrow_batch(columns)
        if places:
            self._totals = self._new_totals()
        self._records, self._offsets = 0, []

    def _arrow_batch(self, columns: Mapping[str, list[Any]]) -> pa.RecordBatch:
        try:
            arrays = [_array(columns[field.name], field.type) for field in self._schema]
        except pa.ArrowInvalid:
            split = self._split
            raise TimestampOutOfRange(
                f"{split.topic}-{split.partition}: between the offsets {split.first_offset} and"
                f" {split.end_offset - 1} is a timestamp that microseconds do not hold"
            ) from None
        return pa.RecordBatch.from_arrays(arrays, schema=self._schema)


def _array(values: list[Any], kind: pa.DataType) -> pa.Array:
    if kind == _TIMESTAMP:
        return pa.array(values, pa.timestamp("ms", tz="UTC")).cast(kind)
    return pa.array(values, kind)


def _list(numbers: memoryview) -> Sequence[int]:
    return array("q", bytes(numbers))


_Column = Callable[[GroupTotals, list[int]], list[Any]]


def _measure(attribute: str) -> _Column:
    def column(totals: GroupTotals, places: list[int]) -> list[Any]:
        numbers = _list(getattr(totals, attribute))
        return [numbers[place] for place in places]

    return column


def _starts(totals: GroupTotals, places: list[int]) -> list[Any]:
    starts = _list(totals.starts)
    return [starts[place // totals.slots] for place in places]


def _hashes(totals: GroupTotals, places: list[int]) -> list[Any]:
    """Return the hash of each group, null for the one of records without a key."""
    hashes = [place % totals.slots for place in places]
    return [None if one == totals.key_hashes else one for one in hashes]


_COLUMNS: Final[Mapping[str, _Column]] = {
    names.TIME_BUCKET: _starts,
    names.KEY_HASH: _hashes,
    names.RECORDS: _measure("records"),
    names.KEYS: _measure("keys"),
    names.KEY_BYTES: _measure("key_bytes"),
    names.VALUES: _measure("values"),
    names.VALUE_BYTES: _measure("value_bytes"),
    names.MIN_OFFSET: _measure("min_offset"),
    names.MAX_OFFSET: _measure("max_offset"),
    names.MIN_TIMESTAMP: _measure("min_timestamp"),
    names.MAX_TIMESTAMP: _measure("max_timestamp"),
}
