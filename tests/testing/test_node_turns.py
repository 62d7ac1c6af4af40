"""Commands for brokers that overlap, and what is mended afterwards.

Also tests: broker_lite.server.nodes.
"""

import threading
import time
from collections import Counter

import pytest

from broker_lite.testing import Broker, BrokerFailed
from broker_lite.wire import messages
from tests.support.raw_client import RawClient
from tests.testing.test_nodes import API_VERSIONS, cluster, connect, running

__all__ = ["cluster", "running"]


def long_polls(broker: Broker) -> list[RawClient]:
    """A Fetch at each leader that waits for records: a stop waits for it a little."""
    written = Counter(record.partition for record in broker.records("t"))
    clients = []
    for index in range(3):
        leader = broker.partition("t", index)["leader"]
        assert isinstance(leader, int)
        host, _, port = broker.brokers[leader].bootstrap.rpartition(":")
        client = RawClient(host, int(port), timeout_s=10)
        kind = messages.FetchRequest
        wanted = kind.FetchPartition(
            partition=index, fetch_offset=written[index], partition_max_bytes=1
        )
        topic = kind.FetchTopic(topic="t", partitions=[wanted])
        body = kind(max_wait_ms=20_000, min_bytes=1, max_bytes=1000, topics=[topic])
        client.send(1, 11, kind.encode(body, 11), flexible=False)
        clients.append(client)
    return clients


@pytest.mark.parametrize("second", ["down", "stop", "hang", "roll", "heal"])
def test_commands_for_one_broker_take_turns(cluster: Broker, second: str) -> None:
    """A stop waits for connections; a command that comes meanwhile meets what the stop leaves."""
    clients = long_polls(cluster)
    ended: list[BaseException | None] = []

    def rolling() -> None:
        try:
            cluster.roll()
        except BrokerFailed as error:
            ended.append(error)
        else:
            ended.append(None)

    thread = threading.Thread(target=rolling)
    thread.start()
    time.sleep(0.05)
    whose = cluster if second in ("roll", "heal") else cluster.brokers[1]
    try:
        getattr(whose, second)()
    except BrokerFailed as error:
        assert "broker 1 is" in str(error)  # noqa: PT017 - it may also come in time
    thread.join(20)
    assert len(ended) == 1
    assert second in ("down", "stop", "hang") or ended == [None]
    cluster.heal()
    for node_id, each in cluster.brokers.items():
        assert (each.state, each.is_fenced) == ("up", False)
        with connect(cluster, node_id) as sock:
            sock.sendall(API_VERSIONS)
            assert sock.recv(4)
    for client in clients:
        client.close()


def test_c46_a_broker_that_was_unregistered_comes_back_when_all_are_healed(
    cluster: Broker,
) -> None:
    host, _, port = cluster.brokers[1].bootstrap.rpartition(":")
    with RawClient(host, int(port)) as client:
        assert client.call("UnregisterBroker", 0, broker_id=3).error_code == 0
    assert cluster.brokers[3].is_fenced
    cluster.heal()
    assert not cluster.brokers[3].is_fenced
    assert sorted(cluster.partition("t", 0)["isr"]) == [1, 2, 3]
