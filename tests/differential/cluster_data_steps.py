"""Random steps about records, sent to leaders, followers and brokers without a replica."""

from typing import Any, Final

from tests.differential.cluster_topic_steps import MISSING, Assignment, TopicSteps
from tests.differential.coordinator_sequence import Step
from tests.differential.kafka_cluster import NODE_IDS

_MIN_ISR: Final = "min.insync.replicas"
_UNCLEAN: Final = "unclean.leader.election.enable"
_CONSUMER, _DEBUGGING = -1, -2
_ENDS: Final = (-1, -2, -3, -4, -5)
_SPECIAL_TIMES_FROM: Final = {-3: 7, -4: 8, -5: 9}
_ASSIGNMENTS: Final[tuple[tuple[Assignment, tuple[tuple[str, str], ...]], ...]] = (
    (((1, 2, 3), (2, 3, 1), (3, 1, 2)), ()),
    (((3, 2, 1), (1, 3, 2), (2, 1, 3)), ((_MIN_ISR, "2"),)),
    (((2, 1), (3, 2), (1, 3)), ()),
    (((1, 2), (2, 3)), ((_MIN_ISR, "2"),)),
    (((1, 3), (3, 2)), ((_UNCLEAN, "true"),)),
    (((1,), (2,), (3,)), ()),
    (((3,), (2, 1, 3)), ((_UNCLEAN, "true"),)),
)


class DataSteps(TopicSteps):
    """Topics with an assignment, their records, and what is known of their leaders."""

    def __init__(self, *args: Any, **fields: Any) -> None:
        super().__init__(*args, **fields)
        self._time = 0

    def make(self, length: int) -> list[Step]:
        """Make about this many steps."""
        steps = self.begin()
        while len(steps) < length:
            steps += self.data()
        return [*steps, Step("Look")]

    def begin(self) -> list[Step]:
        """Create topics, and write a few records."""
        chosen = self.source.sample(_ASSIGNMENTS, self.source.choice((2, 3, 3)))
        steps = [self.assigned(assignment, configs) for assignment, configs in chosen]
        for name, assignment in self.topics.items():
            steps += [
                self.produced(((name, (index,)),), ("leader", name, index))
                for index in range(len(assignment))
                if self.chance(0.8)
            ]
        return steps

    def data(self) -> list[Step]:
        """One request about records, or a description."""
        return self.choose(
            [
                (10, self.produce),
                (10, self.fetch),
                (6, self.list_offsets),
                (6, self.end_of_epoch),
                (2, self.delete_records),
                (1, self.describe_producers),
                (1, self.describe_configs),
                (1, self.describe_log_dirs),
                *self.descriptions(),
            ]
        )

    # -- which partition, which broker

    def partition(self, odd: float = 0.05) -> tuple[str, int]:
        """A partition, seldom one that is not there."""
        if self.chance(odd):
            return self.source.choice(((MISSING, 0), (next(iter(self.topics)), 9)))
        name = self.source.choice(list(self.topics))
        return name, self.source.randrange(len(self.topics[name]))

    def at(self, name: str, index: int) -> Any:
        """Mostly its leader, often another broker."""
        chance = self.source.random()
        if chance < 0.6:
            return "leader", name, index
        if chance < 0.8:
            return "follower", name, index, self.source.choice((0, 1))
        return ("other", name, index) if chance < 0.9 else self.node()

    def epoch(self) -> int | None:
        """The current leader epoch that a client names, as a difference to the known one."""
        return self.source.choice((None, None, 0, 0, 0, -1, 1))

    def together(self) -> list[tuple[str, int]]:
        """One partition or more, of different topics."""
        first = self.partition()
        if self.chance(0.6):
            return [first]
        second = self.partition()
        return [first] if second[0] == first[0] else [first, second]

    # -- requests

    def produced(self, topics: Any, at: Any, acks: int = -1) -> Step:
        """One Produce of (topic, partitions)."""
        self._time += 100
        return self.step(
            "Produce",
            first=3,
            at=at,
            topics=topics,
            acks=acks,
            count=self.source.choice((1, 1, 2, 3)),
            time=self._time,
            timeout_ms=8000,
        )

    def produce(self) -> list[Step]:
        """One Produce."""
        chosen = self.together()
        topics = tuple((name, (index,)) for name, index in chosen)
        acks = self.source.choice((-1, -1, 1, 1, 0, 2))
        return [self.produced(topics, self.at(*chosen[0]), acks)]

    def fetch(self) -> list[Step]:
        """One Fetch."""
        chosen = self.together()
        topics = tuple(
            (
                name,
                index,
                self.source.choice((0, 0, 1, 2, 3, 5, 100)),
                self.epoch(),
                self.source.choice((-1, -1, -1, 0, 1, 7)),
            )
            for name, index in chosen
        )
        first, last = self.source.choice(((4, 10), (11, 12), (11, 15), (16, 99), (16, 99)))
        return [
            self.step(
                "Fetch",
                first=first,
                last=last,
                at=self.at(*chosen[0]),
                topics=topics,
                rack=self.rack(),
                isolation=self.source.choice((0, 1)),
            )
        ]

    def rack(self) -> str:
        """The rack of a consumer."""
        return ""

    def list_offsets(self) -> list[Step]:
        """One ListOffsets."""
        chosen = self.together()
        times = [self.source.choice((*_ENDS, 0, 150, 250, 99_999)) for _ in chosen]
        first = max(_SPECIAL_TIMES_FROM.get(time, 1) for time in times)
        if self.chance(0.1):
            first = 1
        topics = tuple(
            (name, index, time, self.epoch())
            for (name, index), time in zip(chosen, times, strict=True)
        )
        return [
            self.step(
                "ListOffsets",
                first=first,
                at=self.at(*chosen[0]),
                topics=topics,
                replica=self.source.choice((_CONSUMER, _CONSUMER, _CONSUMER, _DEBUGGING)),
                isolation=self.source.choice((0, 1)),
            )
        ]

    def end_of_epoch(self) -> list[Step]:
        """One OffsetForLeaderEpoch."""
        chosen = self.together()
        topics = tuple(
            (name, index, self.epoch(), self.source.choice((0, 0, 1, 2, 3, 9, -1)))
            for name, index in chosen
        )
        return [self.step("OffsetForLeaderEpoch", first=2, at=self.at(*chosen[0]), topics=topics)]

    def delete_records(self) -> list[Step]:
        """One DeleteRecords."""
        name, index = self.partition()
        offset = self.source.choice((0, 1, 1, 2, -1, 90))
        return [
            self.step("DeleteRecords", at=self.at(name, index), topics=((name, index, offset),))
        ]

    def describe_producers(self) -> list[Step]:
        """One DescribeProducers, of the partitions 0 and 1."""
        name, index = self.partition()
        return [self.step("DescribeProducers", at=self.at(name, index), topic=name)]

    # -- configs and files

    def describe_configs(self) -> list[Step]:
        """One DescribeConfigs, of a topic or of a broker, which another one may be asked for."""
        resource: Any = self.source.choice((*self.topics, *NODE_IDS, 7))
        keys = (_MIN_ISR, _UNCLEAN) if isinstance(resource, str) else ("broker.rack", _MIN_ISR)
        return [self.step("DescribeConfigs", at=self.node(), resource=resource, keys=keys)]

    def alter_config(self) -> list[Step]:
        """Change what elections of a topic go by."""
        key, values = self.source.choice(
            ((_MIN_ISR, ("1", "2", "3", None)), (_UNCLEAN, ("true", "false", None)))
        )
        config = self.source.choice(list(self.topics)), key, self.source.choice(values)
        return [self.step("IncrementalAlterConfigs", at=self.node(), config=config)]

    def describe_log_dirs(self) -> list[Step]:
        """One DescribeLogDirs."""
        topics = tuple((name, tuple(range(len(rows)))) for name, rows in self.topics.items())
        return [self.step("DescribeLogDirs", first=1, at=self.node(), topics=topics)]


class RackSteps(DataSteps):
    """Consumers that say where they are."""

    def rack(self) -> str:
        return self.source.choice(("", "a", "b", "c", "nowhere"))

    def data(self) -> list[Step]:
        return self.choose([(2, self.produce), (9, self.fetch), (1, self.list_offsets)])
