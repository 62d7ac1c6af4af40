"""Clients of both protocols come, go, crash and change sides at random (G-106 to G-111).

No partition ever has two owners, the log gives back the group of every moment, and once nothing
changes any more, all partitions are owned, whatever kind of group it is by then.
"""

from itertools import count

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from broker_lite.coordinator.classic.group import ClassicGroup
from broker_lite.coordinator.classic.member import ClassicGroupState
from broker_lite.coordinator.consumer.group import ConsumerGroup
from tests.coordinator.held import added_up
from tests.coordinator.migration.migration_driver import (
    REBALANCE_MS,
    SESSION_MS,
    ClassicClient,
    Client,
    ConsumerClient,
    Coordinator,
    settle,
)

TOPICS = st.sampled_from([("t",), ("t", "u")])
PICKS = st.integers(0, 5)
CLIENTS_MAX = 5


class MigrationMachine(RuleBasedStateMachine):
    """One group under clients of both protocols."""

    @initialize(delay_ms=st.sampled_from([0, 3_000]))
    def start(self, delay_ms: int) -> None:
        self.broker = Coordinator(initial_rebalance_delay_ms=delay_ms)
        self.clients: list[Client] = []
        self.names = count(1)
        self.silent_ms = 0

    @precondition(lambda self: len(self.clients) < CLIENTS_MAX)
    @rule(topics=TOPICS, cooperative=st.booleans(), static=st.booleans())
    def classic_client_starts(
        self, topics: tuple[str, ...], *, cooperative: bool, static: bool
    ) -> None:
        instance_id = f"i{next(self.names)}" if static else None
        client = ClassicClient(self.broker, topics, instance_id, is_cooperative=cooperative)
        self.clients.append(client)
        client.step()

    @precondition(lambda self: len(self.clients) < CLIENTS_MAX)
    @rule(topics=TOPICS, static=st.booleans())
    def consumer_client_starts(self, topics: tuple[str, ...], *, static: bool) -> None:
        number = next(self.names)
        instance_id = f"i{number}" if static else None
        client = ConsumerClient(self.broker, f"m{number}", topics, instance_id)
        self.clients.append(client)
        client.step()

    @precondition(lambda self: self.clients)
    @rule(pick=PICKS)
    def client_goes_on(self, pick: int) -> None:
        self.clients[pick % len(self.clients)].step()

    @rule(rounds=st.integers(1, 4))
    def all_go_on(self, rounds: int) -> None:
        self.silent_ms = 0
        for _ in range(rounds):
            for client in self.clients:
                client.step()

    @precondition(lambda self: self.clients)
    @rule(pick=PICKS)
    def client_leaves(self, pick: int) -> None:
        self.clients.pop(pick % len(self.clients)).leave()

    @precondition(lambda self: self.clients)
    @rule(pick=PICKS)
    def client_crashes(self, pick: int) -> None:
        del self.clients[pick % len(self.clients)]

    @precondition(lambda self: any(client.instance_id for client in self.clients))
    @rule(pick=PICKS, topics=TOPICS)
    def static_client_changes_sides(self, pick: int, topics: tuple[str, ...]) -> None:
        """It is stopped, and started again with the other protocol."""
        static = [client for client in self.clients if client.instance_id]
        old = static[pick % len(static)]
        self.clients.remove(old)
        new: Client
        if isinstance(old, ConsumerClient):
            new = ClassicClient(self.broker, topics, old.instance_id)
        else:
            name = f"m{next(self.names)}"
            new = ConsumerClient(self.broker, name, topics, old.instance_id)
        self.clients.append(new)
        new.step()

    @rule(duration_ms=st.sampled_from([100, 3_000, 9_000, 11_000, 50_000]))
    def time_passes(self, duration_ms: int) -> None:
        """Clients are held up; they read what comes in, and give up what they may have lost."""
        silent_ms = 0
        while silent_ms < duration_ms:
            elapsed_ms = min(3_000, duration_ms - silent_ms)
            self.broker.advance(elapsed_ms)
            silent_ms += elapsed_ms
            self.silent_ms += elapsed_ms
            for client in self.clients:
                if isinstance(client, ClassicClient):
                    client.read_answers()
                    if self.silent_ms > SESSION_MS - 4_000:
                        client.owned.clear()
                        client.has_to_join = True
                elif self.silent_ms > REBALANCE_MS - 4_000:
                    client.owned.clear()

    @invariant()
    def no_partition_has_two_owners(self) -> None:
        owned = [partition for client in self.clients for partition in client.owned]
        assert len(owned) == len(set(owned))

    @invariant()
    def log_gives_the_group(self) -> None:
        if not self.broker.has_group:
            assert not self.broker.log or not self.broker.reader().registry.groups
            return
        group = self.broker.group
        if not self.broker.log:
            return
        loaded = self.broker.replayed()
        assert type(loaded) is type(group)
        if isinstance(group, ConsumerGroup):
            assert isinstance(loaded, ConsumerGroup)
            for name in ("targets", "group_epoch", "target_epoch"):
                assert getattr(loaded, name) == getattr(group, name)
            assert loaded.roster.members == group.roster.members
            assert loaded.roster.static_members == group.roster.static_members
        elif group.state is ClassicGroupState.STABLE:
            assert isinstance(loaded, ClassicGroup)
            assert list(loaded.roster.members) == list(group.roster.members)
            assert loaded.rebalance.generation == group.rebalance.generation
            assert loaded.roster.leader == group.roster.leader

    @invariant()
    def timers_belong_to_members(self) -> None:
        if not self.broker.has_group:
            return
        group = self.broker.group
        if isinstance(group, ClassicGroup):
            known = {*group.roster.members, *group.roster.pending_members, ""}
        else:
            known = set(group.roster.members)
        timers = self.broker.coordinator.registry.timers
        assert {member_id for _, _, member_id in timers} <= known

    @invariant()
    def what_members_hold_is_counted(self) -> None:
        registry = self.broker.coordinator.registry
        assert registry.held.count == added_up(registry)

    def teardown(self) -> None:
        if not getattr(self, "clients", None):
            return
        # those who crashed are put out, the others may be, too
        for _ in range(80):
            for client in self.clients:
                client.step()
            self.broker.advance(2_000)
        settle(*self.clients)


MigrationMachine.TestCase.settings = settings(
    max_examples=20,
    stateful_step_count=25,
    deadline=None,
    derandomize=True,
    suppress_health_check=list(HealthCheck),
)
TestMigration = MigrationMachine.TestCase
