"""The lag of groups, as the control API tells it, whose partitions are in several processes."""

from typing import Any

import pytest

from broker_lite.testing import Broker, BrokerFailed
from tests.server.processes.conftest import PROCESSES, Cluster, wait_until
from tests.server.processes.share_member import GROUP, TOPIC

PARTITIONS = range(PROCESSES)
RECORDS = 10


@pytest.fixture
def filled(started: Cluster) -> Broker:
    """A broker with a topic that has a partition in each process, with records."""
    started.broker.create_topic(TOPIC, partitions=PROCESSES)
    for index in PARTITIONS:
        started.broker.produce(TOPIC, *("v" for _ in range(RECORDS)), partition=index)
    return started.broker


def look(broker: Broker) -> Any:
    return broker.control("GET", f"/v1/groups/{GROUP}")


def test_partitions_of_all_processes_count(filled: Broker) -> None:
    filled.control("PUT", f"/v1/groups/{GROUP}/offsets", {TOPIC: {str(i): i for i in PARTITIONS}})
    found = look(filled)
    assert found["offsets"][TOPIC] == {
        str(i): {"committed": i, "end": RECORDS, "lag": RECORDS - i, "metadata": ""}
        for i in PARTITIONS
    }
    assert found["lag"] == sum(RECORDS - i for i in PARTITIONS)
    with pytest.raises(BrokerFailed, match="group g is not as wanted"):
        filled.control("POST", f"/v1/groups/{GROUP}/wait", {"lag": 26, "timeout_ms": 0})
    filled.control("POST", f"/v1/groups/{GROUP}/wait", {"lag": 27, "timeout_ms": 0})


def test_the_lag_is_not_known_while_a_process_is_away(started: Cluster, filled: Broker) -> None:
    filled.control("PUT", f"/v1/groups/{GROUP}/offsets", {TOPIC: {str(i): 10 for i in PARTITIONS}})
    assert look(filled)["lag"] == 0
    started.processes()[2].suspend()
    started.processes()[2].kill()
    away = wait_until(lambda: look(filled) if look(filled)["lag"] is None else None)
    assert len(away["offsets"].get(TOPIC, {})) < PROCESSES
    back: Any = filled.control("POST", f"/v1/groups/{GROUP}/wait", {"lag": 0, "timeout_ms": 20_000})
    assert len(back["offsets"][TOPIC]) == PROCESSES
