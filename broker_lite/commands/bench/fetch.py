"""`broker-lite bench fetch`: read batches at a rate."""

from __future__ import annotations

import argparse
import time

from broker_lite.commands.bench.flags import add_load, check_processes, connections_of, size
from broker_lite.commands.bench.measuring import Measurement, common_settings, open_cluster
from broker_lite.errors import SettingsError
from broker_lite.load.cluster import Cluster
from broker_lite.load.fetch import FetchWork
from broker_lite.load.part import Part
from broker_lite.load.run import Load, Run
from broker_lite.load.schedule import Schedule
from broker_lite.load.worker import MAIN, Hooks, Worker


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
        check_processes(options, partition_count)
        measurement.run(worker, cluster)
    settings = {
        **common_settings(options, partition_count),
        "rate": options.rate._asdict(),
        "max_bytes": options.max_bytes,
        "from": options.start,
        "loop": options.loop,
    }
    return measurement.tell("fetch", settings)


def worker(options: argparse.Namespace, cluster: Cluster, part: Part, hooks: Hooks) -> Worker:
    """Make what one process runs."""
    recorder = hooks.recorder(options.warmup)
    schedule = Schedule(options.rate.per_second, part)
    work = FetchWork(
        topic=options.topic,
        positions=cluster.offsets(earliest=options.start == "earliest"),
        max_bytes=options.max_bytes,
        loops=options.loop,
        client_id=cluster.client_id,
        schedule=schedule,
        recorder=recorder,
    )
    load = Load(work, connections=connections_of(options, part), in_flight=1)
    run = Run(cluster, [load], schedule=schedule, recorders=[recorder], clock=time.monotonic_ns)
    return Worker(run, {MAIN: recorder})
