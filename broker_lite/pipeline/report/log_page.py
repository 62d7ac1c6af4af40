"""Renders a report about a log as a page of tables and charts."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from typing import Final

from broker_lite.pipeline.report.charts import bars, histogram
from broker_lite.pipeline.report.data import (
    CodecFacts,
    KeyCounts,
    LogReport,
    PartitionFacts,
    SizeCount,
    times_of,
)
from broker_lite.pipeline.report.meanings import meanings
from broker_lite.pipeline.report.page import (
    Column,
    Html,
    Tile,
    charts,
    charts_of,
    code,
    page,
    section,
    table,
    tiles,
)
from broker_lite.pipeline.report.text import (
    NONE,
    count_text,
    cut,
    duration_text,
    key_text,
    number_text,
    power_text,
    rate_text,
    ratio_text,
    share_text,
    size_text,
    time_text,
)
from broker_lite.pipeline.report.topic_charts import outside_text, topic_charts

BARS_MAX: Final = 20
TABLE_ROWS_MAX: Final = 200


def log_page(report: LogReport) -> str:
    """Render a report as HTML."""
    parts = [_head(report)]
    if report.partitions:
        parts += [_topics(report), _skew(report), _fill(report), _time(report)]
    if report.delays:
        parts.append(_delays(report))
    if report.groups:
        parts.append(_groups(report))
    if report.codecs:
        parts.append(_compression(report))
    if report.producers:
        parts.append(_producers(report))
    if report.keys:
        parts.append(_keys(report))
    if report.partitions:
        parts.append(meanings())
    return page("Report on a Kafka log", report.path, parts)


def _head(report: LogReport) -> Html:
    partitions = report.partitions
    first_ms, last_ms = times_of(partitions)
    span = NONE if first_ms is None or last_ms is None else duration_text(last_ms - first_ms)
    damage = Tile(count_text(report.damaged_places), "damaged places, left out", "bad")
    return tiles(
        (
            *((damage,) if report.damaged_places else ()),
            Tile(count_text(len({one.topic for one in partitions})), "topics"),
            Tile(count_text(len(partitions)), "partitions"),
            Tile(size_text(sum(one.size_bytes for one in partitions)), "in batches"),
            Tile(count_text(sum(one.batches for one in partitions)), "batches"),
            Tile(count_text(sum(one.records for one in partitions)), "records"),
            Tile(span, f"from {time_text(first_ms)} UTC"),
        )
    )


def _topics(report: LogReport) -> Html:
    by_topic = _by_topic(report.partitions)
    sums = {topic: sum(one.size_bytes for one in of_topic) for topic, of_topic in by_topic.items()}
    ordered = sorted(by_topic, key=lambda topic: (-sums[topic], topic))
    rows = [_topic_row(topic, by_topic[topic]) for topic in ordered[:TABLE_ROWS_MAX]]
    columns = (
        Column("Topic"),
        Column("Partitions", True),
        Column("Size", True),
        Column("Records", True),
        Column("Bytes per record", True),
        Column("Records per batch", True),
        Column("Missing offsets", True),
        Column("Largest partition", True),
        Column("First (UTC)", True),
        Column("Last (UTC)", True),
    )
    text = "Sorted by size. The largest partition is a multiple of the mean size."
    return section("Topics", _limited(text, ordered, TABLE_ROWS_MAX), table(columns, rows))


def _topic_row(topic: str, partitions: Sequence[PartitionFacts]) -> Sequence[str]:
    size_bytes = sum(one.size_bytes for one in partitions)
    records = sum(one.records for one in partitions)
    batches = sum(one.batches for one in partitions)
    largest = max(one.size_bytes for one in partitions)
    first_ms, last_ms = times_of(partitions)
    return (
        topic,
        count_text(len(partitions)),
        size_text(size_bytes),
        count_text(records),
        size_text(size_bytes / records) if records else NONE,
        number_text(records / batches),
        _missing_text(partitions),
        ratio_text(largest * len(partitions) / size_bytes),
        time_text(first_ms),
        time_text(last_ms),
    )


def _missing_text(partitions: Sequence[PartitionFacts]) -> str:
    missing = [one.missing_offsets for one in partitions]
    return NONE if None in missing else count_text(sum(one or 0 for one in missing))


def _skew(report: LogReport) -> Html:
    by_size = sorted(report.partitions, key=lambda one: -one.size_bytes)
    by_records = sorted(report.partitions, key=lambda one: -one.records)
    text = _limited("The largest partitions, by bytes and by records.", by_size, BARS_MAX)
    return section(
        "Sizes and skew",
        text,
        charts(
            bars("Size", [(one.name, one.size_bytes) for one in by_size[:BARS_MAX]], size_text),
            bars("Records", [(one.name, one.records) for one in by_records[:BARS_MAX]], count_text),
        ),
    )


def _fill(report: LogReport) -> Html:
    return section(
        "Batch fill",
        "Sizes of batches, and records per batch. A label is the upper end of a bar, "
        "twice its lower end. Small batches cost brokers, disks and clients the most.",
        charts(
            histogram(
                "Size of a batch", "up to", _named(report.batch_sizes, power_text), count_text
            ),
            histogram(
                "Records in a batch", "up to", _named(report.batch_records, count_text), count_text
            ),
        ),
    )


def _time(report: LogReport) -> Html:
    if not report.rates:
        return section("Rates", "No batch has a timestamp.")
    topics = {one.topic for one in report.partitions if one.last_ms is not None}
    text = (
        "By the timestamps of the batches. Each topic has its own axis of time. A point stands for "
        "the seconds, minutes or days up to the next one."
    )
    drawn = [
        charts_of(cut(topic, 80), topic_charts(report, topic), outside_text(report, topic))
        for topic in report.bucket_ms
    ]
    return section("Rates and timestamps", _limited(text, [*topics], len(report.bucket_ms)), *drawn)


def _delays(report: LogReport) -> Html:
    text = (
        "With LogAppendTime, from the first timestamp of a batch, by its producer, to its append. "
        "Topics with CreateTime store no time of an append, so they are not here."
    )
    numbers = ("Median", "99th percentile", "Longest")
    columns = Column("Topic"), Column("Batches", True), *(Column(one, True) for one in numbers)
    rows = [
        (one.topic, count_text(one.batches), *(duration_text(value) for value in one[2:]))
        for one in report.delays[:TABLE_ROWS_MAX]
    ]
    return section(
        "From producer to log",
        _limited(text, report.delays, TABLE_ROWS_MAX),
        table(columns, rows),
    )


def _sample_text(report: LogReport) -> str:
    if report.sampled_share >= 1:
        return ""
    share = share_text(report.sampled_share)
    return f" A sample: the newest {share} of each partition's offsets; --all-records reads all."


def _groups(report: LogReport) -> Html:
    columns = (
        Column("Group"),
        Column("Partitions", True),
        Column("Lag", True),
        Column("Furthest behind"),
        Column("Its lag", True),
        Column("Last commit (UTC)", True),
    )
    rows = [
        (
            one.group,
            count_text(one.partitions),
            count_text(one.lag),
            one.largest,
            count_text(one.largest_lag),
            time_text(one.commit_ms),
        )
        for one in report.groups[:TABLE_ROWS_MAX]
    ]
    text = "Offsets between what a group has committed and the ends of the logs, largest first."
    return section("Groups", _limited(text, report.groups, TABLE_ROWS_MAX), table(columns, rows))


def _compression(report: LogReport) -> Html:
    rows = [
        (
            one.topic,
            one.codec,
            count_text(one.batches),
            count_text(one.records),
            size_text(one.stored_bytes),
            size_text(one.plain_bytes),
            ratio_text(one.ratio),
        )
        for one in report.codecs[:TABLE_ROWS_MAX]
    ]
    columns = (
        Column("Topic"),
        Column("Codec"),
        Column("Batches", True),
        Column("Records", True),
        Column("Stored", True),
        Column("Plain", True),
        Column("Ratio", True),
    )
    sums = _codec_sums(report.codecs)
    return section(
        "Codecs and ratios",
        "Sizes of the batches, with and without compression." + _sample_text(report),
        charts(
            bars("Stored by codec", [(one.codec, one.stored_bytes) for one in sums], size_text),
            bars("Ratio", [(one.codec, one.ratio) for one in sums], ratio_text),
        ),
        table(columns, rows),
    )


def _codec_sums(codecs: Iterable[CodecFacts]) -> list[CodecFacts]:
    sums: dict[str, CodecFacts] = {}
    for one in codecs:
        before = sums.get(one.codec, CodecFacts("", one.codec, 0, 0, 0, 0))
        sums[one.codec] = CodecFacts(
            "",
            one.codec,
            before.batches + one.batches,
            before.records + one.records,
            before.stored_bytes + one.stored_bytes,
            before.plain_bytes + one.plain_bytes,
        )
    return sorted(sums.values(), key=lambda one: -one.stored_bytes)


def _producers(report: LogReport) -> Html:
    rows = [
        (
            str(one.producer_id),
            count_text(one.epochs),
            count_text(one.partitions),
            count_text(one.batches),
            share_text(one.transactional_batches / one.batches),
            count_text(one.records),
            _rate(one.records, one.first_ms, one.last_ms),
            size_text(one.size_bytes),
            time_text(one.first_ms),
            time_text(one.last_ms),
        )
        for one in report.producers
    ]
    columns = (
        Column("Producer id"),
        Column("Epochs", True),
        Column("Partitions", True),
        Column("Batches", True),
        Column("Transactional", True),
        Column("Records", True),
        Column("Records/s", True),
        Column("Size", True),
        Column("First (UTC)", True),
        Column("Last (UTC)", True),
    )
    text = f"The largest of {count_text(report.producer_count)} idempotent producers."
    if report.producer_count == len(report.producers):
        text = "Idempotent producers, sorted by size."
    return section("Producers", text, table(columns, rows))


def _rate(records: int, first_ms: int | None, last_ms: int | None) -> str:
    # A rate of less than a second would be that of a burst.
    if first_ms is None or last_ms is None or last_ms - first_ms < 1000:
        return NONE
    return rate_text(records * 1000 / (last_ms - first_ms))


def _keys(report: LogReport) -> Html:
    ordered = sorted(report.keys, key=lambda one: (-one.records, one.topic))
    keyed = [one for one in ordered if one.keys]
    rows = [_key_row(one) for one in ordered[:TABLE_ROWS_MAX]]
    columns = (
        Column("Topic"),
        Column("Records", True),
        Column("Without key", True),
        Column("Distinct keys", True),
        Column("Records per key", True),
        Column("Largest key"),
        Column("Its share", True),
    )
    top = [
        bars(f"Top keys of {one.topic}", [(key_text(key), n) for key, n in one.top], count_text)
        for one in keyed[:4]
    ]
    sizes = [
        histogram(title, "up to", _named(counts, power_text), count_text)
        for title, counts in (
            ("Size of a key", report.key_sizes),
            ("Size of a value", report.value_sizes),
        )
        if counts
    ]
    return section(
        "Keys and values",
        "How records are divided among keys. A key with a large share makes its partition large."
        + _sample_text(report),
        table(columns, rows),
        charts(*sizes, *top),
    )


def _key_row(counts: KeyCounts) -> Sequence[str]:
    with_key = counts.records - counts.without_key
    key, records = counts.top[0] if counts.top else (None, 0)
    return (
        counts.topic,
        count_text(counts.records),
        share_text(counts.without_key / counts.records),
        count_text(counts.keys),
        number_text(with_key / counts.keys) if counts.keys else NONE,
        code(key_text(key)) if key is not None else NONE,
        share_text(records / counts.records),
    )


def _by_topic(partitions: Iterable[PartitionFacts]) -> dict[str, list[PartitionFacts]]:
    found: dict[str, list[PartitionFacts]] = defaultdict(list)
    for one in partitions:
        found[one.topic].append(one)
    return found


def _named(counts: Sequence[SizeCount], text: Callable[[float], str]) -> list[tuple[str, float]]:
    """Label bars by their upper ends; sizes in between without a count become empty bars."""
    if not counts:
        return []
    found = dict(counts)
    sizes = [0] if 0 in found else []
    powers = [size for size in found if size]
    if powers:
        sizes += [1 << bit for bit in range(min(powers).bit_length() - 1, max(powers).bit_length())]
    return [(text(size), found.get(size, 0)) for size in sizes]


def _limited(text: str, all_of_them: Sequence[object], shown_max: int) -> str:
    if len(all_of_them) <= shown_max:
        return text
    return f"{text} The first {shown_max} of {count_text(len(all_of_them))} are shown."
