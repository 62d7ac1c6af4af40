"""Random scripts in which brokers crash, stop, stand still and come back."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any, Final

from tests.differential.cluster_coordinator_steps import CoordinatorSteps
from tests.differential.cluster_data_steps import DataSteps
from tests.differential.cluster_views import GROWING
from tests.differential.coordinator_sequence import Step
from tests.differential.kafka_cluster import NODE_IDS
from tests.differential.step_maker import StepMaker

EVENTS_MAX: Final = 5
_AWAY_MAX: Final = 2
_READS_EARLY: Final = 4
_ALL: Final = -1


class _Nodes:
    """Which brokers are away, and steps that change it.

    Args:
        act: makes requests that are answered at once, also by brokers that miss another one.
        away_max: so many may be away at once.
    """

    def __init__(
        self, maker: StepMaker, act: Callable[[], list[Step]], away_max: int = _AWAY_MAX
    ) -> None:
        self._maker = maker
        self._act = act
        self._away_max = away_max
        self._states = dict.fromkeys(NODE_IDS, "up")

    def event(self) -> list[Step]:
        """One broker goes away or comes back; one that runs is left, or comes back at once."""
        away = [node_id for node_id, state in self._states.items() if state != "up"]
        goes = not away or (len(away) < self._away_max and self._maker.chance(0.5))
        steps = self._go() if goes else self._return(self._maker.source.choice(away))
        if "up" not in self._states.values():
            steps += self._return(self._maker.source.choice(NODE_IDS))
        return [*steps, Step("Look")]

    def _go(self) -> list[Step]:
        source = self._maker.source
        up = [one for one, state in self._states.items() if state == "up"]
        node_id = source.choice(up)
        # the last one that runs is not paused: seeds keep the scripts that they had
        pauses = ("Pause",) * (len(up) > 1)
        api = source.choice(("Kill", "Kill", "Stop", "Stop", *pauses))
        self._states[node_id] = "paused" if api == "Pause" else "down"
        if api != "Stop" and len(up) > 1 and self._maker.chance(0.3):
            early = Step(api, args={"node": node_id, "early": True})
            return [early, *self._meanwhile(), Step("EndSessions")]
        steps = [Step(api, args={"node": node_id})]
        if api != "Pause" and len(up) > 1 and self._maker.chance(0.1):
            steps.append(Step("Unregister", args={"node": node_id}))
        return steps

    def _meanwhile(self) -> list[Step]:
        """What happens before a broker is missed, which is soon."""
        return [Step("Look"), *(step for _ in range(_READS_EARLY) for step in self._act())]

    def _return(self, node_id: int) -> list[Step]:
        api = "Resume" if self._states[node_id] == "paused" else "Start"
        self._states[node_id] = "up"
        return [Step(api, args={"node": node_id})]


def _eventful(
    maker: StepMaker,
    nodes: _Nodes,
    begin: list[Step],
    act: Callable[[], list[Step]],
    length: int,
) -> list[Step]:
    """Acts, and between them events of brokers with a look after each."""
    steps = list(begin)
    events = maker.source.randint(2, EVENTS_MAX)
    pause = max((length - len(steps)) // (events + 1), 4)
    for _ in range(events):
        target = len(steps) + pause
        while len(steps) < target:
            steps += act()
        steps += nodes.event()
    target = len(steps) + pause
    while len(steps) < target:
        steps += act()
    return [*steps, Step("Look")]


class NodeSteps(DataSteps):
    """Records, while brokers come and go."""

    def make(self, length: int) -> list[Step]:
        away_max = len(NODE_IDS) if self.chance(0.3) else _AWAY_MAX
        nodes = _Nodes(self, self.quick, away_max)
        return _eventful(self, nodes, self.begin(), self.act, length)

    def act(self) -> list[Step]:
        """Requests about records; seldom another topic or config."""
        if self.chance(0.12):
            return self.choose(
                [
                    (1, self.create_assigned),
                    (1, self.grow),
                    (1, self.create_odd),
                    (1, self.place),
                    (2, self.alter_config),
                ]
            )
        return self.data()

    def place(self) -> list[Step]:
        """A topic that the cluster places, on all brokers: what comes of others is random."""
        name = f"{GROWING}-{self.source.randrange(10_000)}"
        create = self.create((name, self.source.choice((1, 2, 3)), 3, (), ()))
        return [create, Step("Look"), self.step("DeleteTopics", at=self.node(), topics=(name,))]

    def quick(self) -> list[Step]:
        """A request that waits for no other broker."""
        steps = self.choose([(3, self.fetch), (2, self.list_offsets), (4, self.produce)])
        return [
            replace(step, args={**step.args, "pending": step.args.get("acks") == _ALL})
            for step in steps
        ]


class MovingSteps(CoordinatorSteps):
    """Groups and transactions, while brokers come and go."""

    def make(self, length: int) -> list[Step]:
        return _eventful(self, _Nodes(self, self.find), self.begin(), self.act, length)


class AdminSteps(DataSteps):
    """Leaders are elected and replicas are moved, while brokers come and go."""

    def make(self, length: int) -> list[Step]:
        return _eventful(self, _Nodes(self, self.fetch), self.begin(), self.act, length)

    def act(self) -> list[Step]:
        """A request of an admin, or some other one."""
        return self.choose(
            [
                (4, self.elect),
                (3, self.reassign),
                (2, self.list_reassignments),
                (1, self.alter_config),
                (2, self.look),
                (6, self.data),
            ]
        )

    def elect(self) -> list[Step]:
        """One ElectLeaders."""
        chosen = self.together()
        topics = tuple((name, (index,)) for name, index in chosen)
        step = self.step(
            "ElectLeaders", at=self.node(), topics=topics, type=self.source.choice((0, 0, 1, 5))
        )
        return [step]

    def reassign(self) -> list[Step]:
        """One AlterPartitionReassignments."""
        name, index = self.partition()
        replicas: Any = self.replicas(self.source.choice((1, 2, 3)))
        if self.chance(0.25):
            replicas = self.source.choice((None, (), (1, 1), (1, 8), (-2,)))
        return [
            self.step(
                "AlterPartitionReassignments",
                at=self.node(),
                topics=((name, index, replicas),),
            )
        ]

    def list_reassignments(self) -> list[Step]:
        """One ListPartitionReassignments."""
        name, index = self.partition()
        topics = self.source.choice((None, ((name, (index,)),)))
        return [self.step("ListPartitionReassignments", at=self.node(), topics=topics)]
