"""`broker-lite bench fetch`: read batches at a rate."""

from __future__ import annotations

import argparse

from broker_lite.commands.bench.flags import add_load, size
from broker_lite.commands.bench.measuring import Measurement, open_cluster
from broker_lite.errors import SettingsError
from broker_lite.load.fetch import FetchWork


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the flags."""
    add_load(parser, rate_help="100/s for requests, or max: as many as the broker answers [max]")
    parser.add_argument(
        "--max-bytes", type=size, default=1 << 20, metavar="SIZE",
        help="of the records of an answer [1MiB]",
    )  # fmt: skip
    parser.add_argument(
        "--from",
        dest="start",
        choices=["earliest", "latest"],
        default="earliest",
        help="where to begin; at the end, requests of --rate max wait for records [earliest]",
    )
    parser.add_argument("--loop", action="store_true", help="begin again at the end of a partition")


def run(options: argparse.Namespace) -> int:
    """Read, and print the figures."""
    if options.rate.is_bytes:
        raise SettingsError("--rate: fetches are counted in requests: 100/s or max")
    measurement = Measurement(options, options.rate.per_second)
    with open_cluster(options) as cluster:
        partition_count = cluster.wait_for_leaders()
        work = FetchWork(
            topic=options.topic,
            positions=cluster.offsets(earliest=options.start == "earliest"),
            max_bytes=options.max_bytes,
            loops=options.loop,
            client_id=cluster.client_id,
            schedule=measurement.schedule,
            recorder=measurement.recorder,
        )
        measurement.run(cluster, work, in_flight=1)
    return measurement.tell("fetch", _settings(options, partition_count))


def _settings(options: argparse.Namespace, partition_count: int) -> dict[str, object]:
    return {
        "bootstrap": options.bootstrap_server,
        "topic": options.topic,
        "partitions": partition_count,
        "rate": options.rate._asdict(),
        "connections": options.connections,
        "max_bytes": options.max_bytes,
        "from": options.start,
        "loop": options.loop,
        "warmup_s": options.warmup,
        "duration_s": options.duration,
    }
