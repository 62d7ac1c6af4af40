"""What a request is about: its header, its client, and the entities that it names.

Faults and the journal choose requests by these facts. Each is worked out when it is first asked
for, so a fault on EndTxn never decodes a Produce.
"""

from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from typing import Any, Final

from broker_lite.control.metadata.topic import Topic
from broker_lite.handler.context import HandlerContext, Request
from broker_lite.handler.fetch.partition import PartitionKey
from broker_lite.wire import messages
from broker_lite.wire.primitives import DecodeError
from broker_lite.wire.schema import Field, catalog_by_api
from broker_lite.wire.structs import Struct

_FETCH: Final = 1
_TOPIC: Final = "topicName"
_GROUP: Final = "groupId"
_TRANSACTIONAL_ID: Final = "transactionalId"
_TOPIC_ID: Final = "topic_id"
_COORDINATOR_KEYS: Final = {0: _GROUP, 1: _TRANSACTIONAL_ID}
# fields of structs that are about a topic; the schema marks no partitions
_PARTITIONS: Final = {
    "index",
    "partition",
    "partition_id",
    "partition_index",
    "partition_indexes",
    "partitions",
}


class Facts:
    """What is known of one request; only while it is handled, because it refers to its bytes.

    Attributes:
        context: of its connection.
        request: the request.
        acted: the ids of the rules that acted on it, in order.
    """

    def __init__(self, context: HandlerContext, request: Request) -> None:
        """Work out nothing yet."""
        self.context = context
        self.request = request
        self.acted: list[str] = []

    @property
    def api(self) -> str:
        """The name of the API, as Kafka spells it; its number if there is no such API."""
        return api_name(self.request.api_key)

    @property
    def version(self) -> int:
        """The version of the API."""
        return self.request.api_version

    @property
    def node_id(self) -> int:
        """The broker that was asked."""
        return self.context.node_id

    @property
    def listener(self) -> str:
        """The name of the listener."""
        return self.context.listener.name

    @property
    def client_id(self) -> str:
        """The client id of the header; empty if there is none."""
        return self.request.client_id or ""

    @property
    def software(self) -> str:
        """NAME VERSION of the client software (KIP-511); empty if it was not told."""
        return self.context.software

    @property
    def client_address(self) -> str:
        """The client's address without its port."""
        return self.context.client_address[0]

    @property
    def connection(self) -> str:
        """The name of the connection: c1 is the first that the process accepted."""
        return f"c{self.context.connection_id}"

    @cached_property
    def body(self) -> Struct | None:
        """The decoded request; None if it cannot be decoded, or there is no such API."""
        try:
            kind, _ = messages.by_api(self.request.api_key)
            decoded, _ = kind.decode(
                self.request.body, self.request.api_version, self.request.position
            )
        except (KeyError, DecodeError):
            return None
        return decoded

    @cached_property
    def entities(self) -> "Entities":
        """The topics, partitions, groups and transactional ids that the request names."""
        found = Entities()
        if self.body is not None:
            kind, _ = messages.by_api(self.request.api_key)
            found.add(self.body, type(self.body).__name__, kind.structs)
            if self.request.api_key == _FETCH:
                found.add_partitions(session_partitions(self))
            found.name_topics(
                {topic_id: topic.name for topic_id, topic in self._topics_by_id.items()}
            )
        return found

    @property
    def _topics_by_id(self) -> Mapping[bytes, Topic]:
        return self.context.cluster.topics_by_id


class Entities:
    """What a request, or an answer, names.

    Attributes:
        topics: names.
        topic_ids: ids.
        partitions: numbers by topic; the key is a name, or the id where only that is known.
        groups: group ids.
        transactional_ids: transactional ids.
        resources: names of resources of configs and ACLs.
    """

    def __init__(self) -> None:
        """Begin with nothing."""
        self.topics: set[str] = set()
        self.topic_ids: set[bytes] = set()
        self.partitions: dict[str | bytes, set[int]] = {}
        self.groups: set[str] = set()
        self.transactional_ids: set[str] = set()
        self.resources: set[str] = set()

    def add(self, struct: Struct, name: str, structs: Mapping[str, tuple[Field, ...]]) -> None:
        """Add what a struct names, and the structs in it.

        Args:
            struct: decoded.
            name: of its kind in the schema.
            structs: the fields of all kinds of the message.
        """
        self._add(struct, name, structs, None)

    def add_partitions(self, keys: Iterable[PartitionKey]) -> None:
        """Add partitions, each by its topic's name or id and its number."""
        for topic, number in keys:
            if isinstance(topic, str):
                self.topics.add(topic)
            else:
                self.topic_ids.add(topic)
            self.partitions.setdefault(topic, set()).add(number)

    def name_topics(self, names: Mapping[bytes, str]) -> None:
        """Add the names of topics of which the request has the ids only."""
        for topic_id in self.topic_ids & names.keys():
            self.topics.add(names[topic_id])
            numbers = self.partitions.pop(topic_id, None)
            if numbers is not None:
                self.partitions.setdefault(names[topic_id], set()).update(numbers)

    def _add(
        self,
        struct: Struct,
        name: str,
        structs: Mapping[str, tuple[Field, ...]],
        topic: str | bytes | None,
    ) -> None:
        fields = structs[name]
        topic = self._topic_of(struct, fields) or topic
        for field in fields:
            values = _listed(getattr(struct, field.attribute, None))
            if field.is_struct:
                for value in values:
                    self._add(value, field.element_type, structs, topic)
            elif field.attribute in _PARTITIONS and topic is not None:
                self.partitions.setdefault(topic, set()).update(values)
            elif field.entity == _GROUP:
                self.groups.update(values)
            elif field.entity == _TRANSACTIONAL_ID:
                self.transactional_ids.update(value for value in values if value)
            elif field.entity == _TOPIC:
                self.topics.update(value for value in values if value)
            elif field.attribute == "resource_name":
                self.resources.update(values)
        self._add_coordinator_keys(struct)

    def _topic_of(self, struct: Struct, fields: tuple[Field, ...]) -> str | bytes | None:
        """Return the topic that a struct is about; remember the id if there is one."""
        found: str | bytes | None = None
        for field in fields:
            value = getattr(struct, field.attribute, None)
            if field.attribute == _TOPIC_ID and isinstance(value, bytes) and any(value):
                self.topic_ids.add(value)
                found = found or value
            elif field.entity == _TOPIC and not field.is_array and value:
                found = value
        return found

    def _add_coordinator_keys(self, struct: Struct) -> None:
        """Add what FindCoordinator asks for; the schema does not say what its keys are."""
        entity = _COORDINATOR_KEYS.get(getattr(struct, "key_type", -1))
        if entity is not None:
            keys = [*_listed(getattr(struct, "coordinator_keys", None))]
            keys += [key for key in [getattr(struct, "key", None)] if key]
            (self.groups if entity == _GROUP else self.transactional_ids).update(keys)


def api_name(api_key: int) -> str:
    """Return the name of an API, as Kafka spells it; its number if there is no such API."""
    name = catalog_by_api("protocol", "request").get(api_key)
    return str(api_key) if name is None else name.removesuffix("Request")


def session_partitions(facts: Facts) -> Iterable[PartitionKey]:
    """Return the partitions of the fetch session that a Fetch goes on with.

    A client names in a session only what has changed, but asks for all partitions of the session.
    """
    session_id = getattr(facts.body, "session_id", 0)
    session = facts.context.fetch_sessions.get(session_id) if session_id else None
    return () if session is None else session.partitions.keys()


def _listed(value: object) -> Iterator[Any]:
    if isinstance(value, list):
        yield from value
    elif value is not None:
        yield value
