"""What a request is about: its header, its client, and the entities that it names.

Faults and the journal choose requests by these facts. Each is worked out when it is first asked
for, so a fault on EndTxn never decodes a Produce.
"""

from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from typing import Any, Final, TypeAlias

from broker_lite.handler.context import HandlerContext, Request
from broker_lite.handler.fetch.partition import PartitionKey
from broker_lite.wire import messages
from broker_lite.wire.primitives import DecodeError
from broker_lite.wire.schema import Field, catalog_by_api
from broker_lite.wire.structs import Struct

_FETCH: Final = 1
_METADATA: Final = 3
_ABOUT_ALL_PARTITIONS: Final = frozenset((3, 75))  # Metadata, DescribeTopicPartitions
_TOPIC: Final = "topicName"
_GROUP: Final = "groupId"
_TRANSACTIONAL_ID: Final = "transactionalId"
_TOPIC_ID: Final = "topic_id"
_ZERO_ID: Final = bytes(16)
_INSIDE: Final = "inside"
_PARTITION: Final = "partition"
_COORDINATOR: Final = "coordinator"
_USES: Final = {_TOPIC: _TOPIC, _GROUP: "groups", _TRANSACTIONAL_ID: "transactional_ids"}
# the id comes after the name, because partitions are those of the id where there is one
_ORDER: Final = {_TOPIC: 0, _TOPIC_ID: 1}
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

_RESOURCES: Final = {"entity_name", "feature", "resource_name", "resource_name_filter"}
# structs with the attribute that is a name
_RESOURCES_OF: Final = {
    ("AlterReplicaLogDir", "path"),
    ("MemberIdentity", "group_instance_id"),
    ("MemberIdentity", "member_id"),
    ("ScramCredentialDeletion", "name"),
    ("ScramCredentialUpsertion", "name"),
    ("UserName", "name"),
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
            if self.request.api_key in _ABOUT_ALL_PARTITIONS:
                self._add_partitions_of_topics(found)
            if self.request.api_key == _FETCH:
                found.add_partitions(session_partitions(self))
            if found.topic_ids:
                names = {each: self.topic_name(each) for each in found.topic_ids}
                found.name_topics({each: name for each, name in names.items() if name})
        return found

    def topic_name(self, topic_id: bytes) -> str:
        """Return the name of the topic with an id; empty if there is none."""
        topic = self.context.cluster.topics_by_id.get(topic_id)
        return "" if topic is None else topic.name

    def topic_id(self, name: str) -> bytes:
        """Return the id of the topic with a name; empty if there is none."""
        topic = self.context.cluster.topics.get(name)
        return b"" if topic is None else topic.topic_id

    def _add_partitions_of_topics(self, found: "Entities") -> None:
        """Add all partitions of the topics that a request for metadata names.

        A request that names none is about all topics; but Metadata from version 1 on asks for all
        with null, and for none with an empty list.
        """
        topics = getattr(self.body, "topics", None)
        is_list = self.request.api_key == _METADATA and self.request.api_version > 0
        if topics is None if is_list else not topics:
            found.topics.update(self.context.cluster.topics)
        found.topics.update(filter(None, map(self.topic_name, found.topic_ids)))
        for name in found.topics:
            topic = self.context.cluster.topics.get(name)
            if topic is not None:
                found.partitions[name] = set(range(topic.partition_count))


class Entities:
    """What a request, or an answer, names.

    Attributes:
        topics: names.
        topic_ids: ids.
        partitions: numbers by topic; the key is a name, or the id where only that is known.
        groups: group ids.
        transactional_ids: transactional ids.
        resources: names of resources of configs and ACLs, and of what else has a name: users,
            quota entities, log directories, features, members that leave.
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
        for use, attribute, element_type in _plan(name, structs):
            value: Any = getattr(struct, attribute, None)
            if not value and use != _PARTITION and use != _COORDINATOR:
                continue
            if use == _INSIDE:
                for each in value if isinstance(value, list) else (value,):
                    self._add(each, element_type, structs, topic)
            elif use == _TOPIC:
                topic = value
                self.topics.add(value)
            elif use == _PARTITION and topic is not None:
                self.partitions.setdefault(topic, set()).update(_listed(value))
            elif use == _TOPIC_ID and value != _ZERO_ID:
                self.topic_ids.add(value)
                topic = value
            else:
                self._add_other(use, struct, value)

    def _add_other(self, use: str, struct: Struct, value: object) -> None:
        """Add what is no topic and no partition."""
        if use == _COORDINATOR:
            self._add_coordinator_keys(struct)
        elif use not in (_PARTITION, _TOPIC_ID):
            getattr(self, use).update(each for each in _listed(value) if each)

    def _add_coordinator_keys(self, struct: Struct) -> None:
        """Add what FindCoordinator asks for; the schema does not say what its keys are."""
        entity = _COORDINATOR_KEYS.get(getattr(struct, "key_type", -1))
        if entity is not None:
            keys = [*_listed(getattr(struct, "coordinator_keys", None))]
            keys += [key for key in [getattr(struct, "key", None)] if key]
            (self.groups if entity == _GROUP else self.transactional_ids).update(keys)


_Plan: TypeAlias = tuple[tuple[str, str, str], ...]
"""What fields of a struct name: the use, the attribute, the element type."""

_plans: Final[dict[int, tuple[tuple[Field, ...], _Plan]]] = {}


def _plan(name: str, structs: Mapping[str, tuple[Field, ...]]) -> _Plan:
    """Return the fields of a struct that name something, first the topic, then its partitions."""
    fields = structs[name]
    known = _plans.get(id(fields))
    if known is None:
        found = [
            (use, field.attribute, field.element_type)
            for field in fields
            if (use := _use_of(name, field, structs))
        ]
        found.sort(key=lambda each: _ORDER.get(each[0], len(_ORDER)))
        # the fields are kept, so that their id stays theirs
        known = _plans[id(fields)] = (fields, tuple(found))
    return known[1]


def _use_of(name: str, field: Field, structs: Mapping[str, tuple[Field, ...]]) -> str:
    """Return what a field names; empty if nothing."""
    if field.is_struct:
        return _INSIDE if _plan(field.element_type, structs) else ""
    if field.attribute == _TOPIC_ID:
        return _TOPIC_ID
    if field.attribute in _PARTITIONS:
        return _PARTITION
    if field.attribute == "key_type":
        return _COORDINATOR
    if field.attribute in _RESOURCES or (name, field.attribute) in _RESOURCES_OF:
        return "resources"
    if field.entity == _TOPIC and field.is_array:
        return "topics"
    return _USES.get(field.entity or "", "")


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
