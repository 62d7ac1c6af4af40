"""Commands about a cluster of several brokers, as JSON: what happens to its nodes and leaders.

A command is `{"do": NAME, ...}` with the arguments of the method of that name. The answer is
`{"result": ...}`, or `{"error": TEXT}` with one line for a person.
"""

import json
from collections.abc import Awaitable, Callable, Mapping
from typing import Final

from anyio.lowlevel import checkpoint

from broker_lite.control.cluster.cluster import Cluster
from broker_lite.control.cluster.electing import led_uncleanly_by, preferred_elections
from broker_lite.control.metadata.topic import PartitionRegistration, Topic
from broker_lite.control.replication.replica_manager import ReplicaManager
from broker_lite.errors import BrokerError, SettingsError
from broker_lite.log.replicas import Lag
from broker_lite.server.nodes import Nodes, NodeState, WrongState
from broker_lite.server.upkeep.leaders import elect

Arguments = Mapping[str, object]


class Commands:
    """Carries out commands, one after the other."""

    def __init__(self, cluster: Cluster, nodes: Nodes, replicas: ReplicaManager) -> None:
        """Remember what commands are about."""
        self._cluster = cluster
        self._replicas = replicas
        self._nodes = nodes

    async def carry_out(self, text: bytes) -> dict[str, object]:
        """Carry out one command, and return its answer."""
        try:
            asked = json.loads(text)
            name = asked.pop("do", None)
            carry_out = _COMMANDS.get(name) if isinstance(name, str) else None
            if carry_out is None:
                raise WrongState(f"there is no command {name!r}; there are {', '.join(_COMMANDS)}")
            result = await carry_out(self, asked)
            self._replicas.settle()
            return {"result": result}
        except (WrongState, BrokerError, SettingsError, ValueError, RecursionError) as error:
            return {"error": str(error) or type(error).__name__}

    # -- nodes

    async def _down(self, asked: Arguments) -> None:
        await self._nodes.kill(_number(asked, "node"))

    async def _stop(self, asked: Arguments) -> None:
        await self._nodes.stop(_number(asked, "node"))

    async def _hang(self, asked: Arguments) -> None:
        await self._nodes.hang(_number(asked, "node"))

    async def _up(self, asked: Arguments) -> None:
        node_id = _number(asked, "node")
        await self._nodes.bring_up(node_id)
        self._cluster.thaw_metadata(node_id)

    async def _freeze_metadata(self, asked: Arguments) -> None:
        node_id = _number(asked, "node")
        self._nodes.check_is_up(node_id)
        self._cluster.freeze_metadata(node_id)

    async def _thaw_metadata(self, asked: Arguments) -> None:
        node_id = _number(asked, "node")
        self._nodes.check_is_up(node_id)
        self._cluster.thaw_metadata(node_id)

    async def _roll(self, _: Arguments) -> None:
        """Restart each node that is up, one after the other, and let it lead again after it."""
        for node_id, state in self._nodes.states.items():
            if state is NodeState.UP:
                await self._nodes.stop(node_id)
                await self._nodes.bring_up(node_id)
                await self._elect_preferred({})

    async def _heal(self, _: Arguments) -> None:
        """Bring every node back, let every replica catch up, and let preferred replicas lead."""
        for node_id, state in self._nodes.states.items():
            if state is not NodeState.UP:
                await self._nodes.bring_up(node_id)
                await checkpoint()  # other tasks run in between
            self._cluster.thaw_metadata(node_id)
        self._replicas.catch_up_all()
        await self._elect_preferred({})

    async def _states(self, _: Arguments) -> list[dict[str, object]]:
        brokers = self._cluster.brokers.by_id
        return [
            {
                "node": node_id,
                "state": state.value,
                "fenced": node_id not in brokers or brokers[node_id].is_fenced,
                "rack": self._cluster.rack_of(node_id),
            }
            for node_id, state in self._nodes.states.items()
        ]

    # -- partitions

    async def _partition(self, asked: Arguments) -> dict[str, object]:
        topic, index = self._asked_partition(asked)
        return {
            name: list(value) if isinstance(value, tuple) else value
            for name, value in topic.partitions[index]._asdict().items()
        }

    async def _move_leader(self, asked: Arguments) -> None:
        topic, index = self._asked_partition(asked)
        before, to = topic.partitions[index], _number(asked, "to")
        if to not in before.isr or not self._cluster.brokers.is_active(to):
            raise WrongState(f"broker {to} is not in the ISR of {topic.name}-{index}: {before.isr}")
        if to != before.leader:
            self._alter(topic, index, _led_by(before, to))

    async def _lag(self, asked: Arguments) -> None:
        topic, index, node_id = self._asked_follower(asked, may_be_added=True)
        records = _number(asked, "records") if asked.get("records") else 0
        ms = _number(asked, "ms") if asked.get("ms") else 0
        if records < 0 or ms < 0 or (records and ms):
            raise WrongState("a replica is behind by records or by ms, and not by less than 0")
        lag = Lag(is_frozen=not (records or ms), records=records, ms=ms)
        self._replicas.fall_behind(topic, index, node_id, lag)

    async def _catch_up(self, asked: Arguments) -> None:
        topic, index, node_id = self._asked_follower(asked, may_be_added=True)
        self._replicas.catch_up(topic, index, node_id)

    async def _shrink_isr(self, asked: Arguments) -> None:
        topic, index, node_id = self._asked_follower(asked)
        self._replicas.shrink_isr(topic, index, node_id)

    async def _elect_unclean(self, asked: Arguments) -> None:
        topic, index = self._asked_partition(asked)
        to = _number(asked, "to")
        if to not in topic.partitions[index].replicas:
            raise WrongState(f"broker {to} has no replica of {topic.name}-{index}")
        if not self._cluster.brokers.is_active(to):
            raise WrongState(f"broker {to} is not there")
        self._alter(topic, index, led_uncleanly_by(topic.partitions[index], to))

    def _asked_follower(
        self, asked: Arguments, *, may_be_added: bool = False
    ) -> tuple[Topic, int, int]:
        """Find a follower; a broker that may get a replica is one if `may_be_added`."""
        topic, index = self._asked_partition(asked)
        partition, node_id = topic.partitions[index], _number(asked, "node")
        is_known = may_be_added and node_id in self._nodes.states
        if node_id not in partition.replicas and not is_known:
            raise WrongState(f"broker {node_id} has no replica of {topic.name}-{index}")
        if node_id == partition.leader:
            raise WrongState(f"broker {node_id} leads {topic.name}-{index}")
        return topic, index, node_id

    async def _elect_preferred(self, asked: Arguments) -> None:
        name = asked.get("topic")
        await elect(self._cluster, preferred_elections, None if name is None else str(name))

    def _alter(self, topic: Topic, index: int, after: PartitionRegistration) -> None:
        if after is not topic.partitions[index]:
            self._cluster.controller.alter(topic, index, after)

    def _asked_partition(self, asked: Arguments) -> tuple[Topic, int]:
        name, index = asked.get("topic"), _number(asked, "partition")
        topic = self._cluster.topics.get(name) if isinstance(name, str) else None
        if topic is None:
            raise WrongState(f"there is no topic {name!r}")
        if not 0 <= index < topic.partition_count:
            raise WrongState(f"topic {name} has {topic.partition_count} partitions, not {index}")
        return topic, index


def _led_by(before: PartitionRegistration, leader: int) -> PartitionRegistration:
    return before._replace(
        leader=leader,
        leader_epoch=before.leader_epoch + 1,
        partition_epoch=before.partition_epoch + 1,
    )


def _number(asked: Arguments, name: str) -> int:
    value = asked.get(name)
    if not isinstance(value, int) or isinstance(value, bool):
        raise WrongState(f"{name} has to be a number, not {value!r}")
    return value


_Method = Callable[[Commands, Arguments], Awaitable[object]]
_COMMANDS: Final[Mapping[str, _Method]] = {
    "down": Commands._down,
    "stop": Commands._stop,
    "hang": Commands._hang,
    "up": Commands._up,
    "freeze_metadata": Commands._freeze_metadata,
    "thaw_metadata": Commands._thaw_metadata,
    "roll": Commands._roll,
    "heal": Commands._heal,
    "nodes": Commands._states,
    "partition": Commands._partition,
    "move_leader": Commands._move_leader,
    "elect_preferred": Commands._elect_preferred,
    "elect_unclean": Commands._elect_unclean,
    "lag": Commands._lag,
    "catch_up": Commands._catch_up,
    "shrink_isr": Commands._shrink_isr,
}
