"""The page of a report tells what was measured, be it much or nothing.

Also tests: broker_lite.pipeline.report.data.
"""

import re
from dataclasses import replace

from broker_lite.pipeline.report.data import (
    CodecFacts,
    DelayFacts,
    GroupFacts,
    KeyCounts,
    LogReport,
    Outside,
    PartitionFacts,
    ProducerFacts,
    RatePoint,
    SizeCount,
    TimePoint,
)
from broker_lite.pipeline.report.log_page import log_page
from broker_lite.pipeline.report.text import NONE
from tests.pipeline.support import T0

EMPTY = LogReport(
    path="logs",
    partitions=(),
    batch_sizes=(),
    batch_records=(),
    bucket_ms={},
    rates=(),
    times=(),
    producer_count=0,
    producers=(),
    codecs=(),
    key_sizes=(),
    value_sizes=(),
    keys=(),
)
FULL = LogReport(
    path="logs",
    partitions=(
        PartitionFacts("orders", 0, 10, 100, 3000, 0, 99, T0, T0 + 60_000),
        PartitionFacts("orders", 1, 5, 50, 1000, 0, 49, T0, T0 + 50_000),
        PartitionFacts("<quiet>", 0, 1, 0, 61, 7, 7, None, None),
    ),
    batch_sizes=(SizeCount(64, 1), SizeCount(512, 15)),
    batch_records=(SizeCount(0, 1), SizeCount(16, 15)),
    bucket_ms={"orders": 1000},
    delays=(DelayFacts("appended", 7, 12, 90_000, 90_000),),
    groups=(GroupFacts("<billing>", 2, 77_000, "orders-1", 76_999, T0),),
    rates=(RatePoint("orders", T0, 10, 900), RatePoint("orders", T0 + 60_000, 140, 3100)),
    times=(TimePoint("orders-0", 0, T0), TimePoint("orders-0", 99, T0 + 60_000)),
    producer_count=2,
    producers=(ProducerFacts(4711, 2, 1, 4, 1, 40, 1200, T0, T0 + 1),),
    codecs=(CodecFacts("orders", "zstd", 15, 150, 1000, 4000), CodecFacts("a", "none", 0, 0, 0, 0)),
    key_sizes=(SizeCount(8, 100),),
    value_sizes=(SizeCount(0, 2), SizeCount(32, 148)),
    keys=(
        KeyCounts("orders", 150, 50, 3, ((b"<b>", 75), (b"\xff", 25))),
        KeyCounts("<quiet>", 4, 4, 0, ()),
    ),
)


def test_an_empty_log_has_a_page() -> None:
    text = log_page(EMPTY)
    assert "<svg" not in text
    assert text.count("<h2>") == 0


def test_everything_is_told() -> None:
    text = log_page(FULL)
    headings = [
        "Topics",
        "Sizes and skew",
        "Batch fill",
        "Rates and timestamps",
        "From producer to log",
        "Groups",
        "Codecs and ratios",
        "Producers",
        "Keys and values",
    ]
    assert re.findall("<h2>(.*)</h2>", text) == [*headings, "What the columns mean"]
    assert text.count("<svg") == 12
    for fact in (
        "1.50 \N{MULTIPLICATION SIGN}",  # the largest of two partitions, 3000 of 4000 bytes
        "4.00 \N{MULTIPLICATION SIGN}",  # the ratio
        "4711",
        "25.0 %",  # transactional batches
        "The largest of 2 idempotent producers.",
        "50.0 %",  # the largest key's share
        "&lt;b&gt;",
        "&lt;quiet&gt;",
    ):
        assert fact in text, fact
    assert "<quiet>" not in text


def test_without_records_and_times() -> None:
    text = log_page(replace(FULL, rates=(), times=(), codecs=(), keys=(), producers=()))
    assert "No batch has a timestamp." in text
    assert "Keys and values" not in text


def test_long_lists_are_cut_and_say_so() -> None:
    many = tuple(PartitionFacts("t", number, 1, 1, 100, 0, 0, T0, T0) for number in range(25))
    text = log_page(replace(FULL, partitions=many))
    assert "The first 20 of 25 are shown." in text


def test_a_topic_has_its_own_axis_of_time() -> None:
    old, new = RatePoint("old", 0, 1, 10), RatePoint("new", T0, 650_000, 10)
    partitions = (
        PartitionFacts("old", 0, 1, 1, 10, 0, 0, 0, 0),
        PartitionFacts("new", 0, 1, 650_000, 10, 0, 649_999, T0, T0),
    )
    widths = {"old": 1000, "new": 10_000}
    text = log_page(replace(FULL, partitions=partitions, rates=(old, new), bucket_ms=widths))
    assert "Records a second, by 10 s" in text
    assert "Records a second, by 1 s" in text
    assert "<h3>old</h3>" in text
    assert "60\N{NARROW NO-BREAK SPACE}000" in text  # on the axis


def test_a_slow_topic_is_told_by_the_day_and_a_burst_has_no_rate() -> None:
    week_ms = 7 * 86_400_000
    slow = RatePoint("slow", T0, 35, 700)
    partition = PartitionFacts("slow", 0, 1, 35, 700, 0, 34, T0, T0 + week_ms)
    burst = ProducerFacts(1, 1, 1, 2, 0, 2, 140, T0, T0 + 1)
    text = log_page(
        replace(
            FULL,
            partitions=(partition,),
            rates=(slow,),
            bucket_ms={"slow": week_ms},
            producers=(burst,),
        )
    )
    assert "Records a day, by 7 d" in text
    assert "Bytes an hour, by 7 d" in text
    producers = text[text.index("<h2>Producers") :]
    assert f'<td class="number">{NONE}</td>' in producers[: producers.index("</tbody>")]


def test_a_sample_says_that_it_is_one() -> None:
    text = log_page(replace(FULL, sampled_share=0.125))
    assert text.count("the newest 12.5 % of each partition") == 2
    assert "sample" not in log_page(FULL)


def test_unknown_gaps_are_no_number() -> None:
    legacy = FULL.partitions[0]._replace(missing_offsets=None)
    assert "\N{EN DASH}" in log_page(replace(FULL, partitions=(legacy,)))


def test_damage_is_told() -> None:
    assert "damaged places" not in log_page(FULL)
    assert "3</" in log_page(replace(FULL, damaged_places=3)).partition("damaged places")[0][-80:]


def test_an_axis_that_does_not_have_all_times_says_so() -> None:
    outside = {"orders": (Outside(15, 0.1, 0, 0),)}
    text = log_page(replace(FULL, outside=outside))
    assert (
        '<p class="note">Not all times are on the axis: 15 records lie before it (10.0 %)' in text
    )
    assert '<p class="note">' not in log_page(FULL)
