"""`broker-lite bench idle`: connections that stay and ask little, of a topic with partitions."""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator
from typing import Final

from broker_lite.commands.bench.flags import (
    add_load,
    add_partitions,
    connections_of,
    count_up_to,
)
from broker_lite.commands.bench.measuring import Measurement, common_settings, open_cluster
from broker_lite.commands.bench.texts import percentile_line
from broker_lite.errors import SettingsError
from broker_lite.load.cluster import Cluster
from broker_lite.load.descriptors import make_room_for
from broker_lite.load.idle import IdleWork
from broker_lite.load.idle_run import IDLE_CONNECTIONS_MAX, IdleRun
from broker_lite.load.part import Part
from broker_lite.load.recorder import NS_PER_MS, Recorder
from broker_lite.load.report import latency_figures
from broker_lite.load.schedule import Schedule
from broker_lite.load.worker import MAIN, Hooks, Worker

_CONNECTS: Final = "connects"
_FETCHES: Final = "fetches"
_TOPIC: Final = "topic"
_BROKERS: Final = "brokers"
_MS_MAX: Final = 3_600_000
_MB: Final = 1e6
_KB: Final = 1e3


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the flags."""
    add_load(
        parser,
        rate_help="500/s: how many connections are opened a second, or max [max]",
        connections_max=IDLE_CONNECTIONS_MAX,
        connections=1000,
        connections_help="in turns to the leaders of the partitions [1000]",
    )
    add_partitions(parser)
    parser.add_argument(
        "--ask-every",
        type=count_up_to(_MS_MAX),
        default=10_000,
        metavar="MS",
        help="how often a connection asks for metadata [10000]",
    )
    parser.add_argument(
        "--ask",
        choices=(_TOPIC, _BROKERS),
        default=_TOPIC,
        help="for which: of the topic with all its partitions, as a client does, or of the brokers "
        "only, so that all connections share one look at the topic [topic]",
    )
    parser.add_argument(
        "--fetch-every",
        type=count_up_to(_MS_MAX),
        metavar="MS",
        help="how often a connection fetches from the end of a partition [never]",
    )


def run(options: argparse.Namespace) -> int:
    """Open the connections, let them ask, and print the figures."""
    if options.rate.is_bytes:
        raise SettingsError("--rate: connections are opened: 500/s or max")
    make_room_for(connections_of(options, Part(0, options.processes)))
    asked_per_s = options.connections * 1000 / options.ask_every
    measurement = Measurement(options, asked_per_s)
    with open_cluster(options) as cluster:
        cluster.create_topic(options.partitions)
        partition_count = cluster.wait_for_leaders()
        measurement.run(worker, cluster)
    settings = {
        **common_settings(options, partition_count),
        "rate": options.rate._asdict(),
        "ask": options.ask,
        "ask_every_ms": options.ask_every,
        "fetch_every_ms": options.fetch_every,
    }
    connects = measurement.recorders[_CONNECTS].measured.latencies_ns
    fetches = measurement.recorders[_FETCHES].measured.latencies_ns
    figures: dict[str, object] = {
        "opened": connects.count,
        "connect_ms": latency_figures(connects),
        "broker_memory_before_bytes": measurement.memory_before,
        **measurement.totals,
    }
    if fetches.count:
        figures["fetch_ms"] = latency_figures(fetches)
    return measurement.tell("idle", settings, list(_lines(measurement)), figures)


def worker(options: argparse.Namespace, cluster: Cluster, part: Part, hooks: Hooks) -> Worker:
    """Make what one process runs; all processes share all partitions."""
    connections = part.size_of(options.connections)
    make_room_for(connections)
    metadata = hooks.recorder(options.warmup)
    connects, fetches = Recorder(warmup_s=0), Recorder(warmup_s=options.warmup)
    work = IdleWork(
        topic=options.topic,
        ends={} if options.fetch_every is None else cluster.offsets(earliest=False),
        client_id=cluster.client_id,
        ask_every_ns=options.ask_every * NS_PER_MS,
        fetch_every_ns=None if options.fetch_every is None else options.fetch_every * NS_PER_MS,
        metadata=metadata,
        fetches=fetches,
        asks_for_topic=options.ask == _TOPIC,
    )
    run = IdleRun(
        cluster,
        work,
        connections=connections,
        opening=Schedule(options.rate.per_second, part),
        connects=connects,
        clock=time.monotonic_ns,
    )
    recorders = {MAIN: metadata, _CONNECTS: connects, _FETCHES: fetches}
    return Worker(run, recorders, lambda: {"open_at_end": run.open_at_end})


def _lines(measurement: Measurement) -> Iterator[str]:
    connects = measurement.recorders[_CONNECTS].measured.latencies_ns
    yield (
        f"connections opened {connects.count:,}, open at the end"
        f" {measurement.totals['open_at_end']:,}"
    )
    yield f"time to connect: {percentile_line(connects)}"
    fetches = measurement.recorders[_FETCHES].measured
    if fetches.latencies_ns.count:
        per_s = fetches.requests / (fetches.length_s or 1)
        yield f"fetches: {per_s:,.1f}/s, {percentile_line(fetches.latencies_ns)}"
    before, now = measurement.memory_before, measurement.meter.memory_bytes
    if before is not None and now is not None and connects.count:
        each = (now - before) / connects.count / _KB
        yield (
            f"memory of the broker: {before / _MB:,.1f} MB before, {now / _MB:,.1f} MB at the end,"
            f" {each:,.1f} KB for each connection"
        )
