"""What was written over time, in one pass and in bounded memory.

The buckets begin as seconds. When a topic has too many of them, they are made wider; widths divide
each other, so this loses nothing but detail. Only buckets with batches count, so a few timestamps
of long ago do not make the others coarse.
"""

from collections.abc import Mapping
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from broker_lite.pipeline.measure.sums import Sums

WIDTHS_MS: Final = (
    *(1000, 5000, 15_000, 60_000, 300_000, 900_000, 3_600_000),
    *(6 * 3_600_000, 86_400_000, 7 * 86_400_000, 28 * 86_400_000),
)
CELLS_MAX: Final = 1000
"""Of a topic; a chart has 120 buckets."""
CELLS: Final = Sums(("topic", "width", "at"), {"records": "sum", "sizeInBytes": "sum"})


def cells_of(rows: pa.Table) -> pa.Table:
    """Make buckets of a second, in the form of CELLS.

    Args:
        rows: topic, lastMs, records, sizeInBytes; those without a time do not count.
    """
    dated = rows.filter(pc.is_valid(rows["lastMs"]))
    seconds = pa.repeat(WIDTHS_MS[0], dated.num_rows).cast(pa.int64())
    return coarsened(_cells(dated, _floor(dated["lastMs"], seconds), seconds))


def coarsened(cells: pa.Table, cells_max: int = CELLS_MAX) -> pa.Table:
    """Give all buckets of a topic one width with which they are at most `cells_max`."""
    while True:
        columns = [("width", "min"), ("width", "max"), ("at", "count")]
        topics = cells.group_by("topic").aggregate(columns).to_pylist()
        wanted = {one["topic"]: _width(one, cells_max) for one in topics}
        if all(one["width_min"] == wanted[one["topic"]] for one in topics):
            return cells
        cells = _widened(cells, wanted)


def _widened(cells: pa.Table, widths_ms: Mapping[str, int]) -> pa.Table:
    """Make the buckets of each topic as wide as it wants."""
    places = pc.index_in(cells["topic"], pa.array(widths_ms.keys(), pa.string()))
    width = pa.array(widths_ms.values(), pa.int64()).take(places.combine_chunks())
    return _cells(cells, _floor(cells["at"], width), width)


def _cells(rows: pa.Table, at: pa.ChunkedArray, width: pa.Array) -> pa.Table:
    columns = {name: rows[name] for name in ("topic", "records", "sizeInBytes")}
    return CELLS.of(pa.table({**columns, "at": at, "width": width}))


def _width(topic: Mapping[str, int], cells_max: int) -> int:
    """Return the width for a topic: that of its widest buckets, or the next one."""
    width = topic["width_max"]
    if topic["width_min"] < width or topic["at_count"] <= cells_max:
        return width
    return next((one for one in WIDTHS_MS if one > width), width)


def _floor(times_ms: pa.ChunkedArray, width_ms: pa.Array) -> pa.ChunkedArray:
    # Arrow cuts quotients towards zero; no time is negative.
    return pc.multiply(pc.divide(times_ms, width_ms), width_ms)
