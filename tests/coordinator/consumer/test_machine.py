"""A consumer group under members of all kinds: what must hold after every single event.

Also tests: broker_lite.coordinator.consumer.replay.
"""

from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from broker_lite.coordinator.consumer.group import ConsumerGroup, ConsumerGroupState
from broker_lite.coordinator.consumer.member import MemberState
from broker_lite.coordinator.timers import GroupTimers
from tests.coordinator.consumer.consumer_driver import SESSION_MS, Driver, state_of

NAMES = ("a", "b", "c")
MEMBER_IDS = st.sampled_from(["m1", "m2", "m3", "m4"])
INSTANCES = st.sampled_from(["i1", "i2"])
SUBSCRIPTIONS = st.lists(st.sampled_from(NAMES), max_size=3, unique=True)
REGEXES = st.sampled_from(["", "a|b", "[bc]", "x.*"])
ASSIGNORS = st.sampled_from([None, "uniform", "range"])


class ConsumerGroupMachine(RuleBasedStateMachine):
    """Members join, leave, beat and lie; topics come and go; time passes."""

    def __init__(self) -> None:
        super().__init__()
        self.driver = Driver(a=3, b=2)
        # what members that follow the protocol read right now: they give up at once what an
        # answer does not list, and never take what none gave them
        self.reads: dict[str, dict[bytes, set[int]]] = {}
        self.has_failed = False

    @property
    def group(self) -> ConsumerGroup:
        return self.driver.group

    def heard(self, member_id: str, response: Any) -> None:
        self.driver.heard(member_id, response)
        if response.error_code:
            self.reads.pop(member_id, None)
        elif response.assignment is not None:
            self.reads[member_id] = {
                entry.topic_id: set(entry.partitions)
                for entry in response.assignment.topic_partitions
            }

    @rule(
        member_id=MEMBER_IDS,
        names=SUBSCRIPTIONS,
        regex=REGEXES,
        assignor=ASSIGNORS,
        instance_id=st.one_of(st.none(), INSTANCES),
    )
    def join(
        self,
        member_id: str,
        names: list[str],
        regex: str,
        assignor: str | None,
        instance_id: str | None,
    ) -> None:
        self.reads.pop(member_id, None)  # who joins owns nothing
        response = self.driver.join(
            member_id,
            names,
            subscribed_topic_regex=regex,
            server_assignor=assignor,
            instance_id=instance_id,
        )
        self.heard(member_id, response)

    @rule(member_id=MEMBER_IDS)
    def beat(self, member_id: str) -> None:
        if member_id in self.driver.epochs:
            response = self.driver.beat(member_id)
            self.heard(member_id, response)

    @rule(member_id=MEMBER_IDS)
    def beat_briefly(self, member_id: str) -> None:
        if member_id in self.driver.epochs:
            self.heard(member_id, self.driver.beat(member_id, topic_partitions=None))

    @rule(member_id=MEMBER_IDS)
    def lose_the_answer(self, member_id: str) -> None:
        if member_id in self.driver.epochs:
            self.driver.send(
                member_id=member_id,
                member_epoch=self.driver.epochs[member_id],
                topic_partitions=self.driver.owns(member_id),
            )

    @rule(member_id=MEMBER_IDS, names=SUBSCRIPTIONS)
    def subscribe(self, member_id: str, names: list[str]) -> None:
        if member_id in self.driver.epochs:
            self.heard(member_id, self.driver.beat(member_id, subscribed_topic_names=names))

    @rule(member_id=MEMBER_IDS, epoch=st.integers(-4, 30))
    def lie_about_the_epoch(self, member_id: str, epoch: int) -> None:
        before = state_of(self.group)
        known = self.group.roster.members.get(member_id)
        if known is not None and epoch in (known.member_epoch, known.previous_member_epoch):
            return
        if epoch < 1:
            return
        response = self.driver.send(member_id=member_id, member_epoch=epoch, topic_partitions=[])
        assert response.error_code in (25, 110)
        assert state_of(self.group) == before

    @rule(member_id=MEMBER_IDS)
    def leave(self, member_id: str) -> None:
        self.driver.leave(member_id)
        self.reads.pop(member_id, None)

    @rule(member_id=MEMBER_IDS, instance_id=INSTANCES, epoch=st.sampled_from([-1, -2]))
    def leave_static(self, member_id: str, instance_id: str, epoch: int) -> None:
        response = self.driver.leave(member_id, epoch, instance_id=instance_id)
        if not response.error_code:
            self.reads.pop(member_id, None)

    @rule(milliseconds=st.sampled_from([1, 1_000, 30_000, SESSION_MS]))
    def pass_time(self, milliseconds: int) -> None:
        # a member whose session is over stops to read by itself
        for _, _, member_id in self.driver.advance(milliseconds):
            self.reads.pop(member_id, None)

    @rule(name=st.sampled_from(NAMES), count=st.integers(1, 5))
    def change_topics(self, name: str, count: int) -> None:
        topics = self.driver.topics
        topic = topics.get(name)
        if topic is None:
            topics.make(name, count)
        elif topic.partition_count < count:
            topics.grow(name, count)
        else:
            topics.delete(name)
        self.group.topics_changed([name])

    @rule()
    def restart(self) -> None:
        """The coordinator is read back from its log."""
        self.driver.timers = type(self.driver.timers)()
        group = self.driver.replayed()
        group.timers = GroupTimers(group.group_id, self.driver.timers)
        group.loaded(self.driver.now_ms)
        self.driver.group = group

    @invariant()
    def no_partition_is_owned_twice(self) -> None:
        """G-94: neither in the coordinator's books nor by the members that keep the rules."""
        owners: dict[tuple[bytes, int], str] = {}
        for member in self.group.roster.members.values():
            for assigned in (member.assigned, member.pending_revocation):
                for topic_id, partitions in assigned.items():
                    for partition in partitions:
                        assert owners.setdefault((topic_id, partition), member.member_id) == (
                            member.member_id
                        )
                        assert self.group.roster.owner_of(topic_id, partition) == member.member_id
        readers: dict[tuple[bytes, int], str] = {}
        for member_id, topics in self.reads.items():
            if member_id in self.group.roster.members:
                for topic_id, partitions in topics.items():
                    for partition in partitions:
                        key = (topic_id, partition)
                        assert readers.setdefault(key, member_id) == member_id

    @invariant()
    def only_states_of_kafka(self) -> None:
        """G-77, G-92: what each state means for epochs and partitions."""
        group = self.group
        assert group.state in ConsumerGroupState
        assert (group.state is ConsumerGroupState.EMPTY) == (not group.roster.members)
        assert group.target_epoch <= group.group_epoch
        for member in group.roster.members.values():
            assert member.member_epoch <= group.target_epoch
            if member.state is not MemberState.UNREVOKED_PARTITIONS:
                assert not member.pending_revocation
            elif member.member_epoch >= 0:
                assert member.pending_revocation

    @invariant()
    def timers_belong_to_members(self) -> None:
        """G-89: a session for each member, a rebalance timer for those that owe partitions.

        A static member that has left keeps its state. The timer ends with the leave, and begins
        again when the group is read back, which goes by the state alone, as in Kafka's onLoaded.
        """
        sessions = {key[2] for key in self.driver.timers if key[1] == "session"}
        rebalances = {key[2] for key in self.driver.timers if key[1] == "rebalance"}
        members = self.group.roster.members
        assert sessions == set(members)
        owing = {
            member_id: member
            for member_id, member in members.items()
            if member.state is MemberState.UNREVOKED_PARTITIONS
        }
        here = {member_id for member_id, member in owing.items() if member.member_epoch >= 0}
        assert here <= rebalances <= owing.keys()
        assert {key[1] for key in self.driver.timers} <= {"session", "rebalance"}

    @invariant()
    def the_log_gives_the_state(self) -> None:
        """The state in memory is what replaying the log gives, at every point of it."""
        assert state_of(self.driver.replayed()) == state_of(self.group)

    @invariant()
    def nothing_is_left_of_who_is_gone(self) -> None:
        group = self.group
        assert set(group.targets) <= set(group.roster.members)
        assert set(group.roster.static_members.values()) <= set(group.roster.members)
        subscribed = {member.regex for member in group.roster.members.values()} - {""}
        assert set(group.regexes) == subscribed

    def teardown(self) -> None:
        """Whatever happened, members that keep the rules reach a stable group."""
        for member_id in list(self.group.roster.members):
            member = self.group.roster.members[member_id]
            instance_id = member.instance_id
            if member.member_epoch < 0:
                self.driver.join(member_id, member.topic_names, instance_id=instance_id)
            elif instance_id is None:
                self.driver.join(member_id, member.topic_names)
            else:
                self.driver.epochs[member_id] = member.member_epoch
                self.driver.owned[member_id] = {
                    topic_id: sorted(partitions) for topic_id, partitions in member.assigned.items()
                }
        if self.group.roster.members:
            for member_id in list(self.group.roster.members):  # they see what topics there are now
                self.driver.beat(member_id)
            assert self.driver.settle() <= 6
            assert {
                (topic_id, partition)
                for target in self.group.targets.values()
                for topic_id, partitions in target.items()
                for partition in partitions
            } == {
                (self.driver.topics.id(name), partition)
                for name in self.group.subscribed_topics()
                if (topic := self.driver.topics.get(name)) is not None
                for partition in range(topic.partition_count)
            }


TestConsumerGroupMachine = ConsumerGroupMachine.TestCase
TestConsumerGroupMachine.settings = settings(max_examples=40, stateful_step_count=30, deadline=None)
