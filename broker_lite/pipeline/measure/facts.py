"""Makes the facts of a report from the sums of all tasks."""

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import accumulate, groupby
from typing import Any, Final, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from broker_lite.pipeline.measure.batch_sums import FORMS
from broker_lite.pipeline.measure.sums import Sums, Tables
from broker_lite.pipeline.measure.time_axis import TimeAxis, time_axis
from broker_lite.pipeline.report.data import (
    CodecFacts,
    DelayFacts,
    KeyCounts,
    PartitionFacts,
    ProducerFacts,
    RatePoint,
    SizeCount,
    TimePoint,
    times_of,
)

PRODUCERS_MAX: Final = 20
LINES_MAX: Final = 8
TOP_KEYS: Final = 10

_BY_PRODUCER: Final = Sums(("producerId",), FORMS["producers"].columns)
_PERCENTILES: Final = (0.5, 0.99)

_Row = dict[str, Any]


class _Rates(NamedTuple):
    """What was written to a topic over time.

    Attributes:
        point_ms: how long each of the points stands for.
    """

    points: Sequence[RatePoint]
    point_ms: int
    axis: TimeAxis

    @property
    def width_ms(self) -> int:
        """Width of the buckets that are drawn."""
        return max(self.axis.width_ms, self.point_ms)

    def wide(self) -> Iterator[RatePoint]:
        """Yield the points to draw."""
        shown = (point for point in self.points if self.axis.has(point.at_ms))
        for number, points in groupby(shown, lambda point: point.at_ms // self.width_ms):
            topics, _, records, sizes = zip(*points, strict=True)
            yield RatePoint(topics[0], number * self.width_ms, sum(records), sum(sizes))


def batch_facts(sums: Tables) -> dict[str, Any]:
    """Return what batches tell, by the names of LogReport.

    Args:
        sums: in the forms of batch_sums.
    """
    partitions = tuple(map(_partition, _rows(sums, "partitions", "topic", "partition")))
    rates = _largest(partitions, _points(sums))
    axes = {topic: rates_of.axis for topic, rates_of in rates.items()}
    producer_count, producers = _producers(sums)
    return {
        "partitions": partitions,
        "bucket_ms": {topic: rates_of.width_ms for topic, rates_of in rates.items()},
        "outside": {topic: axis.outside for topic, axis in axes.items() if axis.outside},
        "rates": tuple(point for rates_of in rates.values() for point in rates_of.wide()),
        "times": tuple(_times(sums, axes)),
        "producer_count": producer_count,
        "producers": producers,
        "delays": tuple(_delays(sums)),
        "damaged_places": sum(row["places"] for row in _rows(sums, "damage", "topic")),
        **_sizes(sums, "batch_sizes", "batch_records"),
    }


def record_facts(sums: Tables) -> dict[str, Any]:
    """Return what records tell, by the names of LogReport, without the keys.

    Args:
        sums: in the forms of record_sums.
    """
    codecs = (CodecFacts(**row) for row in _rows(sums, "codecs", "topic", "codec"))
    return {"codecs": tuple(codecs), **_sizes(sums, "key_sizes", "value_sizes")}


def key_facts(keys: pa.Table) -> list[KeyCounts]:
    """Return the facts about the keys of each topic.

    Args:
        keys: topic, key, records; each key of a topic has one row.
    """
    order = [("topic", "ascending"), ("records", "descending"), ("key", "ascending")]
    rows = keys.sort_by(order)
    totals = rows.group_by("topic").aggregate([("records", "sum"), ("key", "count")])
    found = []
    for topic, records, count in zip(*(column.to_pylist() for column in totals), strict=True):
        of_topic = rows.filter(pc.equal(rows["topic"], topic))
        is_keyed = pc.is_valid(of_topic["key"])
        without = pc.sum(of_topic.filter(pc.invert(is_keyed))["records"]).as_py() or 0
        top = of_topic.filter(is_keyed).slice(0, TOP_KEYS).select(["key", "records"])
        pairs = zip(*(column.to_pylist() for column in top), strict=True)
        found.append(KeyCounts(topic, records, without, count, tuple(pairs)))
    return found


def merged_keys(found: Iterable[KeyCounts]) -> Iterator[KeyCounts]:
    """Merge facts about different keys, by topic."""
    for topic, parts in groupby(sorted(found), lambda one: one.topic):
        _, records, without, keys, top = zip(*parts, strict=True)
        largest = sorted((one for some in top for one in some), key=lambda one: (-one[1], one[0]))
        yield KeyCounts(topic, sum(records), sum(without), sum(keys), tuple(largest[:TOP_KEYS]))


def _partition(row: _Row) -> PartitionFacts:
    offsets = row["lastOffset"] + 1 - row["firstOffset"]
    return PartitionFacts(
        row["topic"],
        row["partition"],
        row["batches"],
        row["records"] or 0,
        row["sizeInBytes"],
        row["firstOffset"],
        row["lastOffset"],
        row["firstMs"],
        row["lastMs"],
        None if row["uncounted"] else offsets - row["recordCount"],
    )


def _points(sums: Tables) -> dict[str, tuple[int, list[RatePoint]]]:
    """Return the points of each topic that has times, in order, behind their width in ms."""
    found: dict[str, tuple[int, list[RatePoint]]] = {}
    for row in _rows(sums, "rates", "topic", "at"):
        _, points = found.setdefault(row["topic"], (row["width"], []))
        point = RatePoint(row["topic"], row["at"], row["records"] or 0, row["sizeInBytes"])
        points.append(point)
    return found


def _largest(
    partitions: Sequence[PartitionFacts], points: Mapping[str, tuple[int, list[RatePoint]]]
) -> dict[str, _Rates]:
    """Choose the axes of time of the largest topics that have times."""
    by_topic = {
        topic: [one for one in partitions if one.topic == topic and one.last_ms is not None]
        for topic in points
    }
    sizes = {topic: sum(one.size_bytes for one in by_topic[topic]) for topic in points}
    found = {}
    for topic in sorted(sizes, key=lambda topic: (-sizes[topic], topic))[:LINES_MAX]:
        point_ms, of_topic = points[topic]
        first_ms, last_ms = times_of(by_topic[topic])
        assert first_ms is not None
        assert last_ms is not None
        axis = time_axis(of_topic, point_ms, TimeAxis(first_ms, last_ms))
        found[topic] = _Rates(of_topic, point_ms, axis)
    return found


def _times(sums: Tables, axes: Mapping[str, TimeAxis]) -> Iterator[TimePoint]:
    for row in _rows(sums, "times", "topic", "partition", "step"):
        axis = axes.get(row["topic"])
        if axis is not None and axis.has(row["lastMs"]):
            name = f"{row['topic']}-{row['partition']}"
            yield TimePoint(name, row["lastOffset"], row["lastMs"])


def _producers(sums: Tables) -> tuple[int, tuple[ProducerFacts, ...]]:
    """Return how many producers there are, and the facts about the largest of them."""
    if "producers" not in sums:
        return 0, ()
    table = sums["producers"]
    totals = _BY_PRODUCER.of(table)
    order = [("sizeInBytes", "descending"), ("producerId", "ascending")]
    largest = totals.sort_by(order).slice(0, PRODUCERS_MAX).to_pylist()
    return totals.num_rows, tuple(_producer(row, table) for row in largest)


def _producer(row: _Row, table: pa.Table) -> ProducerFacts:
    rows = table.filter(pc.equal(table["producerId"], row["producerId"]))
    return ProducerFacts(
        row["producerId"],
        pc.count_distinct(rows["producerEpoch"]).as_py(),
        rows.group_by(["topic", "partition"]).aggregate([]).num_rows,
        row["batches"],
        row["transactional"],
        row["records"],
        row["sizeInBytes"],
        row["firstMs"],
        row["lastMs"],
    )


def _delays(sums: Tables) -> Iterator[DelayFacts]:
    rows = _rows(sums, "delays", "topic", "delay")
    for topic, of_topic in groupby(rows, lambda row: row["topic"]):
        pairs = [(row["delay"], row["batches"]) for row in of_topic]
        passed = list(accumulate(batches for _, batches in pairs))
        middle, late = (pairs[bisect_left(passed, share * passed[-1])][0] for share in _PERCENTILES)
        yield DelayFacts(topic, passed[-1], middle, late, pairs[-1][0])


def _sizes(sums: Tables, *names: str) -> dict[str, tuple[SizeCount, ...]]:
    return {
        name: tuple(SizeCount(row["size"], row["number"]) for row in _rows(sums, name, "size"))
        for name in names
    }


def _rows(sums: Tables, name: str, *order: str) -> list[_Row]:
    """Return the rows of a table in order; none of a table that is missing."""
    if name not in sums:
        return []
    rows: list[_Row] = sums[name].sort_by([(key, "ascending") for key in order]).to_pylist()
    return rows
