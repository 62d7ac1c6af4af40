"""Charts of one topic."""

from dataclasses import replace

from broker_lite.pipeline.report import topic_charts as module
from broker_lite.pipeline.report.data import PartitionFacts, RatePoint, TimePoint
from broker_lite.pipeline.report.topic_charts import topic_charts
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
