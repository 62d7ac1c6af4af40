"""Answers to Metadata that are made of encoded topics are those that are encoded each time.

Rules: P-80 to P-82, P-87, P-89 to P-91.
"""

import asyncio
import random
from itertools import pairwise
from typing import Any

import pytest

from broker_lite.control.cluster.elections import change
from broker_lite.control.metadata.topic import NO_LEADER, PartitionRegistration, Topic
from broker_lite.control.topics.topic_rules import Growth, NewTopic
from broker_lite.handler import large
from broker_lite.handler.context import Request
from broker_lite.handler.dispatch import dispatch
from broker_lite.handler.encoded_topics import EncodedTopics
from broker_lite.handler.topics.encoded import TopicEncoder
from broker_lite.handler.topics.placed import Placed, Places
from broker_lite.security.acls.acl import Operation
from broker_lite.wire import messages
from tests.support.acls import acl, apply_acls
from tests.support.handler_broker import HandlerBroker, OpenBroker, join

STEPS = 40
NAMES = ("t0", "t1", "t2", "t3")
NODE_IDS = (1, 2, 3)
MANY = 1_000
NOT_ASKED = -(1 << 31)
ENTRY = messages.MetadataRequest.MetadataRequestTopic


class Changed:
    """Three brokers whose metadata a test changes at random."""

    def __init__(self, broker: HandlerBroker, seed: int) -> None:
        self.broker = broker
        self.chance = random.Random(seed)
        self.siblings = dict(broker.siblings)
        self.kept = EncodedTopics(self.chance.choice([6_000, 1 << 20]))
        self.create()

    def step(self) -> None:
        """Change something."""
        changes = [
            self.create,
            self.delete,
            self.grow,
            self.configure,
            self.lead,
            self.shrink_isr,
            self.fence,
            self.unfence,
            self.blink,
            self.listen,
            self.freeze,
            self.allow,
        ]
        self.chance.choice(changes)()

    def create(self) -> None:
        cluster = self.broker.cluster
        name = self.chance.choice(NAMES)
        if name not in cluster.topics:
            replicas = [  # with broker 1, which is never fenced
                self.chance.sample([1, self.chance.choice(NODE_IDS[1:])], 2)
                for _ in range(self.chance.randint(1, 4))
            ]
            new = NewTopic(name, assignments=tuple(enumerate(replicas)))
            cluster.create_topics([cluster.plan_topic(new)])

    def delete(self) -> None:
        for topic in self._some():
            self.broker.cluster.delete_topics([topic])

    def grow(self) -> None:
        cluster = self.broker.cluster
        for topic in self._some():
            growth = Growth(topic.name, topic.partition_count + 1, None)
            cluster.create_partitions([cluster.plan_growth(growth)])

    def configure(self) -> None:
        for topic in self._some():
            configs = {"retention.ms": str(self.chance.randint(1, 9))}
            self.broker.cluster.alter_configs([(2, topic.name, configs)])

    def lead(self) -> None:
        for topic in self._some():
            index = self.chance.randrange(topic.partition_count)
            before = topic.partitions[index]
            leader = self.chance.choice([*before.isr, -1])
            after = before._replace(leader=leader, leader_epoch=before.leader_epoch + 1)
            self.broker.cluster.controller.alter(topic, index, after)

    def shrink_isr(self) -> None:
        controller = self.broker.cluster.controller
        for topic in self._some():
            before = topic.partitions[0]
            if before.leader in before.isr:
                after = change(before, controller.terms(topic), isr=(before.leader,))
                controller.alter(topic, 0, after)

    def fence(self) -> None:
        node_id = self.chance.choice(NODE_IDS[1:])
        if self.broker.cluster.brokers.is_active(node_id):
            self.broker.cluster.controller.fence(node_id)

    def unfence(self) -> None:
        for node_id in NODE_IDS:
            if not self.broker.cluster.brokers.is_active(node_id):
                self.broker.cluster.controller.unfence(node_id)

    def blink(self) -> None:
        """Fence a broker, or let it back, without a change of any partition."""
        known = self.broker.cluster.brokers.by_id[self.chance.choice(NODE_IDS[1:])]
        self.broker.cluster.brokers.expect(known._replace(is_fenced=not known.is_fenced))

    def listen(self) -> None:
        """Take a broker's listener away, or give it back."""
        node_id = self.chance.choice(NODE_IDS)
        if self.broker.siblings.pop(node_id, None) is None:
            self.broker.siblings[node_id] = self.siblings[node_id]

    def freeze(self) -> None:
        """Let a broker tell what was, or what is."""
        change = self.chance.choice(
            [self.broker.cluster.freeze_metadata, self.broker.cluster.thaw_metadata]
        )
        change(self.chance.choice(NODE_IDS))

    def allow(self) -> None:
        """Give the client of a connection other rights."""
        names = self.chance.sample(NAMES, 3)
        operations = [Operation.DESCRIBE, Operation.READ, Operation.WRITE]
        rights = [acl(self.chance.choice(operations), name=name) for name in names]
        apply_acls(self.broker.context, *rights)

    def _some(self) -> list[Topic]:
        topics = list(self.broker.cluster.topics.values())
        return [self.chance.choice(topics)] if topics else []

    def compare(self) -> None:
        """Ask a broker for the same with and without what is kept."""
        version = self.chance.randint(0, 13)
        fields: dict[str, Any] = {"topics": self._asked(version)}
        if version >= 4:
            fields["allow_auto_topic_creation"] = False
        if version >= 8:
            fields["include_topic_authorized_operations"] = self.chance.random() < 0.5
        context = self.broker.context
        context.node_id = self.chance.choice(NODE_IDS)
        answers = []
        for topics in (self.kept, self.kept, EncodedTopics(0)):
            context.encoded_topics = topics
            answers.append(self.broker.call("Metadata", version, **fields))
        assert answers[0] == answers[2]
        assert answers[1] == answers[2]

    def _asked(self, version: int) -> Any:
        if self.chance.random() < 0.3:
            return None if version else []
        topics = list(self.broker.cluster.topics.values())
        if version >= 12 and topics and self.chance.random() < 0.5:
            return [ENTRY(name=None, topic_id=each.topic_id) for each in topics]
        return [ENTRY(name=name) for name in self.chance.sample(NAMES, 2)]


@pytest.mark.parametrize("seed", range(6))
def test_p82_p89_p90_p91_what_is_kept_is_what_would_be_encoded(
    open_broker: OpenBroker, seed: int
) -> None:
    """Whatever changes: topics, leaders, ISRs, brokers, listeners, rights, stale brokers."""
    broker = open_broker(broker_lite_brokers="3", auto_create_topics_enable="false")
    changed = Changed(broker, seed)
    for _ in range(STEPS):
        changed.step()
        for _ in range(3):
            changed.compare()


@pytest.fixture
def many(broker: HandlerBroker) -> HandlerBroker:
    """A broker with a topic that is not encoded at once."""
    broker.cluster.create_topics([broker.cluster.plan_topic(NewTopic("t", MANY, 1))])
    return broker


@pytest.fixture
def encodings(monkeypatch: pytest.MonkeyPatch) -> list[PartitionRegistration]:
    """Gets each partition that is encoded."""
    found: list[PartitionRegistration] = []
    place = Places.of

    def of(places: Places, partition: PartitionRegistration) -> Placed:
        found.append(partition)
        return place(places, partition)

    monkeypatch.setattr(Places, "of", of)
    return found


def ask(broker: HandlerBroker, *names: str) -> Any:
    kind = messages.MetadataRequest
    topics = [ENTRY(name=name) for name in names or ("t",)]
    body = memoryview(kind.encode(kind(topics=topics), 12))
    return dispatch(broker.context, Request(3, 12, 1, "test", body, 0, True))


def count_of(parts: Any) -> int:
    answer, _ = messages.MetadataResponse.decode(join(parts), 12)
    return len(answer.topics[0].partitions)


@pytest.mark.usefixtures("short_turns")
def test_who_asks_at_the_same_time_waits_for_the_first(
    many: HandlerBroker, encodings: list[PartitionRegistration]
) -> None:
    async def run() -> list[Any]:
        return await asyncio.gather(*(ask(many) for _ in range(5)))

    assert [count_of(parts) for parts in asyncio.run(run())] == [MANY] * 5
    assert len(encodings) == MANY


@pytest.mark.usefixtures("short_turns")
def test_a_client_that_leaves_in_the_midst_lets_the_next_one_go_on(
    many: HandlerBroker, encodings: list[PartitionRegistration]
) -> None:
    async def run() -> Any:
        first, second = asyncio.ensure_future(ask(many)), asyncio.ensure_future(ask(many))
        await asyncio.sleep(0)
        assert 0 < len(encodings) < MANY
        first.cancel()
        parts = await second
        assert first.cancelled()
        return parts

    assert count_of(asyncio.run(run())) == MANY
    assert MANY < len(encodings) < 2 * MANY


def test_topics_that_are_encoded_within_a_turn_each_hold_up_nobody(
    broker: HandlerBroker,
    encodings: list[PartitionRegistration],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """As those of 1,000 partitions."""
    names = [f"t{number}" for number in range(16)]
    plans = [broker.cluster.plan_topic(NewTopic(name, 1, 1)) for name in names]
    broker.cluster.create_topics(plans)
    monkeypatch.setattr(large, "perf_counter", lambda: len(encodings) * large.TURN_S * 0.6)
    done: list[int] = []

    async def run() -> None:
        asking = asyncio.ensure_future(ask(broker, *names))
        while not asking.done():
            done.append(len(encodings))
            await asyncio.sleep(0)

    asyncio.run(run())
    assert done[0] == 0
    assert len(encodings) == len(names)
    assert max(after - before for before, after in pairwise([*done, len(names)])) <= 2


def test_small_topics_are_encoded_once_too(
    broker: HandlerBroker, encodings: list[PartitionRegistration]
) -> None:
    broker.cluster.create_topic("t")
    for _ in range(3):
        assert count_of(asyncio.run(ask(broker))) == 1
    assert len(encodings) == 1


def test_a_topic_that_changes_while_it_is_encoded_is_told_as_it_was(many: HandlerBroker) -> None:
    """And not to those who ask later."""
    cluster = many.cluster
    before = cluster.topics["t"]

    async def run() -> None:
        encoder = TopicEncoder(many.context, 12)
        encoding = asyncio.ensure_future(encoder.encode(before, NOT_ASKED))
        await asyncio.sleep(0)
        after = before.partitions[0]._replace(leader=NO_LEADER, leader_epoch=1)
        cluster.controller.alter(before, 0, after)
        await encoding

    asyncio.run(run())
    told = many.call("Metadata", 12, topics=[ENTRY(name="t")]).topics[0].partitions[0]
    assert (told.leader_id, told.leader_epoch) == (NO_LEADER, 1)
