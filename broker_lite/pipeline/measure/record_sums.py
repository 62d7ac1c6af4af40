"""Adds up what records tell: ratios of codecs, sizes, and how often each key occurs."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Final
from zlib import crc32

import pyarrow as pa
import pyarrow.compute as pc

from broker_lite.pipeline.files.file_io import FileIO
from broker_lite.pipeline.files.open_file_io import open_file_io
from broker_lite.pipeline.measure.batch_sums import SIZE_COUNTS
from broker_lite.pipeline.measure.codec_sums import CodecSums
from broker_lite.pipeline.measure.sums import Sums, Tables, add_up, counted_sizes
from broker_lite.pipeline.read.corruption import ON_CORRUPTION
from broker_lite.pipeline.read.options import ReadOptions, View
from broker_lite.pipeline.read.split import Split
from broker_lite.pipeline.stream.planned import read_planned_by
from broker_lite.pipeline.views.record_columns import ColumnGatherer
from broker_lite.pipeline.views.record_schema import record_schema
from broker_lite.pipeline.views.visible_records import VisibleRecords

KEYS: Final = Sums(("topic", "key"), {"records": "sum"})
FORMS: Final[Mapping[str, Sums]] = {
    "codecs": Sums(
        ("topic", "codec"),
        dict.fromkeys(("batches", "records", "stored_bytes", "plain_bytes"), "sum"),
    ),
    "key_sizes": SIZE_COUNTS,
    "value_sizes": SIZE_COUNTS,
    "keys": KEYS,
}
OTHERS: Final = -1
"""The bucket of what is not about single keys."""

_COLUMNS: Final = record_schema(columns=("topic", "key", "value"))


def record_sums(options: ReadOptions, splits: Iterable[Split]) -> Tables:
    """Add up the records of splits, in FORMS.

    Batches of messages of magic 0 and 1 are not among the codecs: their records have no plain size.

    Args:
        options: of the read.
        splits: from a plan of the batch view, so that no batch is in two of them.

    Raises:
        CorruptLog: something is damaged, with onCorrupt=fail.
        OSError: a file cannot be read.
    """
    wanted = replace(options, view=View.RECORDS)
    return add_up(FORMS, (found for split in splits for found in _of_split(split, wanted)))


def _of_split(split: Split, options: ReadOptions) -> Iterator[Tables]:
    io, _ = open_file_io(split.uri)
    return read_planned_by(_sums, io, split, options)


def _sums(io: FileIO, split: Split, options: ReadOptions) -> Iterator[Tables]:
    """Decompress each batch once, for its codec and for its records."""
    codecs = CodecSums(split.topic)
    gatherer = ColumnGatherer(
        _COLUMNS, split.topic, split.partition, split.first_offset, split.end_offset
    )
    visible = VisibleRecords(io, split, options, ON_CORRUPTION[options.on_corrupt])
    for found in visible.batches():
        for measured in visible.measured(found):
            codecs.add(found.batch, measured)
            if measured.totals[0] and gatherer.add(measured):
                yield _of_rows(gatherer.take())
    if gatherer.records:
        yield _of_rows(gatherer.take())
    if codecs.facts:
        yield {"codecs": codecs.table()}


def _of_rows(arrow_batch: pa.RecordBatch) -> Tables:
    rows = pa.Table.from_batches([arrow_batch])
    ones = pa.repeat(1, rows.num_rows)
    return {
        "key_sizes": counted_sizes(pc.binary_length(rows["key"])),
        "value_sizes": counted_sizes(pc.binary_length(rows["value"])),
        "keys": KEYS.of(rows.append_column("records", ones)),
    }


def by_bucket(count: int, tables: Tables) -> Iterator[tuple[int, Tables]]:
    """Divide the sums of a task, so that all counts of a key are in the same bucket.

    Args:
        count: of the buckets with keys, which are numbered from 0.
        tables: in FORMS.

    Yields:
        OTHERS with all that is not about single keys; then each bucket of keys.
    """
    yield OTHERS, {name: table for name, table in tables.items() if name != "keys"}
    if "keys" in tables:
        keys = tables["keys"]
        buckets = pa.array(crc32(key or b"") % count for key in keys["key"].to_pylist())
        for bucket in range(count):
            yield bucket, {"keys": keys.filter(pc.equal(buckets, bucket))}


def added(sums: list[Tables], another: Tables) -> list[Tables]:
    """Add the sums of another task to those that are kept.

    To add up takes time in proportion to all rows. So new ones wait until they are as many as those
    that were added up before.

    Args:
        sums: is changed; what was added up, then what waits.
        another: in FORMS.

    Returns:
        The same list.
    """
    sums.append(another)
    if sum(map(_rows, sums[1:])) >= _rows(sums[0]):
        sums[:] = [add_up(FORMS, sums)]
    return sums


def _rows(tables: Tables) -> int:
    return sum(table.num_rows for table in tables.values())
