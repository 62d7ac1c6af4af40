"""Consumers that are sent to a replica in their rack; the outcomes are those of Kafka 4.3.1."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from broker_lite.handler.fetch.preferred import preferred_replica
from broker_lite.log.replicas import Lag, Replicas
from broker_lite.settings.declared.cluster_settings import RACK_AWARE_SELECTOR
from tests.handler.data_apis import FETCH, Handlers, fetched, wanted
from tests.log.batches import batch, record
from tests.support.several_brokers import come_back, place_topic

SETTINGS = {"broker.lite.brokers": "4", "broker.lite.racks": "r1,r2,r3,r3"}
TOPIC = "placed"
ABSENT = -1


@pytest.fixture
def handlers(tmp_path: Path) -> Iterator[Handlers]:
    """Four brokers, of which the first leads the one partition of a topic with three records."""
    settings = {**SETTINGS, "replica.selector.class": RACK_AWARE_SELECTOR}
    opened = Handlers(tmp_path / "data", settings=settings)
    place_topic(opened.cluster, TOPIC, [1, 2, 3, 4])
    for _ in range(3):
        opened.produce(batch(record()), topic=TOPIC)
    yield opened
    opened.cluster.close(sync=False)


def fetch(
    handlers: Handlers, rack: str, version: int = 12, *, offset: int = 0, **request: Any
) -> Any:
    partition = wanted(offset=offset)
    for name in ("current_leader_epoch", "last_fetched_epoch"):
        setattr(partition, name, request.pop(name, -1))
    asked = handlers.fetch_request(partition, topic=TOPIC, rack_id=rack, **request)
    (answer,) = fetched(handlers.now(FETCH, version, asked))
    return answer


@pytest.mark.parametrize(
    ("rack", "replica"), [("r1", ABSENT), ("r2", 2), ("r3", 4), ("r9", ABSENT), ("", ABSENT)]
)
def test_c48_a_replica_in_the_rack_of_the_consumer(
    handlers: Handlers, rack: str, replica: int
) -> None:
    answer = fetch(handlers, rack)
    assert (answer.error_code, answer.preferred_read_replica) == (0, replica)
    assert bool(answer.records) == (replica == ABSENT)


@pytest.mark.parametrize("version", range(11, 19))
def test_c47_the_answer_has_the_offsets_of_the_leader(handlers: Handlers, version: int) -> None:
    answer = fetch(handlers, "r2", version, offset=3, isolation_level=1, max_wait_ms=60_000)
    offsets = (answer.high_watermark, answer.last_stable_offset, answer.log_start_offset)
    assert (answer.preferred_read_replica, offsets) == (2, (3, 3, 0))
    assert (answer.aborted_transactions, answer.records) == (None, b"")


@pytest.mark.parametrize("offset", [-1, 4])
def test_c48_no_replica_has_the_offset(handlers: Handlers, offset: int) -> None:
    answer = fetch(handlers, "r2", offset=offset)
    assert (answer.error_code, answer.preferred_read_replica) == (1, ABSENT)


def test_c47_the_epoch_is_checked_first_and_divergence_not_at_all(handlers: Handlers) -> None:
    assert fetch(handlers, "r2", current_leader_epoch=5).error_code == 75
    answer = fetch(handlers, "r2", current_leader_epoch=0, last_fetched_epoch=7)
    assert (answer.error_code, answer.preferred_read_replica) == (0, 2)


def test_c47_a_follower_answers_itself(handlers: Handlers) -> None:
    handlers.context.node_id = 2
    answer = fetch(handlers, "r3")
    assert answer.preferred_read_replica == ABSENT
    assert answer.records


def test_c47_no_replica_is_named_to_a_follower(handlers: Handlers) -> None:
    assert fetch(handlers, "r2", replica_id=2).preferred_read_replica == ABSENT


def test_c48_only_replicas_that_are_in_sync(handlers: Handlers) -> None:
    cluster = handlers.cluster
    cluster.controller.fence(4)
    assert fetch(handlers, "r3").preferred_read_replica == 3
    cluster.controller.fence(3)
    assert fetch(handlers, "r3").preferred_read_replica == ABSENT
    cluster.controller.unfence(3)
    assert fetch(handlers, "r3").preferred_read_replica == ABSENT
    come_back(cluster, 3)
    assert fetch(handlers, "r3").preferred_read_replica == 3


def test_c48_the_replica_that_has_most(handlers: Handlers) -> None:
    log = handlers.log(topic=TOPIC)
    replicas = Replicas([2, 3, 4], 3, handlers.clock.steady_ms, lambda: None)
    log.visibility.replicas = replicas
    preferred = [2, 2, 2, 2]
    for step, (node_id, end_offset, offset) in enumerate(
        [(4, 1, 0), (3, 0, 1), (3, 0, 2), (4, 3, 2)]
    ):
        replicas.fall_behind(node_id, Lag(is_frozen=True), end_offset)
        found = preferred_replica(handlers.cluster, log, "r3", offset)
        preferred[step] = ABSENT if found is None else found
    assert preferred == [3, 4, ABSENT, 4]
    log.visibility.replicas = None


def test_c48_of_several_replicas_the_one_that_got_it_last(handlers: Handlers) -> None:
    log = handlers.log(topic=TOPIC)
    replicas = Replicas([2, 3, 4], 3, handlers.clock.steady_ms, lambda: None)
    log.visibility.replicas = replicas
    replicas.fall_behind(4, Lag(is_frozen=True), 1)
    handlers.clock.step(1000)
    replicas.fall_behind(3, Lag(is_frozen=True), 1)
    assert preferred_replica(handlers.cluster, log, "r3", 0) == 3
    log.visibility.replicas = None


def test_c48_a_topic_that_is_deleted_meanwhile(handlers: Handlers) -> None:
    log = handlers.log(topic=TOPIC)
    handlers.delete(TOPIC)
    assert preferred_replica(handlers.cluster, log, "r2", 0) is None


def test_c47_a_session_is_told_each_time(handlers: Handlers) -> None:
    asked = handlers.fetch_request(wanted(offset=3), topic=TOPIC, rack_id="r2", session_epoch=0)
    first = handlers.now(FETCH, 12, asked)
    for epoch in (1, 2):
        again = handlers.fetch_request(
            session_id=first.session_id, session_epoch=epoch, rack_id="r2", max_wait_ms=60_000
        )
        (answer,) = fetched(handlers.now(FETCH, 12, again))
        assert answer.preferred_read_replica == 2


def test_without_a_selector_consumers_read_from_the_leader(tmp_path: Path) -> None:
    handlers = Handlers(tmp_path / "data", settings=SETTINGS)
    place_topic(handlers.cluster, TOPIC, [1, 2, 3, 4])
    assert fetch(handlers, "r2").preferred_read_replica == ABSENT
    handlers.cluster.close(sync=False)


def test_f16_of_a_synthetic_topic_each_replica_has_all(handlers: Handlers) -> None:
    replicas = Replicas([2, 3, 4], 3, lambda: 0, lambda: None)
    replicas.fall_behind(2, Lag(is_frozen=True), 1)
    handlers.log(topic=TOPIC).visibility.replicas = replicas
    assert fetch(handlers, "r2", offset=2).preferred_read_replica == ABSENT
    synthetic = {"broker.lite.load.mode": "synthetic", "broker.lite.load.end": "5000"}
    handlers.cluster.alter_configs([(2, TOPIC, synthetic)])
    answer = fetch(handlers, "r2", offset=4000)
    offsets = (answer.high_watermark, answer.last_stable_offset, answer.log_start_offset)
    assert (answer.preferred_read_replica, offsets) == (2, (5000, 5000, 0))
