"""Random scripts in which brokers crash, stop, stand still and come back."""

from collections.abc import Callable
from typing import Any, Final

from tests.differential.cluster_coordinator_steps import CoordinatorSteps
from tests.differential.cluster_data_steps import DataSteps
from tests.differential.coordinator_sequence import Step
from tests.differential.kafka_cluster import NODE_IDS
from tests.differential.step_maker import StepMaker

EVENTS_MAX: Final = 5
_DOWN_MAX: Final = 2


class _Nodes:
    """Which brokers are away, and steps that change it."""

    def __init__(self, maker: StepMaker) -> None:
        self._maker = maker
        self._states = dict.fromkeys(NODE_IDS, "up")

    def event(self) -> list[Step]:
        """One broker goes away or comes back."""
        away = [node_id for node_id, state in self._states.items() if state != "up"]
        goes = not away or (len(away) < _DOWN_MAX and self._maker.chance(0.5))
        return self._go() if goes else self._return(self._maker.source.choice(away))

    def _go(self) -> list[Step]:
        source = self._maker.source
        node_id = source.choice([one for one, state in self._states.items() if state == "up"])
        api = source.choice(("Kill", "Kill", "Stop", "Stop", "Pause"))
        self._states[node_id] = "paused" if api == "Pause" else "down"
        if api != "Stop" and self._maker.chance(0.25):
            early = Step(api, args={"node": node_id, "early": True})
            return [early, Step("Look"), Step("EndSessions")]
        return [Step(api, args={"node": node_id})]

    def _return(self, node_id: int) -> list[Step]:
        api = "Resume" if self._states[node_id] == "paused" else "Start"
        self._states[node_id] = "up"
        return [Step(api, args={"node": node_id})]


def _eventful(
    maker: StepMaker, begin: list[Step], act: Callable[[], list[Step]], length: int
) -> list[Step]:
    """Acts, and between them events of brokers with a look after each."""
    nodes = _Nodes(maker)
    steps = list(begin)
    events = maker.source.randint(2, EVENTS_MAX)
    pause = max((length - len(steps)) // (events + 1), 4)
    for _ in range(events):
        target = len(steps) + pause
        while len(steps) < target:
            steps += act()
        steps += [*nodes.event(), Step("Look")]
    target = len(steps) + pause
    while len(steps) < target:
        steps += act()
    return [*steps, Step("Look")]


class NodeSteps(DataSteps):
    """Records, while brokers come and go."""

    def make(self, length: int) -> list[Step]:
        return _eventful(self, self.begin(), self.act, length)

    def act(self) -> list[Step]:
        """Requests about records; seldom a new topic."""
        if self.chance(0.06):
            return self.choose([(1, self.create_assigned), (1, self.grow), (1, self.create_odd)])
        return self.data()


class MovingSteps(CoordinatorSteps):
    """Groups and transactions, while brokers come and go."""

    def make(self, length: int) -> list[Step]:
        return _eventful(self, self.begin(), self.act, length)


class AdminSteps(DataSteps):
    """Leaders are elected and replicas are moved, while brokers come and go."""

    def make(self, length: int) -> list[Step]:
        return _eventful(self, self.begin(), self.act, length)

    def act(self) -> list[Step]:
        """A request of an admin, or some other one."""
        return self.choose(
            [
                (4, self.elect),
                (3, self.reassign),
                (2, self.list_reassignments),
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
