"""`kafka-consumer-perf-test`: read records as fast as possible and print rates.

Flags and output are those of kafka-consumer-perf-test.sh, except that it prints only two metrics. A
compiled function counts the records.
"""

import argparse
import random
import re
import time
from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from pathlib import Path
from typing import Final, NamedTuple

from broker_lite.client import Client
from broker_lite.client.consuming.consumer_config import ConsumerConfig
from broker_lite.client.consuming.fetcher import FetchedBatch, Fetcher
from broker_lite.client.consuming.joining import make_member
from broker_lite.client.consuming.subscriptions import GroupPartitions, matching_topics, one_topic
from broker_lite.commands.perf.java_dates import java_date
from broker_lite.commands.perf.statistics import MIB, metric_lines
from broker_lite.commands.shared.connecting import add_connection, connect
from broker_lite.commands.shared.flags import add_alias, add_repeatable, properties_of
from broker_lite.errors import ClientError, SettingsError
from broker_lite.record.loops.columns import measure_records
from broker_lite.record.records import read_content

_CLIENT_ID: Final = "perf-consumer-client"
_POLL_S: Final = 0.1
_OFFSET_MAX: Final = 2**63 - 1
_COLUMNS: Final = (
    "data.consumed.in.MB, MB.sec, data.consumed.in.nMsg, nMsg.sec, rebalance.time.ms,"
    " fetch.time.ms, fetch.MB.sec, fetch.nMsg.sec"
)


class _Read(NamedTuple):
    """The totals at a moment."""

    at_ms: int
    records: int = 0
    bytes: int = 0


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the flags of the tool."""
    parser.add_argument("--topic", help="the topic to read")
    parser.add_argument("--include", metavar="REGEX", help="read all topics whose name matches")
    parser.add_argument("--num-records", "--messages", type=int, required=True, metavar="N")
    parser.add_argument("--group", help="the group to read as a member of [perf-consumer-N]")
    parser.add_argument("--fetch-size", type=int, default=MIB, metavar="BYTES", help="[1048576]")
    parser.add_argument(
        "--from-latest", action="store_true", help="begin at the end, not with the first record"
    )
    parser.add_argument("--timeout", type=int, default=10_000, metavar="MS", help="[10000]")
    parser.add_argument(
        "--show-detailed-stats", action="store_true", help="print a line per interval"
    )
    parser.add_argument("--reporting-interval", type=int, default=5000, metavar="MS", help="[5000]")
    parser.add_argument("--date-format", default="yyyy-MM-dd HH:mm:ss:SSS", metavar="PATTERN")
    parser.add_argument("--hide-header", action="store_true", help="leave out the first line")
    parser.add_argument("--print-metrics", action="store_true", help="print totals at the end")
    parser.add_argument("--socket-buffer-size", help="accepted and ignored")
    add_repeatable(
        parser, "--command-property", text="a property of Kafka's consumer: isolation.level ..."
    )
    add_connection(parser)
    add_alias(parser, "--consumer.config", dest="command_config", metavar="FILE", kind=Path)


def run(options: argparse.Namespace) -> int:
    """Read until there are enough records, or a timeout."""
    if (options.topic is None) == (options.include is None):
        raise SettingsError(
            "Exactly one of the following arguments is required: --topic, --include"
        )
    date = java_date(options.date_format)
    properties = properties_of(options.command_property, options.command_config)
    properties.setdefault("client.id", _CLIENT_ID)
    if options.group is not None:
        properties["group.id"] = options.group
    properties.setdefault("group.id", f"perf-consumer-{random.randrange(100_000)}")  # noqa: S311
    properties["auto.offset.reset"] = "latest" if options.from_latest else "earliest"
    config = ConsumerConfig.read(properties)
    if not options.hide_header:
        first = "time, threadId" if options.show_detailed_stats else "start.time, end.time"
        print(f"{first}, {_COLUMNS}", flush=True)
    with connect(options, properties) as client:
        test = _Test(client, options, config, date)
        test.read()
    if options.print_metrics:
        test.print_metrics(config.client_id)
    return 0


class _Test:
    """Reads, counts and reports."""

    def __init__(
        self,
        client: Client,
        options: argparse.Namespace,
        config: ConsumerConfig,
        date: Callable[[datetime], str],
    ) -> None:
        self._options = options
        self._date = date
        self._fetcher = Fetcher(
            client,
            reset=config.reset,
            read_committed=config.read_committed,
            partition_bytes_max=options.fetch_size,
        )
        if options.topic is not None:
            choose = one_topic(client, options.topic, create=config.create_topics)
        else:
            choose = matching_topics(client, _pattern(options.include))
        assert config.group is not None
        self._subscription = GroupPartitions(choose, make_member(client, config.group, config))
        self._start = self._reported = self._now = _Read(_now_ms())
        self._joined_ms: int | None = None
        self._is_join_reported = False

    def read(self) -> None:
        """Read, report intervals, and print the total."""
        quiet_since_ms = self._start.at_ms
        wanted = self._options.num_records
        try:
            while self._now.records < wanted and (
                self._now.at_ms - quiet_since_ms <= self._options.timeout
            ):
                self._subscription.keep(self._fetcher, _POLL_S)
                if self._joined_ms is None and self._fetcher.positions:
                    self._joined_ms = _now_ms() - self._start.at_ms
                batches = self._fetcher.poll(_POLL_S)
                self._now = self._now._replace(at_ms=_now_ms())
                if batches:
                    quiet_since_ms = self._now.at_ms
                    self._count(batches)
            self._now = self._now._replace(at_ms=_now_ms())
        finally:
            self._subscription.close()
        if self._now.records < wanted:
            print(
                "WARNING: Exiting before consuming the expected number of records: timeout"
                f" ({self._options.timeout} ms) exceeded. You can use the --timeout option to"
                " increase the timeout."
            )
        if not self._options.show_detailed_stats:
            begin, end = (self._text(each.at_ms) for each in (self._start, self._now))
            print(f"{begin}, {end}, {_figures(self._start, self._now, self._joined_ms or 0)}")

    def _count(self, batches: Iterable[FetchedBatch]) -> None:
        for fetched in batches:
            records, size_bytes = measure(fetched)
            self._now = _Read(
                self._now.at_ms, self._now.records + records, self._now.bytes + size_bytes
            )
            offset = fetched.batch.next_offset
            self._subscription.consumed((fetched.topic, fetched.partition), offset)
        if self._now.at_ms - self._reported.at_ms >= self._options.reporting_interval:
            if self._options.show_detailed_stats:
                joined_ms = 0 if self._is_join_reported else self._joined_ms or 0
                figures = _figures(self._reported, self._now, joined_ms)
                print(f"{self._text(self._now.at_ms)}, 0, {figures}", flush=True)
            self._is_join_reported = True
            self._reported = self._now

    def print_metrics(self, client_id: str) -> None:
        """Print counts in the form of a Kafka client's metrics."""
        counts = {
            "bytes-consumed-total": self._now.bytes,
            "records-consumed-total": self._now.records,
        }
        lines = metric_lines("consumer-fetch-manager-metrics", client_id, counts)
        print(*lines, sep="\n")

    def _text(self, at_ms: int) -> str:
        return self._date(datetime.fromtimestamp(at_ms / 1000, UTC).astimezone())


def _figures(since: _Read, until: _Read, joined_ms: int) -> str:
    """Format totals, and rates since a moment."""
    elapsed_ms = max(until.at_ms - since.at_ms, 1)
    fetching_ms = elapsed_ms - joined_ms
    records = until.records - since.records
    read_mib = (until.bytes - since.bytes) / MIB
    fetch_rate = 1000 / fetching_ms if fetching_ms > 0 else 0.0
    return (
        f"{until.bytes / MIB:.4f}, {1000 * read_mib / elapsed_ms:.4f}, {until.records},"
        f" {1000 * records / elapsed_ms:.4f}, {joined_ms}, {fetching_ms},"
        f" {read_mib * fetch_rate:.4f}, {records * fetch_rate:.4f}"
    )


def measure(fetched: FetchedBatch) -> tuple[int, int]:
    """Return the number of wanted records of a batch, and the size of their keys and values.

    Raises:
        ClientError: the records cannot be read.
    """
    batch = fetched.batch
    content = read_content(batch)
    status, _, records, key_bytes, value_bytes, *_ = measure_records(
        memoryview(content.data).toreadonly(),
        0,
        len(content.data),
        batch.record_count,
        batch.base_offset,
        fetched.position,
        _OFFSET_MAX,
    )
    if status or content.failed:
        what = f"partition {fetched.topic}-{fetched.partition} at offset {batch.base_offset}"
        raise ClientError(f"{what}: the records cannot be read")
    return records, key_bytes + value_bytes


def _pattern(text: str) -> re.Pattern[str]:
    try:
        return re.compile(text)
    except re.error as error:
        raise SettingsError(f"--include {text}: {error}") from error


def _now_ms() -> int:
    return time.time_ns() // 1_000_000
