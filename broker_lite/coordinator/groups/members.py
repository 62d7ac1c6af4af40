"""Requests of members, each passed to its group.

This module makes the checks that need no group, and finds the group. If the group does not exist,
it is created for a member that joins without a member id. If it is empty and of the other protocol,
it is replaced. A group can have members of both protocols; it is a consumer group then (G-106 to
G-111).

A difference to Kafka: a JoinGroup with a member id drops an empty group of a newer kind that has no
offsets, and is refused (25). Kafka writes no tombstones then, so that the group is back after the
next load. Here it stays away.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Final

from broker_lite.coordinator.classic import join as classic_join
from broker_lite.coordinator.classic import phases as classic_phases
from broker_lite.coordinator.classic import requests as classic_requests
from broker_lite.coordinator.classic.answers import (
    answer_heartbeat,
    check_join,
    check_join_texts,
    check_sync,
    refuse_join,
    refuse_leave,
    refuse_sync,
)
from broker_lite.coordinator.classic.group import ClassicGroup
from broker_lite.coordinator.consumer import heartbeat as consumer_heartbeat
from broker_lite.coordinator.consumer import leave as consumer_leave
from broker_lite.coordinator.consumer.checks import check_heartbeat, check_heartbeat_texts
from broker_lite.coordinator.consumer.group import ConsumerGroup
from broker_lite.coordinator.consumer.member import LEAVE_EPOCH, STATIC_LEAVE_EPOCH
from broker_lite.coordinator.consumer.regexes import prepare_regexes
from broker_lite.coordinator.effects import Caller, Effects
from broker_lite.coordinator.groups.first_member import admit_first
from broker_lite.coordinator.migration import join as migration_join
from broker_lite.coordinator.migration import requests as migration_requests
from broker_lite.coordinator.migration.upgrade import check_upgrade, fill_from_classic
from broker_lite.coordinator.registry import GroupEffects, GroupRegistry, is_empty
from broker_lite.coordinator.share import heartbeat as share_heartbeat
from broker_lite.coordinator.share.group import ShareGroup
from broker_lite.coordinator.share.member import LEAVE_EPOCH as SHARE_LEAVE_EPOCH
from broker_lite.coordinator.streams import leave as streams_leave
from broker_lite.coordinator.streams.group import StreamsGroup
from broker_lite.coordinator.subscriptions import Prepared
from broker_lite.coordinator.texts import cut, is_too_long
from broker_lite.errors import BrokerError, ErrorCode, GroupIdNotFound, NotCoordinator
from broker_lite.wire import messages

_NO_GROUP: Final = "Consumer group {} not found."
_NOTHING_TO_LEAVE: Final = "Group {} not found."
_NO_CONSUMER_GROUP: Final = "Group {} is not a consumer group."
_NO_SHARE_GROUP: Final = "Group {} is not a share group."
_NO_GROUP_TO_SHARE: Final = "Share group {} not found."


class GroupMembers:
    """The requests and timers of members: join, sync, heartbeat, leave."""

    def __init__(self, registry: GroupRegistry) -> None:
        self._registry = registry

    def join(self, request: messages.JoinGroupRequest, caller: Caller, now_ms: int) -> Effects:
        """Handle a JoinGroup.

        Rule: G-36, G-37.
        See: G-35, G-108.
        """
        effects = Effects()
        refusal = check_join(request, caller.version, self._registry.settings)
        if refusal is None:
            refusal = check_join_texts(request, caller)
        if refusal is not None:
            effects.reply(caller.token, refusal)
            return effects
        group = self._registry.find(request.group_id, caller)
        if isinstance(group, ShareGroup) or (
            isinstance(group, StreamsGroup) and not is_empty(group)
        ):
            refuse_join(effects, caller, ErrorCode.INCONSISTENT_GROUP_PROTOCOL)
            return effects
        if isinstance(group, ConsumerGroup | StreamsGroup):
            if isinstance(group, ConsumerGroup) and not is_empty(group):
                classic = migration_join.join(group, request, caller, effects, now_ms)
                if classic is not None:
                    self._registry.add(classic)
                return effects
            # measured: Kafka drops the empty group even if it then refuses the join because of its
            # member id, which hides the group's offsets; here it keeps a group that has offsets
            if not request.member_id or self._registry.offsets.of(request.group_id) is None:
                self._registry.discard(group, effects)
            group = None
        if group is None and is_too_long(request.group_id):
            refuse_join(effects, caller, ErrorCode.INVALID_GROUP_ID, request.member_id)
        elif group is None:
            self._join_new_group(request, caller, effects, now_ms)
        else:
            classic_join.join(group, request, caller, effects, now_ms)
        return effects

    def _join_new_group(
        self, request: messages.JoinGroupRequest, caller: Caller, effects: Effects, now_ms: int
    ) -> None:
        """Create the group for its first member, and write its record.

        Rule: G-37 (GroupMetadataManager.classicGroupJoinToClassicGroup).
        """
        if request.member_id:
            refuse_join(effects, caller, ErrorCode.UNKNOWN_MEMBER_ID, request.member_id)
            return
        group = self._registry.make_classic(request.group_id, now_ms)
        written = len(effects.records)
        classic_join.join(group, request, caller, effects, now_ms)
        if len(effects.records) == written:
            group.write_created(effects)

    def sync(self, request: messages.SyncGroupRequest, caller: Caller, now_ms: int) -> Effects:
        """Handle a SyncGroup.

        See: G-51, G-109.
        """
        effects = Effects()
        error_code = check_sync(request, caller.version)
        if error_code is not None:
            refuse_sync(effects, caller, error_code)
            return effects
        group = self._registry.find(request.group_id, caller)
        if group is None or isinstance(group, ShareGroup | StreamsGroup):
            refuse_sync(effects, caller, ErrorCode.UNKNOWN_MEMBER_ID)
        elif isinstance(group, ConsumerGroup):
            migration_requests.sync(group, request, caller, effects, now_ms)
        else:
            classic_requests.sync(group, request, caller, effects, now_ms)
        return effects

    def heartbeat(self, request: messages.HeartbeatRequest, caller: Caller, now_ms: int) -> Effects:
        """Handle a Heartbeat.

        See: G-54, G-110.
        """
        effects = Effects()
        if not request.group_id:
            answer_heartbeat(effects, caller, ErrorCode.INVALID_GROUP_ID)
            return effects
        group = self._registry.find(request.group_id, caller)
        if group is None or isinstance(group, ShareGroup | StreamsGroup):
            answer_heartbeat(effects, caller, ErrorCode.UNKNOWN_MEMBER_ID)
        elif isinstance(group, ConsumerGroup):
            migration_requests.heartbeat(group, request, caller, effects, now_ms)
        else:
            classic_requests.heartbeat(group, request, caller, effects, now_ms)
        return effects

    def leave(self, request: messages.LeaveGroupRequest, caller: Caller, now_ms: int) -> Effects:
        """Handle a LeaveGroup.

        See: G-55, G-56, G-111.
        """
        effects = Effects()
        group = self._registry.find(request.group_id, caller) if request.group_id else None
        if group is None or isinstance(group, ShareGroup | StreamsGroup):
            refuse_leave(request, effects, caller)
        elif isinstance(group, ConsumerGroup):
            migration_requests.leave(group, request, caller, effects, now_ms)
        else:
            classic_requests.leave(group, request, caller, effects, now_ms)
        return effects

    def consumer_heartbeat(
        self, request: messages.ConsumerGroupHeartbeatRequest, caller: Caller, now_ms: int
    ) -> Effects:
        """Handle a ConsumerGroupHeartbeat.

        Rule: G-80.
        See: G-78.
        """
        effects = Effects()
        registry = self._registry
        try:
            settings = registry.settings_of(request.group_id)
            check_heartbeat(request, caller.version, settings)
            check_heartbeat_texts(request, caller.client_id)
        except BrokerError as error:
            _refuse_consumer(effects, caller, error.code, error.message)
            return effects
        group = registry.find(request.group_id, caller)
        if isinstance(group, ConsumerGroup):
            consumer_heartbeat.handle(group, request, caller, effects, now_ms)
        elif isinstance(group, ShareGroup | StreamsGroup):
            text = _NO_CONSUMER_GROUP.format(request.group_id)
            _refuse_consumer(effects, caller, ErrorCode.GROUP_ID_NOT_FOUND, text)
        elif request.member_epoch == 0 and (group is None or is_empty(group)):
            new = registry.make_consumer(request.group_id)
            admit_first(
                registry,
                new,
                group,
                lambda created: consumer_heartbeat.handle(new, request, caller, created, now_ms),
                effects,
            )
        elif request.member_epoch == 0 and group is not None:
            self._upgrade(group, request, caller, effects, now_ms)
        else:
            reason = _NO_CONSUMER_GROUP
            if group is None:
                leaves = request.member_epoch in (LEAVE_EPOCH, STATIC_LEAVE_EPOCH)
                reason = _NOTHING_TO_LEAVE if leaves else _NO_GROUP
            error_code = ErrorCode.GROUP_ID_NOT_FOUND
            _refuse_consumer(effects, caller, error_code, reason.format(request.group_id))
        return effects

    def share_heartbeat(
        self, request: messages.ShareGroupHeartbeatRequest, caller: Caller, now_ms: int
    ) -> Effects:
        """Handle a ShareGroupHeartbeat.

        A group is created for its first member. Groups of other types are left alone, even if they
        are empty.

        Rule: K-07, G-116 (GroupMetadataManager.getOrMaybeCreatePersistedShareGroup).
        See: G-113.
        """
        effects = Effects()
        registry, group_id = self._registry, request.group_id
        try:
            share_heartbeat.check_heartbeat(request, caller.client_id)
            group = registry.find(group_id, caller)
            if group is not None and not isinstance(group, ShareGroup):
                raise GroupIdNotFound(_NO_SHARE_GROUP.format(group_id))
            if group is None and request.member_epoch != 0:
                leaves = request.member_epoch == SHARE_LEAVE_EPOCH
                text = _NOTHING_TO_LEAVE if leaves else _NO_GROUP_TO_SHARE
                raise GroupIdNotFound(text.format(group_id))
        except NotCoordinator:
            raise
        except BrokerError as error:
            effects.reply(caller.token, share_heartbeat.refusal(error))
            return effects
        if group is None:
            group = registry.make_share(group_id)
        share_heartbeat.handle(group, request, caller, effects, now_ms)
        if group.is_unused:
            registry.remove(group_id)
        return effects

    def prepare_regexes(
        self, request: messages.ConsumerGroupHeartbeatRequest
    ) -> Iterator[tuple[str, Prepared]]:
        """Compile the regular expressions that a ConsumerGroupHeartbeat will match.

        See: G-100.
        """
        registry = self._registry
        new = request.subscribed_topic_regex or ""
        return prepare_regexes(registry.consumer(request.group_id), new, registry.topics)

    @contextmanager
    def with_prepared(
        self, regexes: Mapping[str, Prepared], is_visible: Callable[[str], bool] | None = None
    ) -> Iterator[None]:
        """Let the event in the `with` block use these prepared regular expressions.

        Args:
            regexes: prepared for the event.
            is_visible: tells which topics they may match; None if they may match all.
        """
        topics = self._registry.topics
        topics.prepared, topics.is_visible = regexes, is_visible
        try:
            yield
        finally:
            topics.prepared, topics.is_visible = {}, None

    def _upgrade(
        self,
        old: ClassicGroup,
        request: messages.ConsumerGroupHeartbeatRequest,
        caller: Caller,
        effects: Effects,
        now_ms: int,
    ) -> None:
        """Convert a classic group with members into a consumer group, because a consumer joins.

        If the group cannot be converted, or the new member is refused, nothing changes.

        See: G-106 (GroupMetadataManager.convertToConsumerGroup).
        """
        registry = self._registry
        created = Effects()
        try:
            check_upgrade(old, registry.settings_of(old.group_id))
            group = registry.make_consumer(old.group_id)
            fill_from_classic(group, old, created)
            is_admitted = consumer_heartbeat.handle(group, request, caller, created, now_ms)
        except GroupIdNotFound as error:
            is_admitted = False
            _refuse_consumer(created, caller, error.code, error.message)
        if not is_admitted:
            registry.add(old)
        else:
            old.write_tombstone(effects)
            old.dismiss(ErrorCode.REBALANCE_IN_PROGRESS, effects)
            group.loaded(now_ms)
            effects.records += created.records
            effects.notes += created.notes
        effects.replies += created.replies

    def on_time(self, now_ms: int) -> GroupEffects:
        """Run the timers that are due, and return the effects of each.

        See: G-30 to G-34, G-89.
        """
        registry = self._registry
        happened = []
        while (key := registry.timers.pop_due(now_ms)) is not None:
            group_id, kind, member_id = key
            group = registry.groups.get(group_id)
            if group is not None:
                effects = Effects()
                if isinstance(group, ConsumerGroup):
                    consumer_leave.on_timer(group, kind, member_id, effects, now_ms)
                elif isinstance(group, ShareGroup):
                    share_heartbeat.put_out(group, member_id, effects)
                elif isinstance(group, StreamsGroup):
                    streams_leave.on_timer(group, kind, member_id, effects, now_ms)
                else:
                    classic_phases.on_timer(group, kind, member_id, effects, now_ms)
                happened.append((group_id, effects))
        return happened


def _refuse_consumer(
    effects: Effects, caller: Caller, error_code: ErrorCode, message: str | None
) -> None:
    effects.reply(
        caller.token,
        messages.ConsumerGroupHeartbeatResponse(error_code=error_code, error_message=cut(message)),
    )
