"""Drives one classic group by hand: requests in, answers by token, time in steps."""

from collections.abc import Sequence
from itertools import count
from typing import Any

from broker_lite.coordinator.classic import requests
from broker_lite.coordinator.classic.answers import check_join
from broker_lite.coordinator.classic.group import ClassicGroup
from broker_lite.coordinator.classic.join import join
from broker_lite.coordinator.classic.member import ClassicGroupState, Protocol
from broker_lite.coordinator.classic.phases import on_timer
from broker_lite.coordinator.effects import Caller, Effects, StateRecord
from broker_lite.coordinator.group_settings import GroupSettings
from broker_lite.coordinator.timers import Timers
from broker_lite.errors import ErrorCode
from broker_lite.wire import messages

EMPTY = ClassicGroupState.EMPTY
PREPARING = ClassicGroupState.PREPARING_REBALANCE
COMPLETING = ClassicGroupState.COMPLETING_REBALANCE
STABLE = ClassicGroupState.STABLE

START_MS = 1_000_000
SESSION_MS = 10_000
REBALANCE_MS = 60_000
RANGE: tuple[Protocol, ...] = (("range", b"r"),)


class Driver:
    """A group `g` with its timers; every answer is kept under the token of its request."""

    def __init__(self, **settings: Any) -> None:
        self.settings = GroupSettings(**settings)
        self.timers: Timers[tuple[str, str, str]] = Timers()
        self.now_ms = START_MS
        self.uuids = count(1)
        self.tokens = count(1)
        self.answers: dict[object, Any] = {}
        self.open: set[object] = set()
        self.records: list[StateRecord] = []
        self.group = ClassicGroup("g", self.timers, self.settings, self.make_uuid, self.now_ms)

    def make_uuid(self) -> str:
        return f"u{next(self.uuids)}"

    def caller(self, version: int, client_id: str = "c") -> Caller:
        token = next(self.tokens)
        self.open.add(token)
        return Caller(version, client_id, "/127.0.0.1", token)

    def take(self, effects: Effects) -> None:
        self.records += effects.records
        for token, response in effects.replies:
            self.open.remove(token)  # answered once, and only what was asked
            self.answers[token] = response

    def join(
        self,
        member_id: str = "",
        *,
        instance_id: str | None = None,
        version: int = 9,
        protocols: Sequence[Protocol] = RANGE,
        protocol_type: str = "consumer",
        session_ms: int = SESSION_MS,
        rebalance_ms: int = REBALANCE_MS,
        client_id: str = "c",
    ) -> Any:
        """Send a JoinGroup; return its answer, or its token as long as it waits."""
        make_protocol = messages.JoinGroupRequest.JoinGroupRequestProtocol
        request = messages.JoinGroupRequest(
            group_id="g",
            session_timeout_ms=session_ms,
            rebalance_timeout_ms=rebalance_ms if version else -1,
            member_id=member_id,
            group_instance_id=instance_id,
            protocol_type=protocol_type,
            protocols=[make_protocol(name=name, metadata=data) for name, data in protocols],
        )
        assert check_join(request, version, self.settings) is None
        caller = self.caller(version, client_id)
        effects = Effects()
        join(self.group, request, caller, effects, self.now_ms)
        return self.answered(caller, effects)

    def enter(self, **join: Any) -> tuple[str, Any]:
        """Join as a new dynamic member does since v4; return its id and what `join` returns."""
        refused = self.join(**join)
        assert refused.error_code == ErrorCode.MEMBER_ID_REQUIRED
        return refused.member_id, self.join(refused.member_id, **join)

    def sync(
        self,
        member_id: str,
        assignments: dict[str, bytes] | None = None,
        *,
        generation: int | None = None,
        instance_id: str | None = None,
        protocol_type: str | None = "consumer",
        protocol_name: str | None = "range",
        version: int = 5,
    ) -> Any:
        """Send a SyncGroup; return its answer, or its token as long as it waits."""
        make_assignment = messages.SyncGroupRequest.SyncGroupRequestAssignment
        request = messages.SyncGroupRequest(
            group_id="g",
            generation_id=self.group.rebalance.generation if generation is None else generation,
            member_id=member_id,
            group_instance_id=instance_id,
            protocol_type=protocol_type,
            protocol_name=protocol_name,
            assignments=[
                make_assignment(member_id=other, assignment=assignment)
                for other, assignment in (assignments or {}).items()
            ],
        )
        caller = self.caller(version)
        effects = Effects()
        requests.sync(self.group, request, caller, effects, self.now_ms)
        return self.answered(caller, effects)

    def heartbeat(
        self, member_id: str, *, generation: int | None = None, instance_id: str | None = None
    ) -> ErrorCode:
        request = messages.HeartbeatRequest(
            group_id="g",
            generation_id=self.group.rebalance.generation if generation is None else generation,
            member_id=member_id,
            group_instance_id=instance_id,
        )
        caller = self.caller(4)
        effects = Effects()
        requests.heartbeat(self.group, request, caller, effects, self.now_ms)
        return ErrorCode(self.answered(caller, effects).error_code)

    def leave(self, *identities: tuple[str, str | None], version: int = 5) -> Any:
        """Send a LeaveGroup; return the members' results, before v3 the error code."""
        request = messages.LeaveGroupRequest(group_id="g")
        if version < 3:
            request.member_id = identities[0][0]
        else:
            make_member = messages.LeaveGroupRequest.MemberIdentity
            request.members = [
                make_member(member_id=member, group_instance_id=instance)
                for member, instance in identities
            ]
        caller = self.caller(version)
        effects = Effects()
        requests.leave(self.group, request, caller, effects, self.now_ms)
        response = self.answered(caller, effects)
        if version < 3:
            return ErrorCode(response.error_code)
        return [
            (member.member_id, member.group_instance_id, ErrorCode(member.error_code))
            for member in response.members
        ]

    def answered(self, caller: Caller, effects: Effects) -> Any:
        self.take(effects)
        return self.answers.get(caller.token, caller.token)

    def advance(self, duration_ms: int) -> None:
        """Let time pass; every timer runs at its moment."""
        end_ms = self.now_ms + duration_ms
        while (deadline_ms := self.timers.next_deadline_ms()) is not None and deadline_ms <= end_ms:
            self.now_ms = max(self.now_ms, deadline_ms)
            key = self.timers.pop_due(self.now_ms)
            assert key is not None
            effects = Effects()
            on_timer(self.group, key[1], key[2], effects, self.now_ms)
            self.take(effects)
        self.now_ms = end_ms

    def deadline_in_ms(self, kind: str, member_id: str = "") -> int | None:
        deadline_ms = self.timers.deadline_ms(("g", kind, member_id))
        return None if deadline_ms is None else deadline_ms - self.now_ms

    def reload(self) -> ClassicGroup:
        """Return the group that its last record holds."""
        value = self.records[-1].value
        assert value is not None
        return ClassicGroup.from_record("g", value, self.timers, self.settings, self.make_uuid)


def stable(size: int = 2, **settings: Any) -> tuple[Driver, list[str]]:
    """Return a stable group of some dynamic members; the first leads, each is assigned its id."""
    driver = Driver(**settings)
    members: list[str] = []
    for number in range(size):
        member_id, _ = driver.enter(client_id=f"c{number}")
        for other in members:
            driver.join(other)
        members.append(member_id)
    assign(driver)
    return driver, members


def assign(driver: Driver) -> None:
    """Bring a group from CompletingRebalance to Stable."""
    group = driver.group
    assert group.state is COMPLETING
    assert group.roster.leader is not None
    name = group.protocol_name
    followers = [member for member in group.roster.members if member != group.roster.leader]
    for member in followers:
        driver.sync(member, protocol_name=name)
    assignments = {member: member.encode() for member in group.roster.members}
    driver.sync(group.roster.leader, assignments, protocol_name=name)
    assert group.state is STABLE
