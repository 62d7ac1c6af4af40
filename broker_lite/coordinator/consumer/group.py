"""A consumer group (KIP-848): what each request, each timer and each record does to it."""

from collections.abc import Collection

from broker_lite.coordinator.consumer import changes
from broker_lite.coordinator.consumer.core import (
    JOIN_TIMER,
    REBALANCE_TIMER,
    SYNC_TIMER,
    ConsumerGroupCore,
)
from broker_lite.coordinator.consumer.heartbeat import heartbeat, leave
from broker_lite.coordinator.consumer.member import ConsumerMember, MemberState
from broker_lite.coordinator.effects import Caller, Effects
from broker_lite.coordinator.texts import cut
from broker_lite.errors import BrokerError, ErrorCode
from broker_lite.wire import messages

# the first version of OffsetCommit that has a member epoch
_EPOCH_COMMIT_VERSION_MIN = 9


class ConsumerGroup(ConsumerGroupCore):
    """One consumer group.

    A new one is not in the log before its first member is. If that member is refused, whoever made
    the group for it forgets the group again: `is_unwritten` tells.
    """

    def heartbeat(
        self,
        request: messages.ConsumerGroupHeartbeatRequest,
        caller: Caller,
        effects: Effects,
        now_ms: int,
    ) -> bool:
        """Answer a ConsumerGroupHeartbeat that `check_heartbeat` found well-formed.

        Returns:
            False when it is refused; then nothing has changed.

        See: G-79 to G-90.
        """
        try:
            if request.member_epoch < 0:
                response = leave(self, request, effects, now_ms)
            else:
                response = heartbeat(self, request, caller, effects, now_ms)
        except BrokerError as error:
            response = messages.ConsumerGroupHeartbeatResponse(
                error_code=error.code, error_message=cut(error.message)
            )
        effects.reply(caller.token, response)
        return not response.error_code

    def on_timer(self, kind: str, member_id: str, effects: Effects, now_ms: int) -> None:
        """A member's time is over: it is put out.

        Args:
            kind: of the timer.
            member_id: whose it was.
            effects: gets the records.
            now_ms: the time.

        See: G-89.
        """
        member = self.members.get(member_id)
        if member is None:
            return
        if kind == REBALANCE_TIMER and member.state is not MemberState.UNREVOKED_PARTITIONS:
            return
        if kind in (JOIN_TIMER, SYNC_TIMER) and member.classic is None:
            return  # it has changed to the newer protocol since
        self.put_out([member_id], effects, now_ms)

    def topics_changed(self, names: Collection[str]) -> None:
        """Topics were made, deleted or grew: the next heartbeat looks at them again.

        See: G-84 (ModernGroup.requestMetadataRefresh).
        """
        if self.subscribed_regexes or self.has_subscribers_by_name(names):
            self.is_metadata_stale = True
            self.regexes_to_match = None

    def check_commit(
        self,
        *,
        member_id: str,
        instance_id: str | None,
        member_epoch: int,
        version: int,
        is_transactional: bool,
    ) -> ErrorCode | None:
        """The error of an offset commit by a member, None when it is welcome.

        Args:
            member_id: the request's.
            instance_id: the request's; who it belongs to makes no difference here.
            member_epoch: the request's, or its generation.
            version: of the request.
            is_transactional: it is part of a transaction (T-41).

        An epoch that has passed may still do for single partitions, see
        `ConsumerMember.assignment_epoch`.

        Rule: G-63 (ConsumerGroup.validateOffsetCommit).
        """
        if member_epoch < 0 and not self.members:
            return None
        if is_transactional and member_epoch == -1 and not member_id and instance_id is None:
            return None
        member = self.members.get(member_id)
        if member is None:
            return ErrorCode.UNKNOWN_MEMBER_ID
        is_old = version < _EPOCH_COMMIT_VERSION_MIN and not is_transactional
        if is_old and member.classic is None:
            return ErrorCode.UNSUPPORTED_VERSION
        return _epoch_error(member, member_epoch)

    def check_fetch(self, *, member_id: str | None, member_epoch: int) -> ErrorCode | None:
        """The error of an offset fetch by a member, None when it is welcome.

        Rule: G-69 (ConsumerGroup.validateOffsetFetch).
        """
        if member_id is None and member_epoch < 0:
            return None
        member = self.members.get(member_id or "")
        if member is None:
            return ErrorCode.UNKNOWN_MEMBER_ID
        return _epoch_error(member, member_epoch)

    def subscribed_topics(self) -> frozenset[str]:
        """The topics whose offsets are in use.

        See: G-74, G-105.
        """
        return self.subscribed_names

    def delete(self, effects: Effects) -> None:
        """Write that the group is gone.

        See: G-104 (ConsumerGroup.createGroupTombstoneRecords).
        """
        for member_id in self.members:
            self.cancel_timers(member_id)
        changes.drop_group(self, effects)

    def loaded(self, now_ms: int) -> None:
        """The log was read to its end: sessions and rebalance timeouts start anew.

        See: G-89 (GroupMetadataManager.onLoaded).
        """
        for member in self.members.values():
            self.start_session(member, now_ms)
            self.follow_revocation(member, now_ms)

    def unload(self) -> None:
        """Stop all timers: the group is about to be forgotten."""
        for member_id in self.members:
            self.cancel_timers(member_id)


def _epoch_error(member: ConsumerMember, epoch: int) -> ErrorCode | None:
    if epoch == member.member_epoch:
        return None
    if member.classic is not None:
        return ErrorCode.ILLEGAL_GENERATION
    return ErrorCode.STALE_MEMBER_EPOCH
