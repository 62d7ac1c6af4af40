"""Requests of groups and transactions for a live broker, with any of their fields wrong.

The generator learns from the answers who is a member of what and which producers there are, so that
most requests are nearly right: one of a real member with a foreign epoch, an end of a transaction
by a producer that has been fenced.
"""

import random
import struct
from collections import deque
from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

from broker_lite.errors import ErrorCode
from broker_lite.record.builder import BatchBuilder
from broker_lite.wire import DecodeError, messages
from broker_lite.wire.schema import Field
from tests.bench.group_frames import assignment, subscription
from tests.fuzz.frames import TOPIC, FrameGenerator, RequestSampler

GROUPS: Final = tuple(f"attacked-{index}" for index in range(8))
PRODUCERS: Final = ("txn-0", "txn-1", "txn-2", "txn-3")
SESSION_MS_MAX: Final = 6_000
TRANSACTION_MS_MAX: Final = 5_000
# how often each API is asked: Produce, the requests of groups, those of transactions
WEIGHTS: Final[Mapping[int, int]] = {
    **dict.fromkeys((0, 8, 12, 24, 25, 28), 6),
    **dict.fromkeys((11, 14, 68), 12),
    **dict.fromkeys((22, 26), 4),
    **dict.fromkeys((9, 10, 13, 15, 16, 27, 42, 47, 61, 65, 66, 69), 2),
}
_LONG: Final = "g" * 30_000
_INT32S: Final = (-(2**31), -3, -2, -1, 0, 1, 2, 2**31 - 1)
_INT64S: Final = (-(2**63), -1, 0, 1, 1000, 2**63 - 1)
_REGEXES: Final = (
    "fu.*",
    "",
    "(",
    "(a+)+$",
    "(a|aa)*b",
    "[[:alpha:]]*",
    "(?=f)fuzz",
    r"(f)\1",
    ".{1000}{1000}",
    "((a{100}){100}){100}",
    "x" * 20_000,
    "\x00",
    "größer",
)
_GARBAGE: Final = (
    b"",
    b"\x00",
    b"\xff\xff",
    b"\x00\x00\x7f\xff\xff\xff",
    b"\x00\x01\xff\xff\xff\xff",
    b"\x00\x03\x00\x00\x00\x01\xff\xff",
    bytes(3_000),
)
_BLOBS: Final = (
    *_GARBAGE,
    subscription([TOPIC]),
    subscription([TOPIC, "not there", ""]),
    assignment(TOPIC, [0, 1]),
    assignment(TOPIC, [-1, 2**31 - 1]),
)


class Values(NamedTuple):
    """What a field may hold."""

    good: Sequence[Any]
    odd: Sequence[Any]


_INSTANCES: Final = Values((None, None, None, "i-0"), ("i-1", "i-2", "", _LONG))
# by the name of a field, or of an array of such; what is not here is made from its type
_VALUES: Final[Mapping[str, Values]] = {
    "session_timeout_ms": Values((300, 1000), (1, 6000, 6001, *_INT32S)),
    "rebalance_timeout_ms": Values((300, 1000), (1, 6000, *_INT32S)),
    "transaction_timeout_ms": Values((5000, 1000), (1, 100, 5001, *_INT32S)),
    "protocol_type": Values(("consumer",), ("connect", "")),
    "protocol_name": Values((TOPIC,), ("range", "")),
    "metadata": Values((subscription([TOPIC]),), _BLOBS),
    "assignment": Values((assignment(TOPIC, [0, 1]),), _BLOBS),
    "server_assignor": Values((None, "uniform", "range"), ("none", "", _LONG)),
    "subscribed_topic_names": Values((TOPIC,), ("", "not there", _LONG)),
    "subscribed_topic_regex": Values((None, "", "fu.*"), _REGEXES),
    "group_instance_id": _INSTANCES,
    "instance_id": _INSTANCES,
    "rack_id": Values((None,), ("r", "", _LONG)),
    "committed_offset": Values((1, 1000), _INT64S),
    "committed_leader_epoch": Values((-1, 0), _INT32S),
    "committed_metadata": Values(("", "m"), ("x" * 4096, "x" * 4097, "\U0001f600" * 2049)),
    "retention_time_ms": Values((-1,), _INT64S),
    "key_type": Values((0, 1), (2, 3, -1)),
    "partition_index": Values((0, 1), (2, *_INT32S)),
    "partitions": Values((0, 1), (2, *_INT32S)),
    # the real coordinator's is 0
    "coordinator_epoch": Values((0,), (-(2**31), -1)),
    "states_filter": Values(("Stable",), ("empty", "Nowhere", "")),
    "types_filter": Values(("classic",), ("CONSUMER", "share", "")),
    "transactional_id_pattern": Values(("", "txn-.*"), _REGEXES),
    "acks": Values((-1,), (0, 1, 2)),
    "name": Values((TOPIC,), ("other", "", "no/name", _LONG)),
}
_GROUP_FIELDS: Final = frozenset(
    ("group_id", "groups_names", "group_ids", "groups", "key", "coordinator_keys")
)
_MEMBER_FIELDS: Final = frozenset(("member_id", "leader"))
_EPOCH_FIELDS: Final = frozenset(("generation_id", "member_epoch", "generation_id_or_member_epoch"))
_PRODUCER_FIELDS: Final = frozenset(
    ("transactional_id", "transactional_ids", "v3_and_below_transactional_id")
)
_ODD_GROUPS: Final = ("", " ", _LONG, "größer", "attacked-0\x00", "new")
_ODD_PRODUCERS: Final = ("", _LONG, "größer")
_ODD_MEMBERS: Final = ("", "ghost", _LONG)
_MEMBERS: Final = frozenset((ErrorCode.NONE, ErrorCode.MEMBER_ID_REQUIRED))
_INT32_MAX: Final = 2**31 - 1


class KnownMember(NamedTuple):
    """A member that an answer told of; the epoch is a generation for a classic one."""

    group_id: str
    member_id: str
    epoch: int


class KnownProducer(NamedTuple):
    """A producer that an answer told of."""

    transactional_id: str
    producer_id: int
    epoch: int


class Known:
    """What the answers said lately."""

    def __init__(self) -> None:
        self.classic: deque[KnownMember] = deque(maxlen=10)
        self.consumer: deque[KnownMember] = deque(maxlen=10)
        self.producers: deque[KnownProducer] = deque(maxlen=6)

    def learn(self, request: Any, response: Any) -> None:
        """Remember the members and producers of an answer."""
        match type(response).__name__:
            case "JoinGroupResponse" if response.error_code in _MEMBERS:
                generation = response.generation_id
                for member_id in {response.member_id, response.leader} - {""}:
                    self.classic.append(KnownMember(request.group_id, member_id, generation))
            case "ConsumerGroupHeartbeatResponse" if response.member_id:
                self.consumer.append(
                    KnownMember(request.group_id, response.member_id, response.member_epoch)
                )
            case "InitProducerIdResponse" | "EndTxnResponse" if response.producer_id >= 0:
                if request.transactional_id:
                    known = (response.producer_id, response.producer_epoch)
                    self.producers.append(KnownProducer(request.transactional_id, *known))

    def member(self, source: random.Random, api: str) -> KnownMember:
        """Somebody to speak for, of the protocol that an API is about."""
        is_consumer = api.startswith("ConsumerGroup")
        likely = GROUPS[4:] if is_consumer else GROUPS[:4]
        group_id = source.choice((*likely, *likely, *GROUPS))
        if is_consumer:
            new = KnownMember(group_id, f"m-{source.randrange(5)}", 0)
            return source.choice([new, *self.consumer])
        new = KnownMember(group_id, "", -1)
        if api == "JoinGroupRequest":
            return source.choice([*[new] * 5, *self.classic])
        return source.choice([*(self.classic or [new]), *self.consumer])

    def producer(self, source: random.Random) -> KnownProducer:
        """A producer to speak for; the later it was heard of, the better."""
        if not self.producers or source.random() < 0.1:
            return KnownProducer(source.choice(PRODUCERS), -1, -1)
        return source.choice([self.producers[-1], self.producers[-1], *self.producers])


class CoordinatorFrames(FrameGenerator):
    """An endless source of requests of groups and transactions, valid and damaged."""

    def __init__(
        self, seed: int, versions: Mapping[int, tuple[int, int]], topic_id: bytes = bytes(16)
    ) -> None:
        super().__init__(seed, versions, topic_id)
        # a marker with any coordinator epoch would fence the coordinator for ever, as in Kafka
        self.undamaged = frozenset((messages.WriteTxnMarkersRequest.api_key,))
        self.keys = [key for key in versions for _ in range(WEIGHTS.get(key, 0))]
        self.known = Known()
        self._asked: dict[int, tuple[int, int, Any]] = {}

    def body(self, key: int, version: int, correlation_id: int) -> bytes:
        name, seed = messages.by_api(key)[0].name, self.random.randrange(2**40)
        sampler = _CoordinatorSampler(name, version, seed, self.topic_id, self.known)
        value = sampler.value()
        if len(self._asked) > 1_000:  # most of these were damaged, so nobody answers them
            self._asked.clear()
        self._asked[correlation_id] = (key, version, value)
        return sampler.message.encode(value, version)

    def answered(self, correlation_id: int, data: bytes) -> None:
        asked = self._asked.pop(correlation_id, None)
        if asked is None:
            return
        key, version, request = asked
        kind, answer = messages.by_api(key)
        flexible = kind.flexible_from is not None and version >= kind.flexible_from
        try:
            response, _ = answer.decode(data, version, 5 if flexible else 4)
        except (DecodeError, struct.error):  # the damage was in the version
            return
        self.known.learn(request, response)


class _CoordinatorSampler(RequestSampler):
    """Values around one member and one producer; some are right in all fields, most in most."""

    def __init__(self, name: str, version: int, seed: int, topic_id: bytes, known: Known) -> None:
        super().__init__(name, version, seed, topic_id)
        self._odd = self.random.choice((0.0, 0.0, 0.03, 0.1, 0.3))
        self._member = known.member(self.random, name)
        self._producer = known.producer(self.random)

    def field(self, field: Field) -> Any:
        if self.random.random() >= self._odd:
            if field.attribute == "topic_partitions":  # what a member that joins owns
                return [] if self._member.epoch == 0 else None
            if field.is_array:
                count = self.random.choice((1, 1, 2))
                return [self.element(field) for _ in range(count)]
            named = field.attribute in _VALUES or field.attribute in _PRODUCER_FIELDS
            if named or not self.layout.is_nullable(field):
                return self.element(field)
        return super().field(field)

    def element(self, field: Field) -> Any:
        name, member, producer = field.attribute, self._member, self._producer
        if field.is_struct:
            return super().element(field)
        if name in _GROUP_FIELDS:
            return self._near(member.group_id, (*GROUPS, *_ODD_GROUPS))
        if name in _MEMBER_FIELDS:
            return self._near(member.member_id, _ODD_MEMBERS)
        if name in _EPOCH_FIELDS:
            beside = (min(member.epoch + 1, _INT32_MAX), max(member.epoch - 1, -2))
            return self._near(member.epoch, (*beside, *_INT32S))
        if name in _PRODUCER_FIELDS:
            return self._near(producer.transactional_id, (*PRODUCERS, *_ODD_PRODUCERS))
        if name.endswith("producer_id"):
            return self._near(producer.producer_id, _INT64S)
        if name.endswith("producer_epoch"):
            return self._near(producer.epoch, (-(2**15), -1, 0, 1, 32766, 32767))
        if name not in _VALUES:
            return super().element(field)
        values = _VALUES[name]
        value = self.random.choice(values.odd if self._is_odd() else values.good)
        return values.odd[0] if value is None and not self.layout.is_nullable(field) else value

    def _is_odd(self) -> bool:
        return self.random.random() < self._odd

    def _near(self, right: Any, odd: Sequence[Any]) -> Any:
        return self.random.choice(odd) if self._is_odd() else right

    def batch(self) -> bytes:
        """A batch of the known producer, most of them in a transaction."""
        source = self.random
        if source.random() < 0.2 or self._producer.producer_id < 0:
            return super().batch()
        builder = BatchBuilder(
            producer_id=self._producer.producer_id,
            producer_epoch=max(self._producer.epoch, 0),
            base_sequence=source.choice((0, 0, 0, 1, 2)),
            is_transactional=source.random() < 0.9,
        )
        for index in range(source.choice((1, 1, 3))):
            builder.append(1_700_000_000_000 + index, None, source.randbytes(10))
        return bytes(builder.build())
