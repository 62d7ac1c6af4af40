"""Random steps of one member of a group and of transactional producers, to the right broker or not.

What coordinators answer is compared by tests.differential.compare_coordinators; here it is about
who answers.
"""

import random
from dataclasses import replace
from typing import Any, Final

from tests.differential.classic_steps import ClassicSteps
from tests.differential.cluster_addressees import GROUP, TRANSACTIONAL_ID
from tests.differential.consumer_steps import ConsumerSteps
from tests.differential.coordinator_sequence import OWN_TOPIC, Step
from tests.differential.group_requests import CONSUMER
from tests.differential.kafka_cluster import NODE_IDS
from tests.differential.step_maker import StepMaker, Versions
from tests.differential.transaction_steps import TransactionSteps

CONSUMER_GROUP: Final = "g2"
_ASTRAY: Final = 0.3
_OWN_ASSIGNMENT: Final = ((0, (1, 2, 3)), (1, (2, 3, 1)))
_AT_LEADER: Final = frozenset({"Produce", "WriteTxnMarkers", "DescribeProducers"})
_ANYWHERE: Final = frozenset({"ListGroups", "ListTransactions"})
_TRANSACTIONAL: Final = frozenset(
    {"InitProducerId", "AddPartitionsToTxn", "AddOffsetsToTxn", "EndTxn", "DescribeTransactions"}
)


class CoordinatorSteps(StepMaker):
    """A group with one member, and producers with transactional ids."""

    def __init__(self, source: random.Random, versions: Versions, *, waits: bool) -> None:
        super().__init__(source, versions, waits=waits)
        self._member = ClassicSteps(
            source, versions, waits=False, slots=range(1), protocol_type=CONSUMER
        )
        self._producers = TransactionSteps(source, versions, waits=False)
        # one producer for each id, because two would fence each other
        self._producers.slots = [0]
        self._is_member = False
        self._consumer = ConsumerSteps(source, versions, waits=False, assignor="range")
        self._consumer.slots = [1]
        self._consumer.instances = {1: None}
        self._consumer.group = CONSUMER_GROUP
        self._consumer.names = ("d6",)

    def make(self, length: int) -> list[Step]:
        """Make about this many steps."""
        steps = self.begin()
        while len(steps) < length:
            steps += self.act()
        return [*steps, Step("Look")]

    def begin(self) -> list[Step]:
        """Create the topic of the producers, and get ids and assignments."""
        topic = (OWN_TOPIC, -1, -1, _OWN_ASSIGNMENT, ())
        create = self.step("CreateTopics", first=5, at=1, topics=(topic,), validate=False)
        return [create, *self.enter(), *self.sent([self._producers.init(0)])]

    def act(self) -> list[Step]:
        """What a member or a producer does, or a description."""
        return self.choose(
            [
                (8, self.membership),
                (3, self.leave_or_enter),
                (5, self.consume),
                (10, self.produce),
                (4, self.find),
                (1, self.look),
            ]
        )

    # -- members

    def enter(self) -> list[Step]:
        """The member joins, and fetches its assignment."""
        self._is_member = True
        who = self._member
        joins = [who.join(0, "none", who.instances[0])]
        if who.instances[0] is None:
            # with version 4 a member without an id gets one first, and joins with it
            joins = [replace(joins[0], version=9), who.join(0, "own")]
        return self.sent([*joins, who.sync(0)])

    def leave_or_enter(self) -> list[Step]:
        """The member leaves, or a new one comes."""
        if not self._is_member:
            return self.enter()
        self._is_member = False
        instance = self._member.instances[0]
        leave = self.step(
            "LeaveGroup", group=self._member.group, members=(("own", instance),), first=3
        )
        return self.sent([leave, *(self._member.delete_group() if self.chance(0.3) else [])])

    def membership(self) -> list[Step]:
        """One request of a member, or about its group."""
        who = self._member
        steps = self.choose(
            [
                (4, who.one_heartbeat),
                (4, who.commit),
                (4, who.fetch_offsets),
                (2, who.describe),
                (1, who.delete_offsets),
            ]
        )
        return self.sent(steps)

    def consume(self) -> list[Step]:
        """What the member of a consumer group does (KIP-848)."""
        who = self._consumer
        describe = self.step("ConsumerGroupDescribe", groups=(who.group,))
        return self.sent(
            self.choose(
                [
                    (3, who.enter),
                    (5, who.rounds),
                    (2, who.one_heartbeat),
                    (1, who.leave),
                    (2, lambda: [describe]),
                ]
            )
        )

    # -- producers

    def produce(self) -> list[Step]:
        """What a producer does."""
        who = self._producers
        return self.sent(
            self.choose(
                [
                    (6, who.transaction),
                    (4, who.add_partitions),
                    (4, who.one_produce),
                    (3, who.add_offsets),
                    (3, who.commit_offsets),
                    (4, who.one_end),
                    (2, who.one_init),
                    (1, who.marker),
                    (3, who.describe),
                ]
            )
        )

    # -- both

    def find(self) -> list[Step]:
        """One FindCoordinator."""
        keys = tuple(self.sampled(("g0", "g1", "t0", "t1", ""), 3))
        several = len(keys) > 1
        return [
            self.step(
                "FindCoordinator",
                **({"first": 4} if several else {"first": 1}),
                at=self.source.choice(NODE_IDS),
                keys=keys,
                type=self.source.choice((0, 1, 0, 1, 3)),
            )
        ]

    def look(self) -> list[Step]:
        """All that the brokers say."""
        return [Step("Look")]

    def sent(self, steps: list[Step]) -> list[Step]:
        """Say where requests go; some go to another broker first."""
        found = []
        for step in steps:
            at = _addressee(step, self.source)
            found.append(_to(step, at))
            if self.chance(_ASTRAY) and not isinstance(at, int):
                role, *rest = at
                astray: Any = ("follower" if role == "leader" else "elsewhere", *rest, 0)
                found.insert(len(found) - 1, _to(step, astray))
        return found


def _addressee(step: Step, source: random.Random) -> Any:
    if step.api in _ANYWHERE:
        return source.choice(NODE_IDS)
    if step.api in _AT_LEADER:
        index = step.args.get("partition", step.args.get("partitions", (0,)))
        index = index if isinstance(index, int) else index[0]
        return "leader", step.args["topic"], index
    if step.api in _TRANSACTIONAL:
        names = step.args.get("ids", (step.args.get("id"),))
        return ("coordinator", TRANSACTIONAL_ID, names[0]) if names[0] else 1
    groups = step.args.get("groups")
    return "coordinator", GROUP, groups[0] if groups else step.args["group"]


def _to(step: Step, at: Any) -> Step:
    return replace(step, args={**step.args, "at": at})
