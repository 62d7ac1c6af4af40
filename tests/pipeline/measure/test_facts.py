"""Facts from sums; tests/pipeline/spark/jobs/test_report.py compares them with logs."""

import pyarrow as pa

from broker_lite.pipeline.measure.facts import (
    PRODUCERS_MAX,
    batch_facts,
    key_facts,
    merged_keys,
    record_facts,
)
from broker_lite.pipeline.report.data import DelayFacts, KeyCounts
from tests.pipeline.support import T0


def partitions(*topics: str) -> pa.Table:
    count = len(topics)
    numbers = {
        "batches": 1,
        "records": 5,
        "sizeInBytes": 100,
        "firstMs": 0,
        "lastMs": T0,
        "firstOffset": 10,
        "lastOffset": 19,
        "recordCount": 5,
        "uncounted": 0,
    }
    columns = {name: [value] * count for name, value in numbers.items()}
    return pa.table({"topic": topics, "partition": [0] * count, **columns})


def rates(width_ms: int, *times_ms: int) -> pa.Table:
    count = len(times_ms)
    columns = {"topic": ["t"] * count, "width": [width_ms] * count, "at": times_ms}
    return pa.table({**columns, "records": [2] * count, "sizeInBytes": [20] * count})


def test_nothing_is_known_of_nothing() -> None:
    found = batch_facts({})
    assert found["partitions"] == found["rates"] == found["times"] == found["producers"] == ()
    assert (found["producer_count"], found["damaged_places"]) == (0, 0)
    assert record_facts({}) == {"codecs": (), "key_sizes": (), "value_sizes": ()}


def test_buckets_are_as_wide_as_the_axis_wants() -> None:
    sums = {"partitions": partitions("t"), "rates": rates(1000, 0, 1000, 59_000, T0)}
    found = batch_facts(sums)
    assert found["partitions"][0].missing_offsets == 5
    assert found["bucket_ms"] == {"t": 1000}
    assert [point.at_ms for point in found["rates"]] == [0, 1000, 59_000]
    (outside,) = found["outside"]["t"]
    assert (outside.records, outside.share) == (2, 0.25)


def test_buckets_are_no_narrower_than_what_is_known() -> None:
    sums = {"partitions": partitions("t"), "rates": rates(3_600_000, 0, T0)}
    assert batch_facts(sums)["bucket_ms"] == {"t": 3_600_000}


def test_times_beside_the_axis_are_left_out() -> None:
    steps = {"topic": ["t", "t", "u"], "partition": [0, 0, 0], "step": [0, 1, 0]}
    times = pa.table({**steps, "lastOffset": [5, 9, 3], "lastMs": [7, T0, T0]})
    sums = {"partitions": partitions("t"), "rates": rates(1000, 0, 0, T0), "times": times}
    assert [(one.name, one.offset) for one in batch_facts(sums)["times"]] == [("t-0", 5)]


def test_the_largest_producers() -> None:
    count = PRODUCERS_MAX + 5
    names = ("batches", "records", "firstMs", "lastMs", "transactional")
    rows = pa.table(
        {
            "producerId": [*range(count), 3],
            "producerEpoch": [0] * count + [1],
            "topic": ["t"] * (count + 1),
            "partition": [0] * (count + 1),
            **{name: [1] * (count + 1) for name in names},
            "sizeInBytes": [*range(count), 1000],
        }
    )
    found = batch_facts({"producers": rows})
    assert found["producer_count"] == count
    assert [one.producer_id for one in found["producers"]] == [3, *range(24, 5, -1)]
    assert found["producers"][0][1:5] == (2, 1, 2, 2)


def test_percentiles_of_delays() -> None:
    delays = {"topic": ["t"] * 3, "delay": [5000, 1, 10], "batches": [1, 98, 1]}
    assert batch_facts({"delays": pa.table(delays)})["delays"] == (
        DelayFacts("t", 100, 1, 10, 5000),
    )


def test_keys_of_several_tasks() -> None:
    columns = ("topic", "key", "records")
    one = [("t", b"b", 5), ("t", b"a", 5), ("t", None, 2), ("u", None, 1)]
    other = [("t", bytes([n]), 1) for n in range(20)] + [("t", b"c", 7)]
    parts = [
        pa.table(dict(zip(columns, zip(*rows, strict=True), strict=True))) for rows in (one, other)
    ]
    t, u = merged_keys([fact for part in parts for fact in key_facts(part)])
    assert t[:4] == ("t", 39, 2, 23)
    assert t.top[:4] == ((b"c", 7), (b"a", 5), (b"b", 5), (b"\0", 1))
    assert len(t.top) == 10
    assert u == KeyCounts("u", 1, 1, 0, ())
