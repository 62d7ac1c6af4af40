"""`kafka-e2e-latency`: write one record at a time, read it back, and print the latency.

Flags and output are those of kafka-e2e-latency.sh; the positional arguments from before Kafka 4.2
work, too.
"""

import argparse
import math
import time
from pathlib import Path
from typing import Final

from broker_lite.client import Client
from broker_lite.client.consuming.fetcher import Fetcher
from broker_lite.client.deadline import Deadline
from broker_lite.client.partition_offsets import LATEST
from broker_lite.client.producing.producer import Producer
from broker_lite.client.producing.producer_config import ProducerConfig
from broker_lite.client.topic_partitions import find_topics
from broker_lite.commands.perf.payloads import random_letters
from broker_lite.commands.shared.connecting import add_connection, connect
from broker_lite.commands.shared.flags import properties_of
from broker_lite.errors import ClientError, SettingsError
from broker_lite.record.records import keys_and_values

_TIMEOUT_S: Final = 60
_POLL_S: Final = 1.0
_TOLD_EVERY: Final = 1000
_ACKS: Final = ("1", "all")
_PLACES: Final = (
    "bootstrap_server", "topic", "num_records", "producer_acks", "record_size", "command_config",
)  # fmt: skip
_PLACES_MIN: Final = 5


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the flags of the tool."""
    parser.add_argument("places", nargs="*", metavar="VALUE", help=argparse.SUPPRESS)
    parser.add_argument("--topic", help="the topic to write to and read")
    parser.add_argument("--num-records", metavar="N", help="how many records")
    parser.add_argument(
        "--producer-acks", metavar="1|all", help="which acknowledgement to wait for"
    )
    parser.add_argument("--record-size", metavar="BYTES", help="size of each value")
    add_connection(parser)


def run(options: argparse.Namespace) -> int:
    """Write and read the records and print the total."""
    _take_places(options)
    count, size_bytes = (_number(options, name) for name in ("num_records", "record_size"))
    if options.topic is None:
        raise SettingsError("the following arguments are required: --topic")
    if options.producer_acks not in _ACKS:
        raise SettingsError(
            "Latency testing requires synchronous acknowledgement. Please use 1 or all"
        )
    properties = properties_of((), options.command_config)
    given = {"acks": options.producer_acks, "linger.ms": "0"}
    config = ProducerConfig.read(properties | given)
    with connect(options, properties) as client:
        producer = Producer(client, options.topic, config, on_failure=_refuse)
        fetcher = Fetcher(client, reset=LATEST)
        _go_to_the_end(client, fetcher, options.topic)
        latencies_ms = []
        for number, value in zip(range(count), random_letters(size_bytes), strict=False):
            start_ns = time.monotonic_ns()
            producer.append(None, value)
            producer.flush()
            _read_back(fetcher, value)
            latencies_ms.append((time.monotonic_ns() - start_ns) / 1e6)
            if number % _TOLD_EVERY == 0:
                print(f"{number}\t{latencies_ms[-1]}", flush=True)
    print(f"Avg latency: {math.fsum(latencies_ms) / count:.4f} ms")
    latencies_ms.sort()
    shares = ", ".join(
        f"{name}th = {int(latencies_ms[int(count * share)])}"
        for name, share in (("50", 0.5), ("99", 0.99), ("99.9", 0.999))
    )
    print(f"Percentiles: {shares}")
    return 0


def _take_places(options: argparse.Namespace) -> None:
    """Read positional arguments as before Kafka 4.2."""
    if not options.places:
        return
    if not _PLACES_MIN <= len(options.places) <= len(_PLACES):
        raise SettingsError(
            "Invalid number of arguments. Expected 5 or 6 positional arguments, but got"
            f" {len(options.places)}. Usage: bootstrap-server topic num-records producer-acks"
            " record-size [optional] command-config"
        )
    for name, text in zip(_PLACES, options.places, strict=False):
        setattr(options, name, Path(text) if name == "command_config" else text)


def _number(options: argparse.Namespace, name: str) -> int:
    text = getattr(options, name) or ""
    if not (text.isascii() and text.isdigit() and int(text)):
        raise SettingsError(f"--{name.replace('_', '-')} {text}: not a number above 0")
    return int(text)


def _go_to_the_end(client: Client, fetcher: Fetcher, topic: str) -> None:
    """Move the fetcher to the end of every partition."""
    found = find_topics(client, [topic])[topic]
    fetcher.assign({(topic, number): None for number in range(found.partition_count)})
    deadline = Deadline(_TIMEOUT_S)
    while None in fetcher.positions.values():
        fetcher.poll(0)
        if not deadline.remaining_s:
            raise ClientError(f"topic {topic}: timeout while asking for the ends of its partitions")


def _read_back(fetcher: Fetcher, expected: bytes) -> None:
    """Wait for the one record that was written.

    Raises:
        ClientError: it does not arrive in time, or another record arrives.
    """
    deadline = Deadline(_TIMEOUT_S)
    values: list[bytes | None] = []
    while not values:
        if not deadline.remaining_s:
            raise ClientError(
                f"poll() timed out before finding a result (timeout:[{_TIMEOUT_S} s])"
            )
        for fetched in fetcher.poll(_POLL_S):
            values += [value for _, value in keys_and_values(fetched.batch)]
    if len(values) != 1:
        raise ClientError(
            f"Only one result was expected during this test. We found [{len(values)}]"
        )
    if values[0] != expected:
        raise ClientError("The message value read did not match the message value sent")


def _refuse(_count: int, error: ClientError) -> None:
    raise error
