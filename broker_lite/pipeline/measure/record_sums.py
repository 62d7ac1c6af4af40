"""Adds up what records tell: ratios of codecs, sizes, and how often each key occurs."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Final
from zlib import crc32

import pyarrow as pa
import pyarrow.compute as pc

from broker_lite.pipeline.files.open_file_io import open_file_io
from broker_lite.pipeline.measure.batch_sums import SIZE_COUNTS
from broker_lite.pipeline.measure.plain_sizes import plain_sizes
from broker_lite.pipeline.measure.sums import Sums, Tables, add_up, counted_sizes
from broker_lite.pipeline.read.options import ReadOptions, View
from broker_lite.pipeline.read.split import Split
from broker_lite.pipeline.stream.planned import read_planned

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


def record_sums(options: ReadOptions, splits: Iterable[Split]) -> Tables:
    """Add up the records of splits, in FORMS.

    Args:
        options: of the read.
        splits: from a plan of the batch view, so that no batch is in two of them.

    Raises:
        CorruptLog: something is damaged, with onCorrupt=fail.
        OSError: a file cannot be read.
    """
    wanted = replace(options, view=View.RECORDS, columns=("topic", "key", "value"))
    return add_up(FORMS, (found for split in splits for found in _of_split(split, wanted)))


def _of_split(split: Split, options: ReadOptions) -> Iterator[Tables]:
    io, _ = open_file_io(split.uri)
    codecs = [one._asdict() for one in plain_sizes(io, split)]
    if codecs:
        yield {"codecs": pa.Table.from_pylist(codecs)}
    for arrow_batch in read_planned(io, split, options):
        rows = pa.Table.from_batches([arrow_batch])
        ones = pa.repeat(1, rows.num_rows)
        yield {
            "key_sizes": counted_sizes(pc.binary_length(rows["key"])),
            "value_sizes": counted_sizes(pc.binary_length(rows["value"])),
            "keys": KEYS.of(rows.append_column("records", ones)),
        }


def keys_by_bucket(count: int, tables: Tables) -> Iterator[tuple[int, pa.Table]]:
    """Divide the counts of keys, so that all those of a key are in the same bucket."""
    if "keys" in tables:
        keys = tables["keys"]
        buckets = pa.array(crc32(key or b"") % count for key in keys["key"].to_pylist())
        for bucket in range(count):
            yield bucket, keys.filter(pc.equal(buckets, bucket))


def without_keys(tables: Tables) -> Tables:
    """Leave out the counts of keys, of which there may be many."""
    return {name: table for name, table in tables.items() if name != "keys"}
