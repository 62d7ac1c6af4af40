"""What a cluster under comparison can be told, the same for three real Kafkas and for broker-lite.

`KafkaCluster` is in kafka_cluster.py; `LiteCluster`, three brokers in one process, is here.
"""

import time
from collections.abc import Mapping
from datetime import timedelta
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Protocol, Self

from broker_lite.testing import Broker
from broker_lite.wire import messages
from tests.differential.kafka_cluster import (
    FENCING_POLL_S,
    FENCING_TIMEOUT_S,
    NODE_IDS,
    RACKS,
    SESSION_TIMEOUT_MS,
)
from tests.support.raw_client import RawClient

ANSWER_TIMEOUT_S: Final = 20.0
SETTINGS: Final[Mapping[str, str]] = {
    "broker.session.timeout.ms": str(SESSION_TIMEOUT_MS),
    "broker.heartbeat.interval.ms": "300",
    "default.replication.factor": "3",
    "auto.create.topics.enable": "false",
    "auto.leader.rebalance.enable": "false",
    "offsets.topic.num.partitions": "3",
    "transaction.state.log.num.partitions": "3",
    "transaction.state.log.min.isr": "1",
    "group.initial.rebalance.delay.ms": "0",
    "group.min.session.timeout.ms": "1",
    "group.consumer.assignment.interval.ms": "0",
    "transaction.abort.timed.out.transaction.cleanup.interval.ms": "50",
    "replica.selector.class": "org.apache.kafka.common.replica.RackAwareReplicaSelector",
    "log.retention.ms": "-1",
}
"""What both clusters are told."""
KAFKA_SETTINGS: Final[Mapping[str, str]] = {
    **SETTINGS,
    "group.consumer.assignor.offload.enable": "false",
    "share.coordinator.state.topic.num.partitions": "1",
    # only how long things take
    "replica.fetch.wait.max.ms": "50",
    "replica.fetch.backoff.ms": "100",
    "controlled.shutdown.retry.backoff.ms": "100",
    "replica.high.watermark.checkpoint.interval.ms": "100",
    "log.flush.start.offset.checkpoint.interval.ms": "100",
    "controller.quorum.fetch.timeout.ms": "5000",
    "log.cleaner.enable": "false",
}


class Cluster(Protocol):
    """Three brokers with the ids 1 to 3 in the racks a, b and c; a context manager.

    Attributes:
        name: for reports.
        addresses: host and port of each broker, the same after a restart.
    """

    name: str
    addresses: dict[int, tuple[str, int]]

    def kill(self, node_id: int) -> None:
        """Let a broker be gone at once; the others notice when its session ends."""

    def stop(self, node_id: int) -> None:
        """Shut a broker down, and wait until it has ended."""

    def pause(self, node_id: int) -> None:
        """Let a broker stand still; the others notice when its session ends."""

    def resume(self, node_id: int) -> None:
        """Let a paused broker go on."""

    def start(self, node_id: int) -> None:
        """Start a broker that was killed or stopped, and wait until it is ready."""

    def let_sessions_end(self) -> None:
        """Let the sessions of silent brokers end, and wait until the cluster has fenced them.

        Raises:
            TimeoutError: they are not fenced in time.
        """

    def elect_preferred(self) -> None:
        """Let the first replica of each partition lead; all brokers run."""

    def __enter__(self) -> Self: ...

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None: ...


class LiteCluster:
    """broker-lite with three brokers in a process of its own."""

    name = "ours"

    def __init__(self, data_dir: Path) -> None:
        """Keep the arguments; the context starts it."""
        self._broker = Broker(SETTINGS, brokers=3, racks=RACKS.values(), data_dir=data_dir)
        self.addresses: dict[int, tuple[str, int]] = {}

    @property
    def log(self) -> str:
        """Everything that it has printed."""
        return self._broker.log

    def kill(self, node_id: int) -> None:
        self._broker.brokers[node_id].down()

    def stop(self, node_id: int) -> None:
        self._broker.brokers[node_id].stop()

    def pause(self, node_id: int) -> None:
        self._broker.brokers[node_id].hang()

    def resume(self, node_id: int) -> None:
        self._broker.brokers[node_id].up()

    def start(self, node_id: int) -> None:
        self._broker.brokers[node_id].up()

    def let_sessions_end(self) -> None:
        self._broker.advance(timedelta(milliseconds=SESSION_TIMEOUT_MS))
        deadline = time.monotonic() + FENCING_TIMEOUT_S
        away = [one for one in self._broker.brokers.values() if one.state != "up"]
        while not all(one.is_fenced for one in away):
            if time.monotonic() > deadline:
                raise TimeoutError("not fenced")
            time.sleep(FENCING_POLL_S)

    def elect_preferred(self) -> None:
        self._broker.elect_preferred()

    def __enter__(self) -> Self:
        self._broker.start()
        for node_id, address in zip(NODE_IDS, self._broker.addresses, strict=True):
            host, _, port = address.rpartition(":")
            self.addresses[node_id] = host, int(port)
        return self

    def __exit__(self, *_: object) -> None:
        self._broker.stop()


class Clients:
    """One connection to each broker of a cluster, opened when it is needed."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._open: dict[int, RawClient] = {}

    def ask(self, node_id: int, request: Any, version: int) -> Any:
        """Send a request and return the answer.

        Raises:
            ConnectionRefusedError: the broker is down.
            Closed: it closes the connection.
            TimeoutError: it does not answer.
        """
        kind = getattr(messages, type(request).__name__)
        return self._carry(node_id, lambda client: client.request(kind, request, version))

    def send_without_answer(self, node_id: int, request: Any, version: int) -> None:
        """Send a request that has no answer; return when the next one on the connection has one.

        Raises:
            ConnectionRefusedError, Closed, TimeoutError: as ask().
        """
        kind = getattr(messages, type(request).__name__)
        body = kind.encode(request, version)
        flexible = kind.flexible_from is not None and version >= kind.flexible_from

        def carry(client: RawClient) -> None:
            client.send(kind.api_key, version, body, flexible=flexible)
            client.call("ApiVersions", 0)

        self._carry(node_id, carry)

    def begin(self, node_id: int, request: Any, version: int) -> "Pending":
        """Send a request on a connection of its own; its answer may come much later.

        Raises:
            ConnectionRefusedError: the broker is down.
        """
        address = self._cluster.addresses[node_id]
        return Pending(RawClient(*address, timeout_s=ANSWER_TIMEOUT_S), request, version)

    def versions(self, node_id: int) -> dict[int, tuple[int, int]]:
        """The versions that a broker serves, by api key."""
        answer = self.ask(node_id, messages.ApiVersionsRequest(), 0)
        return {row.api_key: (row.min_version, row.max_version) for row in answer.api_keys}

    def forget(self, node_id: int) -> None:
        """Close the connection to a broker, if there is one."""
        client = self._open.pop(node_id, None)
        if client is not None:
            client.close()

    def close(self) -> None:
        """Close all of them."""
        for node_id in NODE_IDS:
            self.forget(node_id)

    def _carry(self, node_id: int, carry: Any) -> Any:
        client = self._open.get(node_id)
        if client is None:
            address = self._cluster.addresses[node_id]
            client = self._open[node_id] = RawClient(*address, timeout_s=ANSWER_TIMEOUT_S)
        try:
            return carry(client)
        except BaseException:  # Ctrl-C, too: the answer to come would be taken for the next one
            self.forget(node_id)
            raise


class Pending:
    """A request that waits for its answer."""

    def __init__(self, client: RawClient, request: Any, version: int) -> None:
        self._client = client
        self._version = version
        kind = getattr(messages, type(request).__name__)
        self._answer = messages.by_api(kind.api_key)[1]
        self._flexible = kind.flexible_from is not None and version >= kind.flexible_from
        body = kind.encode(request, version)
        client.send(kind.api_key, version, body, flexible=self._flexible)

    def end(self) -> Any:
        """Wait for the answer, and close the connection.

        Raises:
            Closed: the broker closes it first.
            TimeoutError: there is no answer.
        """
        try:
            _, data = self._client.receive(flexible=self._flexible)
            return self._answer.decode(data, self._version)[0]
        finally:
            self.close()

    def close(self) -> None:
        """Close the connection."""
        self._client.close()
