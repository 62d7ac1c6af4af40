"""Adds up what the headers of batches tell, in one pass over the batch view."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from broker_lite.pipeline.files.open_file_io import open_file_io
from broker_lite.pipeline.measure.rate_cells import CELLS, cells_of, coarsened
from broker_lite.pipeline.measure.sums import Sums, Tables, add_up, counted_sizes
from broker_lite.pipeline.read.offset_limits import TopicPartition
from broker_lite.pipeline.read.options import ReadOptions
from broker_lite.pipeline.read.split import Split
from broker_lite.pipeline.stream.planned import read_planned

COLUMNS: Final = (
    *("topic", "partition", "sizeInBytes", "baseOffset", "lastOffset", "recordCount"),
    *("timestampType", "isTransactional", "isControl", "producerId", "producerEpoch"),
    *("baseTimestamp", "maxTimestamp", "deleteHorizon", "error"),
)
"""What add_batches() needs of the batch view."""

_LOG_APPEND_TIME: Final = 1  # in the column timestampType
_ROWS: Final = 1 << 14
_FACTS: Final = {
    "batches": "sum",
    "records": "sum",
    "sizeInBytes": "sum",
    "firstMs": "min",
    "lastMs": "max",
}
SIZE_COUNTS: Final = Sums(("size",), {"number": "sum"})
FORMS: Final[Mapping[str, Sums]] = {
    "damage": Sums(("topic",), {"places": "sum"}),
    "partitions": Sums(
        ("topic", "partition"),
        {
            **_FACTS,
            "firstOffset": "min",
            "lastOffset": "max",
            "recordCount": "sum",
            "uncounted": "sum",
        },
    ),
    "batch_sizes": SIZE_COUNTS,
    "batch_records": SIZE_COUNTS,
    "rates": CELLS,
    "times": Sums(("topic", "partition", "step"), {"lastOffset": "max", "lastMs": "max"}),
    "producers": Sums(
        ("producerId", "producerEpoch", "topic", "partition"), {**_FACTS, "transactional": "sum"}
    ),
    "delays": Sums(("topic", "delay"), {"batches": "sum"}),
}


def add_batches(found: Iterable[Tables]) -> Tables:
    """Add up the sums of several tasks, in FORMS."""
    tables = add_up(FORMS, found)
    return {**tables, "rates": coarsened(tables["rates"])} if "rates" in tables else tables


def batch_sums(
    options: ReadOptions, steps: Mapping[TopicPartition, int], splits: Iterable[Split]
) -> Tables:
    """Add up the batches of splits.

    Args:
        options: of a read of the batch view, with COLUMNS.
        steps: the partitions whose timestamps are sampled, and how many offsets lie between them.
        splits: from a plan for these options.

    Raises:
        CorruptLog: something is damaged, with onCorrupt=fail.
        OSError: a file cannot be read.
    """
    return add_batches(_sums_of(rows, steps) for rows in _tables(options, splits))


def _tables(options: ReadOptions, splits: Iterable[Split]) -> Iterator[pa.Table]:
    """Put the rows of small splits together: to add up takes as long for one row as for many."""
    rows: list[pa.RecordBatch] = []
    for split in splits:
        io, _ = open_file_io(split.uri)
        for arrow_batch in read_planned(io, split, options):
            rows.append(arrow_batch)
            if sum(one.num_rows for one in rows) >= _ROWS:
                yield pa.Table.from_batches(rows)
                rows = []
    if rows:
        yield pa.Table.from_batches(rows)


def _sums_of(view: pa.Table, steps: Mapping[TopicPartition, int]) -> Tables:
    is_damaged = pc.is_valid(view["error"])
    damaged, rows = view.filter(is_damaged), _prepared(view.filter(pc.invert(is_damaged)))
    ones = pa.repeat(1, damaged.num_rows)
    sums = {"damage": FORMS["damage"].of(damaged.append_column("places", ones))}
    if rows.num_rows:
        sums |= {
            "partitions": FORMS["partitions"].of(rows),
            "batch_sizes": counted_sizes(rows["sizeInBytes"]),
            "batch_records": counted_sizes(rows["records"]),
            "rates": cells_of(rows),
            "times": FORMS["times"].of(*_sampled(rows, steps)),
            "producers": FORMS["producers"].of(_of_producers(rows)),
            "delays": FORMS["delays"].of(_delayed(rows)),
        }
    return sums


def _prepared(rows: pa.Table) -> pa.Table:
    """Add first and last times in ms, and record counts, which leave out markers.

    A compacted batch can have a delete horizon, in the future, in place of its base timestamp. With
    LogAppendTime all records have the batch's max timestamp; its base timestamp is a producer's.
    """
    base, last = _ms(rows["baseTimestamp"]), _ms(rows["maxTimestamp"])
    first = pc.if_else(_is_append_time(rows), last, pc.min_element_wise(base, last))
    columns = {
        "batches": pa.repeat(1, rows.num_rows),
        "records": pc.if_else(rows["isControl"], None, rows["recordCount"]),
        "firstMs": first,
        "lastMs": last,
        "firstOffset": pc.coalesce(rows["baseOffset"], rows["lastOffset"]),
        "uncounted": pc.is_null(rows["recordCount"]),
        "transactional": rows["isTransactional"],
        "delay": pc.subtract(last, base),
    }
    for name, values in columns.items():
        rows = rows.append_column(name, values)
    return rows


def _ms(timestamps: pa.ChunkedArray) -> pa.ChunkedArray:
    return pc.divide(timestamps.cast(pa.int64()), 1000)  # none is before 1970


def _is_append_time(rows: pa.Table) -> pa.ChunkedArray:
    return pc.fill_null(pc.equal(rows["timestampType"], _LOG_APPEND_TIME), False)


def _of_producers(rows: pa.Table) -> pa.Table:
    """Choose the data of idempotent producers."""
    return rows.filter(pc.and_(pc.greater_equal(rows["producerId"], 0), _is_data(rows)))


def _is_data(rows: pa.Table) -> pa.ChunkedArray:
    return pc.invert(rows["isControl"])


def _delayed(rows: pa.Table) -> pa.Table:
    """Choose the batches that tell the time from their producer to their append.

    With LogAppendTime, a broker stores its own time as the largest timestamp, and keeps the base
    timestamp of the producer. A batch that it had to build anew has its time in both: it tells
    nothing. With CreateTime no time of an append is stored.
    """
    is_told = pc.and_(_is_append_time(rows), pc.fill_null(pc.greater(rows["delay"], 0), False))
    is_whole = pc.and_(_is_data(rows), pc.is_null(rows["deleteHorizon"]))
    return rows.filter(pc.and_(is_told, is_whole))


def _sampled(rows: pa.Table, steps: Mapping[TopicPartition, int]) -> Iterator[pa.Table]:
    """Number the steps of the partitions whose timestamps are sampled."""
    step = pa.repeat(pa.scalar(0, pa.int64()), 0)
    yield rows.slice(0, 0).append_column("step", step)
    dated = rows.filter(pc.is_valid(rows["lastMs"]))
    for (topic, partition), width in steps.items():
        is_wanted = pc.and_(
            pc.equal(dated["topic"], topic), pc.equal(dated["partition"], partition)
        )
        chosen = dated.filter(is_wanted)
        if chosen.num_rows:
            yield chosen.append_column("step", pc.divide(chosen["lastOffset"], width))
