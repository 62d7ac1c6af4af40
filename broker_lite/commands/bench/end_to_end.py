"""`broker-lite bench e2e`: write batches at a rate, and read them: how late does a reader see them?

Each batch tells in its first value when its request was due. All latencies but those of
acknowledgements are from then until a reader has the batch.
"""

from __future__ import annotations

import argparse
import secrets
import time
from typing import Final

from broker_lite.commands.bench.flags import add_load, check_processes, connections_of, size
from broker_lite.commands.bench.measuring import Measurement, common_settings, open_cluster
from broker_lite.commands.bench.texts import percentile_line
from broker_lite.commands.bench.writing import (
    add_batches,
    batch_settings,
    batches_of,
    is_idempotent,
    produce_work,
    requests_per_s,
)
from broker_lite.load.cluster import Cluster
from broker_lite.load.end_to_end import EndToEnd
from broker_lite.load.fetch import FetchWork
from broker_lite.load.part import Part
from broker_lite.load.recorder import Recorder
from broker_lite.load.report import latency_figures, phase_figures
from broker_lite.load.run import Load, Run
from broker_lite.load.schedule import Schedule
from broker_lite.load.stamped import RUN_ID_BYTES
from broker_lite.load.worker import MAIN, Hooks, Worker

_ACKNOWLEDGED: Final = "acknowledged"
_PROCESS_MAX_BYTES: Final = 1 << 20


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the flags."""
    add_load(parser, rate_help="50MB/s of batches, 20000/s for records, or max [max]")
    add_batches(parser)
    parser.add_argument(
        "--max-bytes", type=size, default=_PROCESS_MAX_BYTES, metavar="SIZE",
        help="of the records of an answer to a fetch [1MiB]",
    )  # fmt: skip


def run(options: argparse.Namespace) -> int:
    """Write and read, and print the figures."""
    is_idempotent(options)  # a mistake shows now
    batches = batches_of(options, is_stamped=True)
    measurement = Measurement(options, requests_per_s(options.rate, batches))
    with open_cluster(options) as cluster:
        cluster.create_topic(options.partitions)
        partition_count = cluster.wait_for_leaders()
        check_processes(options, partition_count)
        measurement.run(worker, cluster)
    acknowledged = measurement.recorders[_ACKNOWLEDGED].measured
    totals = measurement.totals
    lines = [
        f"accepted {totals['written_records']:,} records,"
        f" seen {measurement.recorder.accepted_records:,}",
        f"latencies of acknowledgements: {percentile_line(acknowledged.latencies_ns)}",
    ]
    for name, text in (("unseen", "accepted and not seen"), ("repeated", "seen again")):
        if totals[name]:
            lines.append(f"batches {text}: {totals[name]:,}")
    return measurement.tell(
        "e2e",
        {
            **common_settings(options, partition_count),
            **batch_settings(options, batches),
            "max_bytes": options.max_bytes,
        },
        lines,
        {
            _ACKNOWLEDGED: phase_figures(acknowledged),
            "acknowledged_ms": latency_figures(acknowledged.latencies_ns),
            **totals,
        },
    )


def worker(options: argparse.Namespace, cluster: Cluster, part: Part, hooks: Hooks) -> Worker:
    """Make what one process runs."""
    batches = batches_of(options, is_stamped=True)
    seen, acknowledged = hooks.recorder(options.warmup), Recorder(warmup_s=options.warmup)
    both = EndToEnd(secrets.token_bytes(RUN_ID_BYTES), seen, acknowledged)
    schedule = Schedule(requests_per_s(options.rate, batches), part)
    writing = produce_work(
        options, cluster, part,
        batches=batches, schedule=schedule, recorder=seen, witness=both,
    )  # fmt: skip
    reading = FetchWork(
        topic=options.topic,
        positions=cluster.offsets(earliest=False),
        max_bytes=options.max_bytes,
        loops=False,
        client_id=cluster.client_id,
        schedule=Schedule(None),
        recorder=seen,
        watcher=both,
    )
    connections = connections_of(options, part)
    run = Run(
        cluster,
        [
            Load(reading, connections=connections, in_flight=1),
            Load(writing, connections=connections, in_flight=options.in_flight),
        ],
        schedule=schedule,
        recorders=[seen, acknowledged],
        clock=time.monotonic_ns,
    )
    return Worker(run, {MAIN: seen, _ACKNOWLEDGED: acknowledged}, both.totals)
