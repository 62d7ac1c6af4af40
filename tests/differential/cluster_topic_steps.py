"""Random steps about topics: they are created, grow, and are described by every broker."""

from typing import Any, Final

from tests.differential.cluster_views import GROWING, PLACED
from tests.differential.coordinator_sequence import Step
from tests.differential.kafka_cluster import NODE_IDS
from tests.differential.step_maker import StepMaker

Assignment = tuple[tuple[int, ...], ...]
MISSING: Final = "own-missing"
_MIN_ISR: Final = "min.insync.replicas"
_UNCLEAN: Final = "unclean.leader.election.enable"
_DEFAULT: Final = -1


class TopicSteps(StepMaker):
    """Topics and what all brokers say of them.

    Attributes:
        topics: the replicas of the partitions of each topic with an assignment.
        placed: the partition counts of topics that the cluster places.
    """

    def __init__(self, *args: Any, **fields: Any) -> None:
        super().__init__(*args, **fields)
        self.topics: dict[str, Assignment] = {}
        self.placed: dict[str, int] = {}

    def make(self, length: int) -> list[Step]:
        """Make about this many steps."""
        steps = [*self.create_assigned(), *self.create_placed()]
        while len(steps) < length:
            steps += self.choose(
                [
                    (3, self.create_assigned),
                    (3, self.create_placed),
                    (4, self.create_odd),
                    (4, self.grow),
                    (2, self.grow_odd),
                    *self.descriptions(),
                    (1, self.delete),
                ]
            )
        return [*steps, Step("Look")]

    def descriptions(self) -> list[tuple[int, Any]]:
        """The acts that describe something."""
        return [
            (4, self.metadata),
            (3, self.describe_partitions),
            (2, self.describe_cluster),
            (2, self.look),
        ]

    def node(self) -> int:
        """Any broker."""
        return self.source.choice(NODE_IDS)

    def replicas(self, count: int) -> tuple[int, ...]:
        """So many brokers in any order."""
        return tuple(self.source.sample(NODE_IDS, count))

    def look(self) -> list[Step]:
        """All that the brokers say."""
        return [Step("Look")]

    # -- creation

    def create(self, *topics: Any, validate: bool = False, at: int | None = None) -> Step:
        """One CreateTopics of (name, partitions, factor, assignments, configs)."""
        return self.step(
            "CreateTopics",
            first=5 if any(topic[1] == _DEFAULT for topic in topics) else 2,
            at=self.node() if at is None else at,
            topics=topics,
            validate=validate,
        )

    def create_assigned(self) -> list[Step]:
        """Create a topic whose replicas are told."""
        count = self.source.randint(1, 3)
        factor = self.source.choice((1, 2, 3, 3))
        assignment = tuple(self.replicas(factor) for _ in range(count))
        configs: list[tuple[str, str]] = []
        if self.chance(0.5):
            configs.append((_MIN_ISR, self.source.choice(("1", "2", "2", "3"))))
        if self.chance(0.25):
            configs.append((_UNCLEAN, self.source.choice(("true", "false"))))
        return [self.assigned(assignment, configs)]

    def assigned(self, assignment: Assignment, configs: Any = (), at: int | None = None) -> Step:
        """Create a topic with these replicas; return the step."""
        name = f"own-{len(self.topics)}"
        self.topics[name] = assignment
        rows = tuple(enumerate(assignment))
        return self.create((name, -1, -1, rows, tuple(configs)), at=at)

    def create_placed(self) -> list[Step]:
        """Create a topic whose replicas the cluster places."""
        name = f"{self.source.choice((PLACED, GROWING))}-{len(self.placed)}"
        count = self.source.choice((1, 2, 3, 4, 6, 9, _DEFAULT))
        factor = self.source.choice((1, 2, 3, 3, _DEFAULT))
        self.placed[name] = max(count, 1)
        step = self.create((name, count, factor, (), ()))
        return [step, Step("Look")]

    def create_odd(self) -> list[Step]:
        """Create what is refused, or only check whether it would be."""
        name = f"own-odd-{self.source.randrange(10_000)}"
        odd = self.source.choice(
            (
                (1, 4, ()),
                (1, 0, ()),
                (0, 1, ()),
                (-1, -1, ((0, (1, 1)),)),
                (-1, -1, ((0, (1, 7)),)),
                (-1, -1, ((0, (7,)),)),
                (-1, -1, ((0, ()),)),
                (-1, -1, ((0, (-1,)),)),
                (-1, -1, ((0, (1, 2)), (1, (3,)))),
                (-1, -1, ((0, (1,)), (0, (2,)))),
                (-1, -1, ((1, (1,)),)),
                (-1, -1, ((0, (1,)), (2, (2,)))),
                (2, -1, ((0, (1,)), (1, (2,)))),
                (-1, 2, ((0, (1, 2)),)),
                (3, 2, ()),
                (-1, -1, ((0, (3, 2)), (1, (2, 1)))),
            )
        )
        # what would be created is only checked
        return [self.create((name, *odd, ()), validate=True)]

    # -- growth and removal

    def grow(self) -> list[Step]:
        """Add partitions."""
        growing = [name for name in self.placed if name.startswith(GROWING)]
        if growing and self.chance(0.5):
            name = self.source.choice(growing)
            self.placed[name] += self.source.choice((1, 2, 3))
            return [self.partitions(name, self.placed[name], None), Step("Look")]
        if not self.topics:
            return []
        name = self.source.choice(list(self.topics))
        factor = len(self.topics[name][0])
        added = tuple(self.replicas(factor) for _ in range(self.source.choice((1, 2))))
        self.topics[name] += added
        return [self.partitions(name, len(self.topics[name]), added)]

    def partitions(self, name: str, count: int, added: Assignment | None, **fields: Any) -> Step:
        """One CreatePartitions."""
        return self.step(
            "CreatePartitions",
            at=self.node(),
            topics=((name, count, added),),
            validate=fields.get("validate", False),
        )

    def grow_odd(self) -> list[Step]:
        """Add partitions in a way that is refused."""
        if not self.topics:
            return []
        name = self.source.choice(list(self.topics))
        count, factor = len(self.topics[name]), len(self.topics[name][0])
        odd = self.source.choice(
            (
                (name, count, None),
                (name, count - 1, None),
                (name, count + 2, (self.replicas(factor),)),
                (name, count + 1, (self.replicas(factor), self.replicas(factor))),
                (name, count + 1, (self.replicas(factor % 3 + 1),)),
                (name, count + 1, ((1,) * 2,)),
                (name, count + 1, ((8, *self.replicas(2))[:factor],)),
                (name, count + 1, ((),)),
                (MISSING, 2, None),
            )
        )
        return [self.partitions(*odd, validate=True)]

    def delete(self) -> list[Step]:
        """Remove a topic."""
        if len(self.topics) < 2:
            return []
        name = self.source.choice(list(self.topics))
        del self.topics[name]
        return [self.step("DeleteTopics", at=self.node(), topics=(name,))]

    # -- descriptions

    def some_topics(self) -> tuple[str, ...]:
        """Topics to ask for."""
        known = [*self.topics, *self.placed, MISSING]
        return tuple(self.sampled(known, 4))

    def metadata(self) -> list[Step]:
        """One Metadata."""
        names = None if self.chance(0.3) else self.some_topics()
        by_id = names is not None and self.chance(0.25)
        first = 12 if by_id else 0 if names is None else 4
        return [self.step("Metadata", first=first, at=self.node(), topics=names, by_id=by_id)]

    def describe_partitions(self) -> list[Step]:
        """One DescribeTopicPartitions."""
        names = self.some_topics()
        cursor = None
        if self.topics and self.chance(0.3):
            cursor = (self.source.choice(list(self.topics)), self.source.choice((0, 1, 2)))
        return [
            self.step(
                "DescribeTopicPartitions",
                at=self.node(),
                topics=names,
                limit=self.source.choice((2000, 2000, 1, 2, 3)),
                cursor=cursor,
            )
        ]

    def describe_cluster(self) -> list[Step]:
        """One DescribeCluster."""
        return [
            self.step(
                "DescribeCluster",
                at=self.node(),
                endpoint_type=self.source.choice((1, 1, 1, 2)),
                fenced=self.chance(0.5),
            )
        ]
