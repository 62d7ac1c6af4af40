"""Partitions: who leads them, whose replicas are behind, elections."""

from typing import Final

import msgspec

from broker_lite.control.cluster.electing import led_uncleanly_by, preferred_elections
from broker_lite.control.metadata.topic import PartitionRegistration, Topic
from broker_lite.log.replicas import Lag
from broker_lite.server.life import Life
from broker_lite.server.nodes import WrongState
from broker_lite.server.upkeep.leaders import elect
from broker_lite.testbench.control.resource import Call, Done, Resource
from broker_lite.testbench.errors import ControlError

_BAD_REQUEST: Final = 400
_NOT_FOUND: Final = 404


class PartitionView(msgspec.Struct, kw_only=True):
    """A partition, as the cluster's metadata has it."""

    leader: int
    leader_epoch: int
    replicas: list[int]
    isr: list[int]
    eligible: list[int]
    last_leader: list[int]
    partition_epoch: int
    is_recovering: bool
    adding: list[int]
    removing: list[int]


class LagChange(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """How far a follower is behind; without records and ms it fetches nothing any more.

    Attributes:
        node: the follower, or a broker without a replica.
        records: how many records it is behind.
        ms: how much later it gets each record.
    """

    node: int
    records: int = 0
    ms: int = 0


class PartitionChange(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """What becomes of a partition; one member.

    Attributes:
        leader: a broker of the ISR that leads from now on.
        unclean_leader: a replica that leads although it is not in sync; what it lacks is lost.
        isr: who stays in the ISR; the others leave it at once.
        lagging: followers that are behind from now on.
        caught_up: followers that have all records again, and join the ISR.
    """

    leader: int | None = None
    unclean_leader: int | None = None
    isr: list[int] | None = None
    lagging: list[LagChange | int] | None = None
    caught_up: list[int] | None = None


class Election(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """An election of the first replica of each partition, where it is in the ISR.

    Attributes:
        topic: whose partitions; None for all.
    """

    topic: str | None = None


async def get_partition(call: Call) -> PartitionView:
    """Tell who has a partition, and who leads it."""
    topic, index = _asked(call)
    return msgspec.convert(topic.partitions[index]._asdict(), PartitionView)


async def change_partition(call: Call) -> PartitionView:
    """Move a leader, let replicas be behind, or change the ISR; returns when all brokers know."""
    change, life = call.body, call.bench.life
    assert isinstance(change, PartitionChange)
    topic, index = _asked(call)
    given = [name for name in change.__struct_fields__ if getattr(change, name) is not None]
    if len(given) != 1:
        raise ControlError(_BAD_REQUEST, f"give one of {', '.join(change.__struct_fields__)}")
    if change.leader is not None:
        _lead(life, topic, index, change.leader)
    elif change.unclean_leader is not None:
        _lead_uncleanly(life, topic, index, change.unclean_leader)
    elif change.isr is not None:
        _shrink(life, topic, index, change.isr)
    for each in change.lagging or ():
        _fall_behind(life, topic, index, LagChange(node=each) if isinstance(each, int) else each)
    for node_id in change.caught_up or ():
        _check_follower(life, topic, index, node_id, may_be_added=True)
        life.replicas.catch_up(topic, index, node_id)
    life.replicas.settle()
    return await get_partition(call)


async def elect_preferred(call: Call) -> Done:
    """Let the first replica of each partition lead where it is in the ISR."""
    election, life = call.body, call.bench.life
    assert isinstance(election, Election)
    await elect(life.cluster, preferred_elections, election.topic)
    life.replicas.settle()
    return Done()


def _lead(life: Life, topic: Topic, index: int, to: int) -> None:
    before = topic.partitions[index]
    if to not in before.isr or not life.cluster.brokers.is_active(to):
        raise WrongState(f"broker {to} is not in the ISR of {topic.name}-{index}: {before.isr}")
    if to != before.leader:
        _alter(life, topic, index, _led_by(before, to))


def _led_by(before: PartitionRegistration, leader: int) -> PartitionRegistration:
    return before._replace(
        leader=leader,
        leader_epoch=before.leader_epoch + 1,
        partition_epoch=before.partition_epoch + 1,
    )


def _lead_uncleanly(life: Life, topic: Topic, index: int, to: int) -> None:
    if to not in topic.partitions[index].replicas:
        raise WrongState(f"broker {to} has no replica of {topic.name}-{index}")
    if not life.cluster.brokers.is_active(to):
        raise WrongState(f"broker {to} is not there")
    _alter(life, topic, index, led_uncleanly_by(topic.partitions[index], to))


def _shrink(life: Life, topic: Topic, index: int, stay: list[int]) -> None:
    isr = topic.partitions[index].isr
    if not set(stay) <= set(isr):
        raise WrongState(f"the ISR of {topic.name}-{index} is {isr}, and cannot become {stay}")
    leaving = [node_id for node_id in isr if node_id not in stay]
    for node_id in leaving:
        _check_follower(life, topic, index, node_id)
    for node_id in leaving:
        now = life.cluster.topics[topic.name]  # each change makes a new one
        life.replicas.shrink_isr(now, index, node_id)


def _fall_behind(life: Life, topic: Topic, index: int, change: LagChange) -> None:
    if change.records < 0 or change.ms < 0 or (change.records and change.ms):
        raise WrongState("a replica is behind by records or by ms, and not by less than 0")
    _check_follower(life, topic, index, change.node, may_be_added=True)
    is_frozen = not (change.records or change.ms)
    lag = Lag(is_frozen=is_frozen, records=change.records, ms=change.ms)
    life.replicas.fall_behind(topic, index, change.node, lag)


def _check_follower(
    life: Life, topic: Topic, index: int, node_id: int, *, may_be_added: bool = False
) -> None:
    """Demand that a broker follows a partition, or could, if `may_be_added`."""
    partition = topic.partitions[index]
    is_known = may_be_added and node_id in life.nodes.states
    if node_id not in partition.replicas and not is_known:
        raise WrongState(f"broker {node_id} has no replica of {topic.name}-{index}")
    if node_id == partition.leader:
        raise WrongState(f"broker {node_id} leads {topic.name}-{index}")


def _alter(life: Life, topic: Topic, index: int, after: PartitionRegistration) -> None:
    if after is not topic.partitions[index]:
        life.cluster.controller.alter(topic, index, after)


def _asked(call: Call) -> tuple[Topic, int]:
    name, index = call.path["topic"], call.number("partition")
    topic = call.bench.life.cluster.topics.get(name)
    if topic is None:
        raise ControlError(_NOT_FOUND, f"there is no topic {name!r}")
    if index >= topic.partition_count:
        has = f"topic {name} has {topic.partition_count} partitions, not {index}"
        raise ControlError(_NOT_FOUND, has)
    return topic, index


RESOURCES = (
    Resource("GET", "/v1/topics/{topic}/{partition}", get_partition, answer=PartitionView),
    Resource(
        "PATCH",
        "/v1/topics/{topic}/{partition}",
        change_partition,
        answer=PartitionView,
        body=PartitionChange,
    ),
    Resource("POST", "/v1/cluster/elections", elect_preferred, body=Election),
)
