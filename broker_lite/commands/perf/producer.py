"""`kafka-producer-perf-test`: write records as fast as possible or at a rate; print latencies.

Flags and output are those of kafka-producer-perf-test.sh, except that it prints only two metrics. A
latency is the time from passing a record to the producer to the broker's response.
"""

import argparse
import sys
import time
import uuid
from collections import deque
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Final

from broker_lite.client import Client
from broker_lite.client.producing.producer import Producer
from broker_lite.client.producing.producer_config import ProducerConfig
from broker_lite.client.producing.transactional_producer import TransactionalProducer
from broker_lite.client.property_values import integer
from broker_lite.commands.perf.payloads import numbers, picked_from, random_letters, read_values
from broker_lite.commands.perf.statistics import Statistics, metric_lines
from broker_lite.commands.perf.throttle import Throttle
from broker_lite.commands.shared.connecting import DEFAULT_BOOTSTRAP, add_connection, connect
from broker_lite.commands.shared.flags import add_alias, properties_of
from broker_lite.errors import ClientError, SettingsError

_CLIENT_ID: Final = "perf-producer-client"
_TRANSACTION_MS: Final = 3000
_TRANSACTION_TIMEOUT_MS: Final = 60_000


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the flags of the tool."""
    parser.add_argument("--topic", required=True, help="the topic to write to")
    parser.add_argument("--num-records", type=int, required=True, metavar="N")
    payload = parser.add_mutually_exclusive_group(required=True)
    payload.add_argument(
        "--record-size", type=int, metavar="BYTES", help="values of random letters"
    )
    payload.add_argument(
        "--payload-file", type=Path, metavar="FILE", help="a file with values to pick from"
    )
    payload.add_argument("--payload-monotonic", action="store_true", help="values 0, 1, 2 ...")
    parser.add_argument("--payload-delimiter", default="\\n", metavar="TEXT", help="[\\n]")
    parser.add_argument(
        "--throughput",
        type=float,
        required=True,
        metavar="RECORDS",
        help="records per second at most; -1 for no limit",
    )
    parser.add_argument(
        "--command-property",
        "--producer-props",
        nargs="+",
        default=[],
        metavar="NAME=VALUE",
        help="properties of Kafka's producer: acks, compression.type, linger.ms, batch.size ...",
    )
    parser.add_argument("--print-metrics", action="store_true", help="print totals at the end")
    parser.add_argument("--transactional-id", metavar="ID", help="write in transactions")
    parser.add_argument(
        "--transaction-duration-ms", type=int, metavar="MS", help="commit every MS ms [3000]"
    )
    parser.add_argument("--warmup-records", type=int, default=0, metavar="N", help="[0]")
    parser.add_argument("--reporting-interval", type=int, default=5000, metavar="MS", help="[5000]")
    add_connection(parser)
    add_alias(parser, "--producer.config", dest="command_config", metavar="FILE", kind=Path)
    parser.set_defaults(bootstrap_server=None)


def run(options: argparse.Namespace) -> int:
    """Send all records and print the total."""
    _check(options)
    properties = properties_of(options.command_property, options.command_config)
    if options.bootstrap_server is None:
        options.bootstrap_server = properties.get("bootstrap.servers", DEFAULT_BOOTSTRAP)
    properties.setdefault("client.id", _CLIENT_ID)
    transactional_id = _transactional_id(options, properties)
    config = ProducerConfig.read(properties)
    payloads = _payloads(options)
    with connect(options, properties) as client:
        test = _Test(options)
        producer = _producer(client, options, config, properties, transactional_id, test)
        test.run(producer, payloads, config.linger_s)
        test.print(config.client_id, producer)
    return 1 if producer.failed_records else 0


def _check(options: argparse.Namespace) -> None:
    """Raise for impossible numbers, with the texts of Kafka's tool."""
    if options.num_records <= 0:
        raise SettingsError("--num-records should be greater than zero.")
    if options.warmup_records >= options.num_records:
        raise SettingsError(
            "The value for --warmup-records must be strictly fewer than the number of records in"
            " the test, --num-records."
        )
    if options.record_size is not None and options.record_size <= 0:
        raise SettingsError("--record-size should be greater than zero.")
    if options.transaction_duration_ms is not None and options.transaction_duration_ms <= 0:
        raise SettingsError("--transaction-duration-ms should be greater than zero.")
    if options.throughput == 0:
        raise SettingsError("--throughput 0 would never send a record; use -1 for no limit")


def _transactional_id(options: argparse.Namespace, properties: dict[str, str]) -> str | None:
    found = options.transactional_id or properties.get("transactional.id")
    if found is None and options.transaction_duration_ms is not None:
        return f"performance-producer-{uuid.uuid4()}"
    return found


def _payloads(options: argparse.Namespace) -> Iterator[bytes]:
    if options.record_size is not None:
        return random_letters(options.record_size)
    if options.payload_monotonic:
        return numbers()
    delimiter = "\n" if options.payload_delimiter == "\\n" else options.payload_delimiter
    print(f"Reading payloads from: {options.payload_file.absolute()}")
    values = read_values(options.payload_file, delimiter)
    print(f"Number of records read: {len(values)}")
    return picked_from(values)


def _producer(
    client: Client,
    options: argparse.Namespace,
    config: ProducerConfig,
    properties: dict[str, str],
    transactional_id: str | None,
    test: "_Test",
) -> Producer:
    if transactional_id is None:
        return Producer(client, options.topic, config, on_failure=_tell, on_settled=test.settle)
    timeout_ms = integer(properties, "transaction.timeout.ms", _TRANSACTION_TIMEOUT_MS, minimum=1)
    return TransactionalProducer(
        client,
        options.topic,
        config,
        transactional_id=transactional_id,
        timeout_ms=timeout_ms,
        on_failure=_tell,
        on_settled=test.settle,
    )


def _now_ms() -> float:
    return time.monotonic_ns() / 1e6


class _Test:
    """Sends records and measures the time until each is acknowledged."""

    def __init__(self, options: argparse.Namespace) -> None:
        self._count = options.num_records
        self._warmup = max(options.warmup_records, 0)
        self._throughput = options.throughput
        self._commit_ms = options.transaction_duration_ms or _TRANSACTION_MS
        self._prints_metrics = options.print_metrics
        self._statistics = partial(
            Statistics,
            interval_ms=options.reporting_interval,
            now_ms=_now_ms,
            tell=partial(print, flush=True),
        )
        self._all = self._statistics(self._count)
        self._steady: Statistics | None = None
        # per partition, for each open record: time of sending, size, statistics after the warm-up
        self._open: dict[int, deque[tuple[float, int, Statistics | None]]] = {}

    def run(self, producer: Producer, payloads: Iterator[bytes], linger_s: float) -> None:
        """Send all records at the wanted rate."""
        if self._warmup:
            print(
                f"Warmup first {self._warmup} records. Steady state results will print after the"
                " complete test summary.",
                flush=True,
            )
        self._all = self._statistics(self._count)
        throttle = Throttle(self._throughput)
        flush_at_ms = commit_at_ms = float("inf")
        for step in range(self._count):
            _wait(producer, throttle, step, flush_at_ms)
            sent_ms = _now_ms()
            if step == self._warmup and self._warmup:
                self._steady = self._statistics(self._count - self._warmup, steady=True)
                self._all.is_silent = True
            was_pending = producer.pending
            self._send(producer, next(payloads), sent_ms)
            if not was_pending:
                flush_at_ms = sent_ms + 1000 * linger_s
            elif sent_ms >= flush_at_ms:
                producer.flush()
            if isinstance(producer, TransactionalProducer):
                commit_at_ms = min(commit_at_ms, sent_ms + self._commit_ms)
                if sent_ms >= commit_at_ms:
                    producer.commit()
                    commit_at_ms = float("inf")
        producer.flush()
        if isinstance(producer, TransactionalProducer):
            producer.commit()

    def _send(self, producer: Producer, value: bytes, sent_ms: float) -> None:
        # append() first sends a full batch, which never includes this record
        partition = producer.append(None, value)
        if partition is not None:
            entry = (sent_ms, len(value), self._steady)
            self._open.setdefault(partition, deque()).append(entry)

    def settle(self, partition: int, record_count: int, is_taken: bool) -> None:
        """Measure the latency of the oldest open records of a partition."""
        now_ms = _now_ms()
        waiting = self._open[partition]
        for _ in range(record_count):
            sent_ms, size_bytes, steady = waiting.popleft()
            if not is_taken:
                continue
            latency_ms = int(now_ms - sent_ms)
            self._all.add(latency_ms, size_bytes)
            if steady is not None:
                steady.add(latency_ms, size_bytes)
        self._all.report()
        if self._steady is not None:
            self._steady.report()

    def print(self, client_id: str, producer: Producer) -> None:
        """Print the total, the total after the warm-up, and metrics if wanted."""
        print(self._all.total())
        if self._steady is not None:
            print(self._steady.total())
        if self._prints_metrics:
            counts = {
                "record-send-total": self._all.count,
                "record-error-total": producer.failed_records,
            }
            print(*metric_lines("producer-metrics", client_id, counts), sep="\n")


def _wait(producer: Producer, throttle: Throttle, step: int, flush_at_ms: float) -> None:
    """Wait until the next record is due; send a batch whose linger time ends meanwhile."""
    while wait_s := throttle.wait_s(step):
        if producer.pending:
            linger_s = (flush_at_ms - _now_ms()) / 1000
            if linger_s <= 0:
                producer.flush()
                continue
            wait_s = min(wait_s, linger_s)
        time.sleep(wait_s)


def _tell(record_count: int, error: ClientError) -> None:
    print(f"broker-lite: records not delivered: {record_count}: {error}", file=sys.stderr)
