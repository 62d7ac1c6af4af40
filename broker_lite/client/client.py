"""A client of a cluster, which finds brokers by id, leaders and coordinators.

It keeps one connection per node. A request without a node id uses the first connection, to a
bootstrap server. Leaders and coordinators are reached at their advertised address; if that is the
first connection's address, over that connection.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Final, Self, TypeVar

from broker_lite.client.address import Address, parse_addresses
from broker_lite.client.broker_connection import Connection, Security
from broker_lite.client.client_properties import PLAINTEXT, PROTOCOL
from broker_lite.client.deadline import Deadline
from broker_lite.client.errors import LoginRefused, NoAnswer, NoConnection, Refused, check
from broker_lite.errors import ClientError, ErrorCode
from broker_lite.wire import messages

GROUP: Final = 0
TRANSACTION: Final = 1

# Errors of a temporary state, after which a retry may succeed.
RETRIED: Final = frozenset(
    {
        ErrorCode.LEADER_NOT_AVAILABLE,
        ErrorCode.NOT_LEADER_OR_FOLLOWER,
        ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
        ErrorCode.COORDINATOR_NOT_AVAILABLE,
        ErrorCode.NOT_COORDINATOR,
        ErrorCode.NOT_CONTROLLER,
        ErrorCode.CONCURRENT_TRANSACTIONS,
    }
)
_PAUSE_S: Final = 0.1
_FIRST_WITH_SEVERAL_KEYS: Final = 4  # of FindCoordinator
_Result = TypeVar("_Result")
_Answer = TypeVar("_Answer", bound="messages.Message")


class Client:
    """A client of one cluster; a context manager.

    Attributes:
        timeout_s: how long a connection or an answer may take.
        client_id: the name that requests carry.
    """

    def __init__(
        self,
        bootstrap: str,
        *,
        client_id: str = "broker-lite",
        timeout_s: float = 30,
        wait_s: float = 0,
        properties: Mapping[str, str] | None = None,
    ) -> None:
        """Connect to the first bootstrap server that responds.

        Args:
            bootstrap: comma-separated `HOST:PORT`, tried in order.
            client_id: sent with every request.
            timeout_s: how long to wait for a connection and for each response.
            wait_s: how long to retry while no broker listens there yet.
            properties: of Kafka's clients, of which `security.protocol`, `ssl.*` and `sasl.*`
                count here.

        Raises:
            SettingsError: the bootstrap servers are not addresses, or a property is wrong.
            ClientError: no server can be reached; the text has the reason for each.
        """
        self.timeout_s = timeout_s
        self.client_id = client_id
        self._security = _security_of(properties or {})
        self._addresses: dict[int, Address] = {}
        self._controller_id: int | None = None  # until the cluster was asked
        self._connections: dict[tuple[Address, str], Connection] = {}
        self._first = self._bootstrap(parse_addresses(bootstrap), Deadline(wait_s))

    def close(self) -> None:
        """Close every connection."""
        for connection in (self._first, *self._connections.values()):
            connection.close()

    def request(
        self,
        value: messages.Request[_Answer],
        *,
        node_id: int | None = None,
        timeout_s: float | None = None,
        version_max: int | None = None,
    ) -> _Answer:
        """Send a request and return the response.

        Args:
            value: a request, messages.CreateTopicsRequest(...) for example.
            node_id: the broker to ask; None for any.
            timeout_s: how long to wait for the response; None for the client's timeout.
            version_max: the highest version to use.

        Raises:
            ClientError: there is no response. Error codes in a response are up to the caller
                (`check`).
        """
        connection = self.connection(node_id)
        return connection.request(value, timeout_s=timeout_s, version_max=version_max)

    def connection(self, node_id: int | None = None, purpose: str = "") -> Connection:
        """Return the open connection to a node; connect if there is none.

        Args:
            node_id: of a broker; None for the first one that was reached.
            purpose: a separate connection per purpose, for callers that must not wait for each
                other.

        Raises:
            NoConnection: no broker has this id, or it cannot be reached.
        """
        address = self._first.address if node_id is None else self._address(node_id)
        if address == self._first.address and not purpose:
            if self._first.has_ended():
                self._first = self.open(address)
            return self._first
        connection = self._connections.get((address, purpose))
        if connection is None or connection.has_ended():
            connection = self._connections[address, purpose] = self.open(address)
        return connection

    def nodes(self) -> Mapping[int, Address]:
        """Return the advertised address of every broker, by id."""
        if self._controller_id is None:
            self.metadata(())
        return self._addresses

    def controller_id(self) -> int:
        """Return the broker for requests that change topics; -1 without a controller."""
        if self._controller_id is None:
            self.metadata(())
        assert self._controller_id is not None
        return self._controller_id

    def metadata(
        self, topics: Iterable[str] | None = None, *, create: bool = False
    ) -> messages.MetadataResponse:
        """Ask for brokers, topics and partitions; the addresses of brokers are kept.

        Args:
            topics: names; None for all topics, empty for brokers only.
            create: whether to create missing topics, if the broker allows that.

        Returns:
            The response; each topic has its own error code.
        """
        wanted = [messages.MetadataRequest.MetadataRequestTopic(name=name) for name in topics or ()]
        answer = self.request(
            messages.MetadataRequest(
                topics=None if topics is None else wanted,
                # where no topic is named it makes none, and old brokers do not know the flag
                allow_auto_topic_creation=create or not wanted,
            )
        )
        self._addresses = {node.node_id: Address(node.host, node.port) for node in answer.brokers}
        self._controller_id = answer.controller_id
        return answer

    def leaders(self, topic: str, *, create: bool = False) -> Mapping[int, int]:
        """Return the leader's node id of each partition of a topic.

        Waits while a partition has no leader, as just after the topic was created.

        Raises:
            Refused: the topic does not exist, or has no leader in time.
        """

        def ask() -> Mapping[int, int]:
            (found,) = self.metadata([topic], create=create).topics
            check(f"topic {topic}", found.error_code)
            for partition in found.partitions:
                check(f"partition {topic}-{partition.partition_index}", partition.error_code)
            return {each.partition_index: each.leader_id for each in found.partitions}

        return self.retry(ask)

    def coordinator(self, key: str, kind: int = GROUP) -> int:
        """Return the node id of the coordinator of a group or of a transactional id.

        Waits while there is none yet, as in a cluster that never had a group.

        Raises:
            Refused: there is none in time, or the broker refused.
        """
        what = f"{'group' if kind == GROUP else 'transactional id'} {key}"

        def ask() -> int:
            make = messages.FindCoordinatorRequest
            several = self.connection().version_of(make) >= _FIRST_WITH_SEVERAL_KEYS
            answer = self.request(
                make(key_type=kind, coordinator_keys=[key])
                if several
                else make(key_type=kind, key=key)
            )
            found = answer.coordinators[0] if several else answer
            check(what, found.error_code, found.error_message)
            self._addresses[found.node_id] = Address(found.host, found.port)
            return found.node_id

        return self.retry(ask)

    def retry(self, ask: Callable[[], _Result]) -> _Result:
        """Retry a function while it raises Refused with a code of RETRIED, until the timeout."""
        deadline = Deadline(self.timeout_s)
        while True:
            try:
                return ask()
            except Refused as error:
                if error.code not in RETRIED or not deadline.pause(_PAUSE_S):
                    raise

    def _address(self, node_id: int) -> Address:
        address = self._addresses.get(node_id) or self.nodes().get(node_id)
        if address is None:
            raise NoConnection(f"there is no broker {node_id}")
        return address

    def open(self, address: Address) -> Connection:
        """Open a further connection, which the caller closes; any thread may do so.

        Raises:
            ClientError: see Connection.
        """
        return Connection(
            address,
            client_id=self.client_id,
            timeout_s=self.timeout_s,
            security=self._security,
        )

    def _bootstrap(self, addresses: Iterable[Address], deadline: Deadline) -> Connection:
        while True:
            failures: list[ClientError] = []
            for address in addresses:
                try:
                    return self.open(address)
                except LoginRefused:
                    raise  # the others would say the same, and count the attempts
                except ClientError as error:
                    failures.append(error)
            # An unknown host or a response of something else than a broker does not go away.
            hopeful = any(isinstance(error, NoConnection | NoAnswer) for error in failures)
            if not hopeful or not deadline.pause(_PAUSE_S):
                text = "; ".join(map(str, failures))
                raise failures[0] if len(failures) == 1 else NoConnection(text)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _security_of(properties: Mapping[str, str]) -> Security | None:
    """Return what the properties say about security; nothing is imported for plain text."""
    if properties.get(PROTOCOL, PLAINTEXT).strip().upper() == PLAINTEXT:
        return None
    from broker_lite.client.security.properties import security_of

    return security_of(properties)
