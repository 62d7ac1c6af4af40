"""Consumers and their groups, while brokers restart, crash, and hand partitions over."""

from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count

import pytest

from broker_lite.coordinator.placement import partition_of
from tests.conformance.cluster.conftest import STATE_PARTITIONS
from tests.conformance.cluster.scene import OFFSETS, Scene, clients
from tests.conformance.feeder import PARTITIONS, Feeder
from tests.conformance.group import Group, committed_offsets
from tests.conformance.program import Program
from tests.conformance.reads import read_faults

pytestmark = [pytest.mark.client, pytest.mark.slow]
NOTICES_A_CUT = {"confluent", "kafka_python", "java", "franz"}
"""Clients that look for where a cut log begins to differ (KIP-320), and go on there."""


@contextmanager
def fed_group(scene: Scene) -> Iterator[tuple[Group, Feeder]]:
    """A group of the client and what it reads; at the end it must have read and committed all."""
    scene.create(PARTITIONS)
    where = {"bootstrap": scene.cluster.bootstrap, "topic": scene.topic}
    group = Group(scene.programs, scene.builds, scene.client, scene.client.modes[0], where)
    with Feeder(scene.cluster.bootstrap, scene.topic) as feeder:
        yield group, feeder
        ends = group.finish(feeder)
    assert read_faults(group.journals(), ends) == []


def commits_go_on(scene: Scene, group: Group) -> None:
    """Wait until each partition is committed twice more: the first may have been on its way."""
    for _ in range(2):
        before = group.committed()

        def goes_on(before: dict[int, int] = before) -> bool:
            now = group.committed()
            return all(now.get(each, 0) > before.get(each, 0) for each in range(PARTITIONS))

        scene.programs.wait_until(goes_on, "each partition is committed")


def start(scene: Scene, group: Group) -> Program:
    """Let a first member join and commit.

    A coordinator that moves before a member has got its committed offsets is another matter:
    librdkafka reads nothing after such a NOT_COORDINATOR (confluentinc/librdkafka#5586).
    """
    member = group.join("a")
    group.settle(member)
    commits_go_on(scene, group)
    return member


@clients("confluent", "aiokafka", "kafka_python", "java", "franz", "sarama")
def test_a_group_reads_on_during_a_rolling_restart(scene: Scene) -> None:
    with fed_group(scene) as (group, _):
        start(scene, group)
        for broker in scene.cluster.brokers.values():
            broker.stop()
            commits_go_on(scene, group)
            broker.up()
            scene.cluster.elect_preferred()
            commits_go_on(scene, group)


@clients("confluent", "aiokafka", "kafka_python", "java", "franz", "sarama")
def test_the_coordinator_moves_between_commits(scene: Scene) -> None:
    with fed_group(scene) as (group, _):
        start(scene, group)
        state = partition_of(group.name, STATE_PARTITIONS)
        for _ in range(3):
            scene.move(state, OFFSETS)
            commits_go_on(scene, group)


@clients("confluent", "aiokafka", "kafka_python", "java", "franz", "sarama")
def test_a_member_joins_while_the_coordinator_crashes(scene: Scene) -> None:
    with fed_group(scene) as (group, _):
        first = start(scene, group)
        coordinator = scene.leader(partition_of(group.name, STATE_PARTITIONS), OFFSETS)
        second = group.join("b")
        scene.cluster.brokers[coordinator].down()
        group.settle(first, second)
        commits_go_on(scene, group)
        scene.cluster.brokers[coordinator].up()
        scene.cluster.elect_preferred()
        commits_go_on(scene, group)


@clients("confluent", "aiokafka", "kafka_python", "java", "franz", "sarama", "kafkajs")
def test_leaders_move_under_a_consumer(scene: Scene) -> None:
    leaders_move(scene)


@clients("confluent", "aiokafka", "kafka_python", "java", "franz")
def test_leaders_move_under_a_consumer_at_brokers_that_do_not_name_the_new_one(
    older_scene: Scene,
) -> None:
    leaders_move(older_scene)


def leaders_move(scene: Scene) -> None:
    scene.create(1)
    member = scene.member()
    scene.cluster.produce(scene.topic, "a", "b")
    scene.reads(member, "a", "b")
    for value in "cde":
        scene.move()
        scene.cluster.produce(scene.topic, value)
        scene.reads(member, value)
    member.leave()
    assert scene.values(member) == [*"abcde"]


@clients("confluent", "aiokafka", "kafka_python", "java", "franz", "sarama", "kafkajs")
def test_the_leader_crashes_under_a_consumer(scene: Scene) -> None:
    scene.create(1)
    member = scene.member()
    scene.cluster.produce(scene.topic, "a", "b")
    scene.reads(member, "a", "b")
    scene.programs.wait_until(
        lambda: committed_offsets(scene.cluster.bootstrap, scene.group) == {0: 2}, "a commit"
    )
    leader = scene.cluster.brokers[scene.leader()]
    leader.down()
    scene.cluster.produce(scene.topic, "c")
    scene.reads(member, "c")
    leader.up()
    scene.cluster.elect_preferred()
    scene.cluster.produce(scene.topic, "d")
    scene.reads(member, "d")
    member.leave()
    assert scene.values(member) == [*"abcd"]


@clients("confluent", "aiokafka", "kafka_python", "franz", "sarama", "kafkajs")
def test_a_consumer_does_not_read_what_a_follower_lacks(scene: Scene) -> None:
    scene.create(1)
    member = scene.member()
    writer = scene.writer(acks="1", idempotent="false")
    writer.do("send", 0, "a")
    scene.reads(member, "a")
    follower = min({1, 2, 3} - {scene.leader()})
    scene.cluster.lag(scene.topic, 0, node=follower)
    writer.do("send", 0, "b")
    assert [each.value for each in scene.cluster.records(scene.topic)] == [b"a"]
    assert scene.values(member) == ["a"]
    scene.cluster.catch_up(scene.topic, 0, node=follower)
    scene.reads(member, "a", "b")
    scene.programs.leave()


@clients("confluent", "aiokafka", "kafka_python", "java", "franz", "sarama", "kafkajs")
def test_an_unclean_election_cuts_the_log_under_a_consumer(scene: Scene) -> None:
    first, cut = cut_under_a_consumer(scene, "earliest")
    assert first == (cut if scene.client.name in NOTICES_A_CUT else 0)


@clients("confluent", "aiokafka", "kafka_python", "java")
def test_an_unclean_election_and_a_consumer_that_skips(scene: Scene) -> None:
    first, cut = cut_under_a_consumer(scene, "latest")
    assert first == cut if scene.client.name in NOTICES_A_CUT else first >= cut


def cut_under_a_consumer(scene: Scene, reset: str) -> tuple[int, int]:
    """Let a consumer read more than the next leader has.

    Returns:
        Where the consumer goes on, and the end of the log right after the election.
    """
    scene.create(1)
    behind = min({1, 2, 3} - {scene.leader()})
    member = scene.member(reset=reset)
    cut = write_until_read(scene, member)
    scene.cluster.lag(scene.topic, 0, node=behind)
    scene.cluster.shrink_isr(scene.topic, 0, node=behind)
    scene.cluster.produce(scene.topic, *"abcdefgh")
    scene.reads(member, *"abcdefgh")
    scene.cluster.elect_unclean(scene.topic, 0, to=behind)
    before = len(scene.values(member))
    write_until_read(scene, member)
    last = (scene.cluster.records(scene.topic)[-1].value or b"").decode()
    scene.reads(member, last)
    member.leave()
    return int(member.of_kind("read")[before].words[1]), cut


def write_until_read(scene: Scene, member: Program) -> int:
    """Write records until a consumer reads one of these, and return how many the topic has."""
    before = len(scene.values(member))
    end = len(scene.cluster.records(scene.topic))

    def is_read() -> bool:
        nonlocal end
        scene.cluster.produce(scene.topic, f"record-{end}")
        end += 1
        return len(scene.values(member)) > before

    scene.programs.wait_until(is_read, "a record is read")
    return end


# franz-go refuses a topic whose id has changed until the application forgets the topic
@clients("confluent", "aiokafka", "kafka_python", "java", "sarama")
def test_a_topic_is_deleted_and_created_again(scene: Scene) -> None:
    scene.create(1)
    member = scene.member()
    writer = scene.writer()
    for value in "abcdef":
        writer.do("send", 0, value)
    scene.reads(member, *"abcdef")
    scene.delete()
    scene.create(1)
    before = len(scene.values(member))
    numbers = count()

    def is_read() -> bool:
        number = str(next(numbers))
        assert writer.do("send", 0, number) == ("send", "0", number)
        return len(scene.values(member)) > before

    # a client that looks for a cut log (KIP-320) goes on at the end that the new topic has then
    scene.programs.wait_until(is_read, "a record of the new topic is read")
    last = next(numbers) - 1
    scene.reads(member, str(last))
    read = [int(value) for value in scene.values(member)[before:]]
    assert read == [*range(read[0], last + 1)]
    scene.programs.leave()
