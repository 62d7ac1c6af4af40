"""Any requests in any order: what must hold of a classic group throughout (G-25 to G-57).

Every open request is answered once, every timer belongs to somebody, nobody waits without a timer
that ends it, and the log replayed up to any record gives the group of that moment.
"""

from typing import Any

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from broker_lite.coordinator.classic.group import ClassicGroup
from tests.coordinator.classic.classic_driver import (
    COMPLETING,
    EMPTY,
    PREPARING,
    STABLE,
    Driver,
)

OFFERS = st.sampled_from(
    [
        [("a", b"1")],
        [("a", b"2"), ("b", b"2")],
        [("b", b"3"), ("a", b"3")],
        [("b", b"4"), ("c", b"4")],
    ]
)
VERSIONS = st.sampled_from([0, 3, 4, 8, 9])
INSTANCES = st.sampled_from(["i", "j"])
SESSIONS_MS = st.sampled_from([6_000, 10_000, 45_000])
REBALANCES_MS = st.sampled_from([1_000, 30_000, 60_000])
DURATIONS_MS = st.sampled_from([0, 1, 2_999, 3_000, 5_999, 9_000, 60_000, 300_000])
PICKS = st.integers(0, 9)


def persisted(group: ClassicGroup) -> Any:
    """Return what the group's record has to hold."""
    return (
        group.state is EMPTY,
        group.rebalance.generation,
        group.protocol_type,
        group.protocol_name,
        group.roster.leader,
        [
            (
                member.member_id,
                member.instance_id,
                member.session_timeout_ms,
                member.rebalance_timeout_ms,
                member.metadata(group.protocol_name),
                member.assignment,
            )
            for member in group.roster.members.values()
        ],
    )


class ClassicGroupMachine(RuleBasedStateMachine):
    """One group under all requests."""

    @initialize(delay_ms=st.sampled_from([0, 3_000]), size_max=st.sampled_from([3, 100]))
    def start(self, delay_ms: int, size_max: int) -> None:
        self.driver = Driver(initial_rebalance_delay_ms=delay_ms, classic_size_max=size_max)
        self.written: list[Any] = []

    @property
    def group(self) -> ClassicGroup:
        return self.driver.group

    def note_records(self) -> None:
        """Remember the group of each record; no event writes it twice."""
        assert len(self.driver.records) - len(self.written) in (0, 1)
        if len(self.driver.records) > len(self.written):
            self.written.append(persisted(self.group))

    def some_id(self, pick: int) -> str:
        ids = [*self.group.roster.members, *sorted(self.group.roster.pending_members), "nobody"]
        return ids[pick % len(ids)]

    def instance_of(self, member_id: str) -> str | None:
        member = self.group.roster.members.get(member_id)
        return None if member is None else member.instance_id

    @rule(version=VERSIONS, offer=OFFERS, session_ms=SESSIONS_MS, rebalance_ms=REBALANCES_MS)
    def join_without_id(self, version: int, offer: Any, session_ms: int, rebalance_ms: int) -> None:
        self.driver.join(
            version=version, protocols=offer, session_ms=session_ms, rebalance_ms=rebalance_ms
        )

    @rule(version=st.sampled_from([5, 9]), instance_id=INSTANCES, offer=OFFERS)
    def join_as_static(self, version: int, instance_id: str, offer: Any) -> None:
        self.driver.join(version=version, instance_id=instance_id, protocols=offer)

    @rule(pick=PICKS, offer=OFFERS, session_ms=SESSIONS_MS)
    def join_with_id(self, pick: int, offer: Any, session_ms: int) -> None:
        member_id = self.some_id(pick)
        self.driver.join(
            member_id,
            instance_id=self.instance_of(member_id),
            protocols=offer,
            session_ms=session_ms,
        )

    @precondition(lambda self: self.group.state is PREPARING)
    @rule()
    def everyone_joins(self) -> None:
        for member in list(self.group.roster.members.values()):
            if self.group.state is PREPARING and member.join_token is None:
                self.driver.join(
                    member.member_id, instance_id=member.instance_id, protocols=member.protocols
                )

    @rule(pick=PICKS, others=st.booleans())
    def sync(self, pick: int, *, others: bool) -> None:
        member_id = self.some_id(pick)
        assignments = (
            {member: member.encode() for member in self.group.roster.members} if others else {}
        )
        name = self.group.protocol_name
        self.driver.sync(member_id, assignments, protocol_name=name)

    @precondition(lambda self: self.group.state is COMPLETING)
    @rule()
    def leader_syncs(self) -> None:
        assert self.group.roster.leader is not None
        assignments = {member: member.encode() for member in self.group.roster.members}
        self.driver.sync(
            self.group.roster.leader, assignments, protocol_name=self.group.protocol_name
        )
        assert self.group.state is STABLE

    @rule(pick=PICKS, late=st.booleans())
    def heartbeat(self, pick: int, *, late: bool) -> None:
        self.driver.heartbeat(self.some_id(pick), generation=self.group.rebalance.generation - late)

    @rule()
    def everyone_is_alive(self) -> None:
        for member_id in self.group.roster.members:
            self.driver.heartbeat(member_id)

    @rule(picks=st.lists(PICKS, min_size=1, max_size=3), instance_id=st.none() | INSTANCES)
    def leave(self, picks: list[int], instance_id: str | None) -> None:
        named: list[tuple[str, str | None]] = [(self.some_id(pick), None) for pick in picks]
        if instance_id is not None:
            named.append(("", instance_id))
        self.driver.leave(*named)

    @rule(pick=PICKS)
    def commit(self, pick: int) -> None:
        member_id = self.some_id(pick)
        error_code = self.group.check_commit(
            member_id=member_id,
            instance_id=None,
            generation=self.group.rebalance.generation,
            version=9,
            is_transactional=False,
        )
        if error_code is None:
            self.group.restart_session(member_id, self.driver.now_ms)

    @rule(duration_ms=DURATIONS_MS)
    def time_passes(self, duration_ms: int) -> None:
        driver = self.driver
        end_ms = driver.now_ms + duration_ms
        while (next_ms := driver.timers.next_deadline_ms()) is not None and next_ms <= end_ms:
            driver.advance(max(next_ms - driver.now_ms, 0))
            self.note_last_record()
        driver.advance(end_ms - driver.now_ms)

    def note_last_record(self) -> None:
        """Remember the last record's group; several timers may have run at one moment."""
        while len(self.driver.records) > len(self.written) + 1:
            self.written.append(None)
        self.note_records()

    @invariant()
    def records_are_the_group(self) -> None:
        self.note_records()

    @invariant()
    def open_requests_are_those_that_members_wait_in(self) -> None:
        parked = [
            caller.token
            for member in self.group.roster.members.values()
            for caller in (member.join_token, member.sync_token)
            if caller is not None
        ]
        assert sorted(parked) == sorted(self.driver.open)  # type: ignore[type-var]
        assert self.group.rebalance.joins_parked == sum(
            member.join_token is not None for member in self.group.roster.members.values()
        )

    @invariant()
    def state_and_members_agree(self) -> None:
        group = self.group
        assert group.state in (EMPTY, PREPARING, COMPLETING, STABLE)
        assert (group.roster.leader is None) == (not group.roster.members)
        if group.state is EMPTY:
            assert not group.roster.members
            assert group.protocol_name is None
        elif group.state is not PREPARING:
            assert group.roster.members
            assert group.rebalance.joins_parked == 0
        for member in group.roster.members.values():
            assert member.sync_token is None or group.state is COMPLETING
        assert not group.roster.pending_members & group.roster.members.keys()
        assert group.rebalance.pending_syncs <= group.roster.members.keys()
        assert group.roster.static_members == {
            member.instance_id: member.member_id
            for member in group.roster.members.values()
            if member.instance_id is not None
        }

    @invariant()
    def timers_belong_to_somebody(self) -> None:
        group = self.group
        keys = set(self.driver.timers)
        sessions = {member_id for _, kind, member_id in keys if kind == "session"}
        assert sessions <= group.roster.members.keys() | group.roster.pending_members
        assert group.roster.pending_members <= sessions
        for member in group.roster.members.values():
            waits = member.join_token is not None or member.sync_token is not None
            assert member.member_id in sessions or (waits and not member.is_new)
        assert (("g", "join", "") in keys) == (group.state is PREPARING)
        assert (("g", "sync", "") in keys) == bool(group.rebalance.pending_syncs)

    def teardown(self) -> None:
        if not hasattr(self, "driver"):
            return
        driver = self.driver
        for record, expected in zip(driver.records, self.written, strict=True):
            assert record.value is not None
            loaded = ClassicGroup.from_record(
                "g", record.value, driver.timers, driver.settings, driver.make_uuid
            )
            assert expected is None or persisted(loaded) == expected
        # nobody waits for ever
        driver.advance(10**7)
        assert driver.open == set()
        assert self.group.state is EMPTY
        assert len(driver.timers) == 0


ClassicGroupMachine.TestCase.settings = settings(
    max_examples=60,
    stateful_step_count=40,
    deadline=None,
    derandomize=True,
    suppress_health_check=list(HealthCheck),
)
TestClassicGroup = ClassicGroupMachine.TestCase
