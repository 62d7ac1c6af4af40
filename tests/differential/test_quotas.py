"""The same loads with quotas at a real Kafka and here: throttle times, answers, mutes."""

import math
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from broker_lite.testing import Broker
from tests.differential.compare_quotas import (
    SETTLED_S,
    Load,
    Seen,
    by_level,
    connections,
    loads,
    prepare,
    quotas,
    run,
    set_quota,
)
from tests.support.raw_client import RawClient
from tests.support.reference_kafka import ReferenceKafka
from tests.support.toolchain import require

SEED = 1
# Where a window begins and ends depends on milliseconds, in Kafka from run to run.
WINDOW_MS = 1000
CLOSE_MS = 150
POLL_MS = 500


def throttle(port: int, sent: list[Load]) -> tuple[list[list[Seen]], list[int]]:
    """All loads at once, and the levels."""
    prepare(port)
    levels = by_level(port)
    with RawClient("127.0.0.1", port, client_id="admin") as admin:
        for key, value, entity in quotas():
            assert set_quota(admin, key, value, **entity) == 0
        time.sleep(SETTLED_S)
    with ThreadPoolExecutor(len(sent)) as pool:
        return list(pool.map(lambda load: run(port, load), sent)), levels


def is_near(ours_ms: float, kafka_ms: float, more_ms: float) -> bool:
    """Whether times differ by no more than 10 %, or some milliseconds."""
    return ours_ms == kafka_ms or abs(ours_ms - kafka_ms) <= max(kafka_ms / 10, more_ms)


def compare(load: Load, ours: list[Seen], theirs: list[Seen]) -> int:
    """Compare the steps of a load; gives how many were the same.

    Where it depends on milliseconds which windows count, times may differ by the length of one. The
    next steps are sent at other moments then, so that they are not compared.
    """
    for number, (our, their) in enumerate(zip(ours, theirs, strict=False)):
        where = load.client_id, number, load.steps[number], our, their
        for seen in (our, their):  # a mute is as long as its answer says
            if seen.throttle_ms >= 0 and not math.isinf(seen.muted_ms):
                assert abs(seen.muted_ms - seen.throttle_ms) < WINDOW_MS / 2, where
        if not is_near(our.throttle_ms, their.throttle_ms, CLOSE_MS):
            assert is_near(our.throttle_ms, their.throttle_ms, WINDOW_MS), where
            return number
        if our.throttle_ms < 0:
            assert is_near(our.muted_ms, their.muted_ms, WINDOW_MS / 2), where
        if (our.throttle_ms > 0) != (their.throttle_ms > 0):
            return number
        assert our.facts == their.facts, where
    return len(load.steps)


@pytest.mark.kafka
@pytest.mark.slow
def test_x80_to_x91_as_kafka(tmp_path: Path) -> None:
    require("java", "mvn")
    sent = loads(SEED)
    kafka = ReferenceKafka(tmp_path / "kafka", is_short_lived=True)
    with kafka, Broker() as broker, ThreadPoolExecutor(2) as pool:
        our_port = int(broker.bootstrap.rpartition(":")[2])
        (theirs, their_levels), (ours, our_levels) = pool.map(
            throttle, (kafka.port, our_port), (sent, sent)
        )
        their_rates, our_rates = pool.map(
            connections, (kafka.port, our_port), ({"ip": "127.0.0.1"},) * 2
        )
    for our_ms, their_ms in zip(our_levels, their_levels, strict=True):
        assert is_near(our_ms, their_ms, 20), (our_levels, their_levels)
    compared = sum(compare(*each) for each in zip(sent, ours, theirs, strict=True))
    assert compared >= 0.75 * sum(len(load.steps) for load in sent)
    served = [[one[0] for one in each].count("served") for each in (our_rates, their_rates)]
    assert is_near(*served, 4)
    for kind, waited_ms in our_rates:
        assert waited_ms < (WINDOW_MS if kind == "closed" else 0) + POLL_MS
