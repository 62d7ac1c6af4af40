"""Renders a report about a log as a page of tables and charts."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from typing import Final

from broker_lite.pipeline.report.charts import bars, histogram, over_time, times_over
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
    code,
    page,
    section,
    table,
    tiles,
)
from broker_lite.pipeline.report.text import (
    NONE,
    count_text,
    duration_text,
    key_text,
    power_text,
    share_text,
    size_text,
    time_text,
)

BARS_MAX: Final = 20
LINES_MAX: Final = 8
TABLE_ROWS_MAX: Final = 200


def log_page(report: LogReport) -> str:
    """Render a report as HTML."""
    parts = [_head(report)]
    if report.partitions:
        parts += [_topics(report), _skew(report), _fill(report), _time(report)]
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
        f"{size_bytes / max(records, 1):.1f}",
        f"{records / batches:.1f}",
        f"{largest * len(partitions) / size_bytes:.2f} \N{MULTIPLICATION SIGN}",
        time_text(first_ms),
        time_text(last_ms),
    )


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
    records: dict[str, list[tuple[float, float]]] = defaultdict(list)
    sizes: dict[str, list[tuple[float, float]]] = defaultdict(list)
    seconds = report.bucket_ms / 1000
    for point in report.rates:
        records[point.topic].append((point.at_ms, point.records / seconds))
        sizes[point.topic].append((point.at_ms, point.size_bytes / seconds))
    times: dict[str, list[tuple[float, float]]] = defaultdict(list)
    for one in report.times:
        times[one.name].append((one.offset, one.at_ms))
    if not records:
        return section("Rates", "No batch has a timestamp.")
    ordered = sorted(records, key=lambda topic: -sum(value for _, value in sizes[topic]))
    chosen = ordered[:LINES_MAX]
    text = f"By the timestamps of the batches, one point per {duration_text(report.bucket_ms)}."
    return section(
        "Rates and timestamps",
        _limited(text, ordered, LINES_MAX),
        charts(
            over_time("Records per second", _filled(records, chosen, report.bucket_ms), _rate_text),
            over_time("Bytes per second", _filled(sizes, chosen, report.bucket_ms), size_text),
            times_over("Timestamps along the log", "offset", times, count_text),
        ),
    )


def _filled(
    lines: dict[str, list[tuple[float, float]]], names: Sequence[str], step: int
) -> dict[str, list[tuple[float, float]]]:
    """Add zeros at both ends of a pause, so that the line does not bridge it."""
    filled: dict[str, list[tuple[float, float]]] = {}
    for name in names:
        line: list[tuple[float, float]] = []
        for at, value in lines[name]:
            if line and at - line[-1][0] > step:
                line += [(line[-1][0] + step, 0.0), (at - step, 0.0)]
            line.append((at, value))
        filled[name] = line
    return filled


def _compression(report: LogReport) -> Html:
    rows = [
        (
            one.topic,
            one.codec,
            count_text(one.batches),
            count_text(one.records),
            size_text(one.stored_bytes),
            size_text(one.plain_bytes),
            f"{one.ratio:.2f} \N{MULTIPLICATION SIGN}",
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
        "Sizes of the batches, with and without compression.",
        charts(
            bars("Stored by codec", [(one.codec, one.stored_bytes) for one in sums], size_text),
            bars(
                "Ratio",
                [(one.codec, one.ratio) for one in sums],
                lambda ratio: f"{ratio:.2f} \N{MULTIPLICATION SIGN}",
            ),
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
        Column("Size", True),
        Column("First (UTC)", True),
        Column("Last (UTC)", True),
    )
    text = f"The largest of {count_text(report.producer_count)} idempotent producers."
    if report.producer_count == len(report.producers):
        text = "Idempotent producers, sorted by size."
    return section("Producers", text, table(columns, rows))


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
        "How records are divided among keys. A key with a large share makes its partition large.",
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
        f"{with_key / counts.keys:.1f}" if counts.keys else NONE,
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


def _rate_text(value: float) -> str:
    return count_text(value) if value >= 10 or value == 0 else f"{value:.2g}"


def _limited(text: str, all_of_them: Sequence[object], shown_max: int) -> str:
    if len(all_of_them) <= shown_max:
        return text
    return f"{text} The first {shown_max} of {count_text(len(all_of_them))} are shown."
