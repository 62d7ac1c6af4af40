"""A broker whose process stands still for a second, under a load at a rate.

The seconds are those of the run itself, so the test needs no clock of its own.
"""

import os
import signal
import time
from collections.abc import Iterator

import pytest

from broker_lite.client import Client
from broker_lite.load.cluster import Cluster
from broker_lite.load.recorder import Recorder, Second
from broker_lite.load.run import Load, Run
from broker_lite.load.stamped import Batch
from broker_lite.testing import Broker
from tests.load.lanes import SECOND, produce_work
from tests.load.test_run import TOPIC, all_were_accepted, one_record

PER_SECOND = 200
SECONDS = 4


@pytest.fixture
def broker() -> Iterator[Broker]:
    with Broker(topics=[TOPIC]) as running:
        yield running


@pytest.mark.slow
def test_the_99th_percentile_tells_of_a_stall(broker: Broker) -> None:
    """A quarter of all requests is due in the stall, and waits for up to a second."""

    def on_second(second: Second) -> None:
        if second.end_s in stops:
            os.kill(broker.pid, stops[second.end_s])

    stops = {1.0: signal.SIGSTOP, 2.0: signal.SIGCONT}
    recorder = Recorder(warmup_s=0, on_second=on_second)
    work = produce_work(recorder, per_second=PER_SECOND, batches=[Batch(one_record(), 10)])
    cluster = Cluster(Client(broker.bootstrap), TOPIC, Client)
    run = Run(
        cluster,
        [Load(work, connections=1, in_flight=5)],
        schedule=work.schedule,
        recorders=[recorder],
        clock=time.monotonic_ns,
    )
    run.open()
    try:
        run.run(SECONDS)
    finally:
        os.kill(broker.pid, signal.SIGCONT)
        cluster.close()
    latencies_ns = recorder.measured.latencies_ns
    assert recorder.seconds[1].requests <= 5  # those whose answers were on their way
    assert latencies_ns.percentile(0.99) > 0.9 * SECOND
    assert latencies_ns.percentile(0.85) > 0.3 * SECOND
    assert latencies_ns.count == PER_SECOND * SECONDS
    assert all_were_accepted(recorder, PER_SECOND * SECONDS)
