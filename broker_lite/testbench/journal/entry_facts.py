"""The facts of an entry: selectors ask the same of it as of a request that is being handled."""

from collections.abc import Iterator
from functools import cached_property
from typing import Final

from broker_lite.errors import ErrorCode
from broker_lite.handler.context import Request
from broker_lite.testbench.facts import Entities, Facts
from broker_lite.testbench.journal.batches import NotKept, Records, headers_of
from broker_lite.testbench.journal.decode import Decoded, decode
from broker_lite.testbench.journal.entry import Entry
from broker_lite.testbench.journal.plans import Plan, plan
from broker_lite.testbench.journal.skeleton import Skeleton
from broker_lite.testbench.journal.topic_names import Names
from broker_lite.wire import messages
from broker_lite.wire.messages import MessageType
from broker_lite.wire.schema import Field
from broker_lite.wire.structs import Struct

_PRODUCE: Final = 0
_API_VERSIONS: Final = 18
_NO_NAMES: Final[Names] = {}
_ERRORS_MAX: Final = 20


class EntryFacts(Facts):
    """What is known of one entry; decoded when it is first asked for.

    Attributes:
        entry: the entry.
    """

    def __init__(self, entry: Entry, names: Names = _NO_NAMES) -> None:
        """Work out nothing yet.

        Args:
            entry: of the journal.
            names: of topics by id.
        """
        self.entry = entry
        self._names = names
        self.acted = entry.rule.split(",") if entry.rule else []
        self.request = Request(
            entry.api_key,
            entry.api_version,
            entry.correlation_id,
            entry.peer.client_id,
            memoryview(entry.frame),
            entry.position,
            entry.flexible,
        )

    @property
    def node_id(self) -> int:  # type: ignore[explicit-override]
        """The broker that was asked."""
        return self.entry.peer.node_id

    @property
    def listener(self) -> str:  # type: ignore[explicit-override]
        """The name of the listener."""
        return self.entry.peer.listener

    @property
    def client_address(self) -> str:  # type: ignore[explicit-override]
        """The client's address without its port."""
        return self.entry.peer.client_address

    @property
    def software(self) -> str:  # type: ignore[explicit-override]
        """NAME VERSION of the client software (KIP-511); empty if it was not told."""
        return self.entry.peer.software

    @property
    def connection(self) -> str:  # type: ignore[explicit-override]
        """The name of the connection."""
        return self.entry.connection

    @cached_property
    def decoded(self) -> Decoded | None:
        """The request as far as it was kept and can be decoded; None for an unknown version."""
        entry = self.entry
        if entry.skeleton is not None:
            return _of_skeleton(entry.skeleton)
        kind = _kind(entry.api_key, 0)
        if kind is None:
            return None
        return decode(
            kind,
            entry.api_version,
            entry.frame,
            entry.position,
            is_cut=not entry.has_whole_request,
        )

    @cached_property
    def body(self) -> Struct | None:  # type: ignore[explicit-override]
        """The decoded request; of a part of a request, it has only some of its attributes."""
        return None if self.decoded is None else self.decoded.struct

    @cached_property
    def entities(self) -> Entities:  # type: ignore[explicit-override]
        """The topics, partitions, groups and transactional ids that the request names."""
        found = Entities()
        kind = _kind(self.entry.api_key, 0)
        if self.body is not None and kind is not None:
            found.add(self.body, kind.name, kind.structs)
        for topic, index in self.entry.session:
            if isinstance(topic, str):
                found.topics.add(topic)
            else:
                found.topic_ids.add(topic)
            found.partitions.setdefault(topic, set()).add(index)
        known = {each: self._names.get(each) for each in found.topic_ids}
        found.name_topics({each: name for each, name in known.items() if name is not None})
        return found

    @cached_property
    def answer(self) -> Decoded | None:
        """The answer as far as it was kept and can be decoded; None if there is none."""
        entry = self.entry
        kind = _kind(entry.api_key, 1)
        if kind is None or entry.body_bytes < 0:
            return None
        kept = len(entry.body) + sum(size for _, size in entry.gaps)
        return decode(
            kind,
            self.answer_version,
            entry.body,
            gaps=entry.gaps,
            is_cut=kept < entry.body_bytes,
        )

    @property
    def answer_version(self) -> int:
        """The version of the answer; 0 for an ApiVersions of a version that is not offered."""
        entry = self.entry
        refused = ErrorCode.UNSUPPORTED_VERSION.to_bytes(2, "big")
        is_fallback = entry.api_key == _API_VERSIONS and entry.body[:2] == refused
        return 0 if is_fallback else entry.api_version

    @cached_property
    def errors(self) -> list[str]:
        """The names of the errors that the answer tells, each once, in the answer's order."""
        answer, found = self.answer, plan_of(self.entry.api_key, self.answer_version, 1)
        if answer is None or found is None:
            return []
        names: dict[str, None] = {}
        for code in error_codes(answer.struct, found):
            if code and len(names) < _ERRORS_MAX:
                names[error_name(code)] = None
        return list(names)

    def records(self) -> Iterator[tuple[str | bytes, int, Records]]:
        """Yield the topic, the partition and the records of each partition of a Produce."""
        if self.entry.api_key != _PRODUCE:
            return
        for topic in getattr(self.body, "topic_data", None) or ():
            name = getattr(topic, "name", "") or getattr(topic, "topic_id", b"")
            for partition in getattr(topic, "partition_data", None) or ():
                records = getattr(partition, "records", None)
                if records is not None:
                    topic_name = self._names.get(name) or name if isinstance(name, bytes) else name
                    yield topic_name, partition.index, records

    @property
    def record_count(self) -> int:
        """How many records the batches of a Produce say that they have."""
        return sum(
            max(0, header.record_count)
            for _, _, records in self.records()
            for header in headers_of(records)
        )


def plan_of(api_key: int, version: int, side: int) -> Plan | None:
    """Return the fields of a request (side 0) or an answer (side 1); None if there are none."""
    kind = _kind(api_key, side)
    return None if kind is None else plan(kind.name, version)


def error_name(code: int) -> str:
    """Return the name of an error, its number if there is no such error."""
    try:
        return ErrorCode(code).name
    except ValueError:
        return str(code)


def is_error(field: Field) -> bool:
    """True for a field that has an error code."""
    return field.attribute.endswith("error_code") and field.element_type == "int16"


def error_codes(struct: Struct, of: Plan, name: str | None = None) -> Iterator[int]:
    """Yield each error code of a struct and of the structs in it, also 0."""
    for field in of.structs[name or of.root].all:
        value = getattr(struct, field.attribute, None)
        if field.is_struct:
            for inner in value if isinstance(value, list) else [value]:
                if inner is not None:
                    yield from error_codes(inner, of, field.element_type)
        elif is_error(field) and isinstance(value, int):
            yield value


def _kind(api_key: int, side: int) -> MessageType | None:
    try:
        return messages.by_api(api_key)[side]
    except KeyError:
        return None


def _of_skeleton(skeleton: Skeleton) -> Decoded:
    """Return a Produce as the codec makes it, without records."""
    kind = messages.ProduceRequest
    topics: dict[str | bytes, messages.ProduceRequest.TopicProduceData] = {}
    for partition in skeleton.partitions:
        topic = partition.topic
        if topic not in topics:
            topics[topic] = (
                kind.TopicProduceData(topic_id=topic)
                if isinstance(topic, bytes)
                else kind.TopicProduceData(name=topic)
            )
        made = kind.PartitionProduceData(index=partition.number)
        if partition.size_bytes < 0:
            made.records = None
        else:
            made.records = NotKept(partition.size_bytes, partition.heads)  # type: ignore[assignment]
        topics[topic].partition_data.append(made)
    struct = kind(
        transactional_id=skeleton.transactional_id,
        acks=skeleton.acks,
        timeout_ms=skeleton.timeout_ms,
        topic_data=list(topics.values()),
    )
    return Decoded(struct, "" if skeleton.is_whole else "not all partitions and batches were kept")
