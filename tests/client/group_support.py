"""Members of groups in this process, driven until something is so."""

import time
from collections.abc import Callable, Iterable

from broker_lite.client import Client
from broker_lite.client.consuming.consumer_config import ConsumerConfig
from broker_lite.client.consuming.group_member import GroupMember
from broker_lite.client.consuming.joining import make_member
from broker_lite.client.topic_partitions import TopicPartition, find_topics
from broker_lite.wire import messages

TIMEOUT_S = 60


def make_topic(client: Client, topic: str, partitions: int) -> None:
    request = messages.CreateTopicsRequest
    made = request.CreatableTopic(name=topic, num_partitions=partitions, replication_factor=1)
    (answer,) = client.request(request(topics=[made], timeout_ms=30_000)).topics
    assert answer.error_code == 0


def new_member(client: Client, group: str, topic: str, **properties: str) -> GroupMember:
    """A member that subscribes to a topic."""
    names = {name.replace("_", "."): text for name, text in properties.items()}
    member = make_member(client, group, ConsumerConfig.read({"group.id": group, **names}))
    member.subscribe(find_topics(client, [topic]))
    return member


def drive(members: Iterable[GroupMember], until: Callable[[], bool]) -> None:
    """Poll all members until something is so."""
    members = tuple(members)
    end_s = time.monotonic() + TIMEOUT_S
    while not until():
        assert time.monotonic() < end_s, [sorted(each.assignment) for each in members]
        for member in members:
            member.poll(0.01)


def all_of(topic: str, count: int) -> set[TopicPartition]:
    return {(topic, number) for number in range(count)}
