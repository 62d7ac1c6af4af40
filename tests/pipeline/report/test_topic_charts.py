"""Charts of one topic."""

from dataclasses import replace

from broker_lite.pipeline.report import topic_charts as module
from broker_lite.pipeline.report.data import Outside, PartitionFacts, RatePoint, TimePoint
from broker_lite.pipeline.report.topic_charts import outside_text, topic_charts
from tests.pipeline.report.test_log_page import EMPTY
from tests.pipeline.support import T0

REPORT = replace(
    EMPTY,
    partitions=(PartitionFacts("t", 0, 2, 20, 200, 0, 19, T0, T0 + 9000),),
    bucket_ms={"t": 1000},
    rates=(RatePoint("t", T0, 10, 100), RatePoint("t", T0 + 9000, 10, 100)),
    times=(TimePoint("t-0", 9, T0), TimePoint("t-0", 19, T0 + 9000)),
)


def test_records_bytes_and_times() -> None:
    records, size, times = topic_charts(REPORT, "t")
    assert "Records a second, by 1 s" in records
    assert "Bytes a second, by 1 s" in size
    assert "Timestamps along the log" in times


def test_a_topic_with_damaged_ends_only_has_no_times() -> None:
    assert len([*topic_charts(replace(REPORT, times=()), "t")]) == 2


def test_a_pause_is_drawn_as_nothing() -> None:
    line = module._filled([(0, 5.0), (1000, 6.0), (9000, 7.0)], 1000)
    assert line == [(0, 5.0), (1000, 6.0), (2000, 0.0), (8000, 0.0), (9000, 7.0)]


def test_what_lies_beside_the_axis_is_told() -> None:
    assert outside_text(REPORT, "t") == ""
    before, behind = Outside(1500, 0.05, 0, 1000), Outside(1, 0.00001, 2 * T0, 2 * T0)
    told = outside_text(replace(REPORT, outside={"t": (before, behind)}), "t")
    assert told == (
        "Not all times are on the axis:"
        " 1\N{NARROW NO-BREAK SPACE}500 records lie before it (5.0 %),"
        " from 1970-01-01 00:00:00 to 1970-01-01 00:00:01 UTC;"
        " 1 record lies behind it (< 0.1 %), at 2077-09-27 20:26:40 UTC."
    )
