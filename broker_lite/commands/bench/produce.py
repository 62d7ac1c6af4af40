"""`broker-lite bench produce`: write batches that were encoded before, at a rate."""

from __future__ import annotations

import argparse
import time

from broker_lite.commands.bench.flags import add_load, check_processes, connections_of
from broker_lite.commands.bench.measuring import Measurement, common_settings, open_cluster
from broker_lite.commands.bench.writing import (
    add_batches,
    batch_settings,
    batches_of,
    is_idempotent,
    produce_work,
    requests_per_s,
)
from broker_lite.errors import ClientError
from broker_lite.load.cluster import Cluster
from broker_lite.load.part import Part
from broker_lite.load.run import Load, Run
from broker_lite.load.schedule import Schedule
from broker_lite.load.worker import MAIN, Hooks, Worker


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the flags."""
    add_load(parser, rate_help="50MB/s of batches, 20000/s for records, or max [max]")
    add_batches(parser)


def run(options: argparse.Namespace) -> int:
    """Write, and print the figures."""
    is_idempotent(options)  # a mistake shows now
    batches = batches_of(options)
    measurement = Measurement(options, requests_per_s(options.rate, batches))
    with open_cluster(options) as cluster:
        cluster.create_topic(options.partitions)
        partition_count = cluster.wait_for_leaders()
        check_processes(options, partition_count)
        before = cluster.offsets(earliest=False)
        measurement.run(worker, cluster)
        after = measurement.ends(cluster)
    delivered: int | None = None
    if isinstance(after, ClientError):
        text = f"delivered is not known: {after}"
    else:
        delivered = sum(end - before.get(number, 0) for number, end in after.items())
        text = f"delivered {delivered:,} (end offsets after minus before)"
    return measurement.tell(
        "produce",
        {**common_settings(options, partition_count), **batch_settings(options, batches)},
        [f"accepted {measurement.recorder.accepted_records:,} records, {text}"],
        {"delivered_records": delivered},
    )


def worker(options: argparse.Namespace, cluster: Cluster, part: Part, hooks: Hooks) -> Worker:
    """Make what one process runs."""
    batches = batches_of(options)
    recorder = hooks.recorder(options.warmup)
    schedule = Schedule(requests_per_s(options.rate, batches), part)
    work = produce_work(
        options, cluster, part, batches=batches, schedule=schedule, recorder=recorder
    )
    load = Load(work, connections=connections_of(options, part), in_flight=options.in_flight)
    run = Run(cluster, [load], schedule=schedule, recorders=[recorder], clock=time.monotonic_ns)
    return Worker(run, {MAIN: recorder})
