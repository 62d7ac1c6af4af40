"""The classic group protocol, with the range assignor.

The responses to JoinGroup and SyncGroup wait for all other members, so each poll checks whether
they have arrived. The member that becomes the leader assigns the partitions of all members.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Final, TypeVar

from broker_lite.client.broker_connection import Connection
from broker_lite.client.consuming.group_member import (
    LOST_MEMBERSHIP,
    NO_GENERATION,
    REBALANCE_TIMEOUT_MS,
    Membership,
)
from broker_lite.client.errors import check
from broker_lite.client.topic_partitions import Topic, find_topics
from broker_lite.coordinator.assignors.assignor import AssignorMember
from broker_lite.coordinator.assignors.range import assign_range
from broker_lite.coordinator.embedded_protocol import (
    PROTOCOL_TYPE,
    parse_assignment,
    parse_subscription,
    serialize_assignment,
    serialize_subscription,
)
from broker_lite.errors import ErrorCode
from broker_lite.wire import messages

_ASSIGNOR: Final = "range"
_PROTOCOL_VERSION: Final = 0
_HEARTBEAT_INTERVAL_S: Final = 3.0
_FIRST_WITH_MEMBERS: Final = 3  # of LeaveGroup
_Answer = TypeVar("_Answer", bound="messages.Message")


class ClassicProtocol:
    """Keeps a member in a group whose leader assigns the partitions."""

    def __init__(self, membership: Membership) -> None:
        """Keep the membership; step() joins."""
        self._me = membership
        self._heartbeat_at_s = 0.0
        self._joined = False
        self._waiting: tuple[Connection, Callable[[], None]] | None = None

    def subscription_changed(self, before: Mapping[str, Topic]) -> None:
        """Rejoin if topics or partition counts have changed."""
        if _counts(before) != _counts(self._me.topics):
            self._joined = False

    def step(self, wait_s: float) -> None:
        """Continue joining, or send a heartbeat if one is due."""
        if self._waiting is None and not self._joined:
            self._rejoin()
        while self._waiting is not None:
            connection, take = self._waiting
            if not connection.has_arrived(wait_s):
                return
            self._waiting = None
            take()
        if self._joined and time.monotonic() >= self._heartbeat_at_s:
            self._heartbeat()

    def _rejoin(self) -> None:
        """Release all partitions, as every member does, and join again."""
        self._me.commit()  # the next owner of a partition continues from there
        self._me.assign(frozenset())
        self._joined = True
        self._send_join()

    def _send_join(self) -> None:
        make = messages.JoinGroupRequest
        subscription = messages.ConsumerProtocolSubscription(topics=sorted(self._me.topics))
        metadata = serialize_subscription(subscription, _PROTOCOL_VERSION)
        self._ask(
            make(
                group_id=self._me.group,
                session_timeout_ms=self._me.session_timeout_ms,
                rebalance_timeout_ms=REBALANCE_TIMEOUT_MS,
                member_id=self._me.member_id,
                group_instance_id=self._me.instance_id,
                protocol_type=PROTOCOL_TYPE,
                protocols=[make.JoinGroupRequestProtocol(name=_ASSIGNOR, metadata=metadata)],
            ),
            messages.JoinGroupResponse,
            self._take_join,
        )

    def _ask(
        self,
        value: messages.Request[_Answer],
        response: type[_Answer],
        take: Callable[[_Answer], None],
    ) -> None:
        connection = self._me.connection()
        connection.send(value)
        self._waiting = (connection, lambda: take(connection.receive(response)))

    def _take_join(self, answer: messages.JoinGroupResponse) -> None:
        if answer.error_code == ErrorCode.MEMBER_ID_REQUIRED:
            self._me.member_id = answer.member_id
            self._send_join()
            return
        if self._must_rejoin(answer.error_code):
            return
        self._me.member_id, self._me.generation = answer.member_id, answer.generation_id
        shares = self._share_out(answer.members) if answer.leader == self._me.member_id else {}
        make = messages.SyncGroupRequest
        self._ask(
            make(
                group_id=self._me.group,
                generation_id=self._me.generation,
                member_id=self._me.member_id,
                group_instance_id=self._me.instance_id,
                protocol_type=PROTOCOL_TYPE,
                protocol_name=_ASSIGNOR,
                assignments=[
                    make.SyncGroupRequestAssignment(member_id=member_id, assignment=share)
                    for member_id, share in shares.items()
                ],
            ),
            messages.SyncGroupResponse,
            self._take_sync,
        )

    def _share_out(
        self, members: list[messages.JoinGroupResponse.JoinGroupResponseMember]
    ) -> dict[str, bytes]:
        """Assign partitions to every member, with the broker's own range assignor."""
        wanted = {
            each.member_id: parse_subscription(bytes(each.metadata)).topics for each in members
        }
        topics = find_topics(self._me.client, {name for names in wanted.values() for name in names})
        assignment = assign_range(
            [
                AssignorMember(
                    member_id=each.member_id,
                    instance_id=each.group_instance_id,
                    topic_ids=frozenset(
                        name.encode() for name in wanted[each.member_id] if name in topics
                    ),
                    target={},
                )
                for each in members
            ],
            {name.encode(): topic.partition_count for name, topic in topics.items()},
        )
        return {
            member_id: serialize_assignment(
                {name.decode(): sorted(numbers) for name, numbers in target.items()},
                _PROTOCOL_VERSION,
            )
            for member_id, target in assignment.items()
        }

    def _take_sync(self, answer: messages.SyncGroupResponse) -> None:
        if self._must_rejoin(answer.error_code):
            return
        partitions = parse_assignment(bytes(answer.assignment))[0] if answer.assignment else {}
        self._heartbeat_at_s = time.monotonic() + _HEARTBEAT_INTERVAL_S
        self._me.assign(
            frozenset((name, number) for name, numbers in partitions.items() for number in numbers)
        )

    def _heartbeat(self) -> None:
        self._heartbeat_at_s = time.monotonic() + _HEARTBEAT_INTERVAL_S
        answer = self._me.connection().request(
            messages.HeartbeatRequest(
                group_id=self._me.group,
                generation_id=self._me.generation,
                member_id=self._me.member_id,
                group_instance_id=self._me.instance_id,
            )
        )
        self._must_rejoin(answer.error_code)

    def _must_rejoin(self, code: int) -> bool:
        """Tell whether the member must rejoin; a member that the group forgot owns nothing."""
        if code == ErrorCode.NONE:
            return False
        if code in LOST_MEMBERSHIP:
            self._me.generation = NO_GENERATION
            self._me.member_id = "" if code == ErrorCode.UNKNOWN_MEMBER_ID else self._me.member_id
            self._me.assign(frozenset())
        elif code != ErrorCode.REBALANCE_IN_PROGRESS:
            self._joined = False
            check(f"group {self._me.group}", code)
        self._joined = False
        return True

    def leave(self) -> None:
        """Leave the group."""
        if self._me.instance_id is not None:
            return  # a static member keeps its place until the session times out
        connection = self._me.connection()
        request = messages.LeaveGroupRequest
        if connection.version_of(request) < _FIRST_WITH_MEMBERS:
            value = request(group_id=self._me.group, member_id=self._me.member_id)
        else:
            member = request.MemberIdentity(member_id=self._me.member_id)
            value = request(group_id=self._me.group, members=[member])
        connection.request(value)

    def reader(self) -> tuple[str | None, int]:
        """Return no member: anybody may ask for committed offsets."""
        return None, NO_GENERATION


def _counts(topics: Mapping[str, Topic]) -> dict[str, int]:
    return {name: topic.partition_count for name, topic in topics.items()}
