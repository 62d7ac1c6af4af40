"""Moves a classic group from one phase of a rebalance to the next, by members and by timers.

Members that do not join or sync in time are removed.
"""

from collections.abc import Mapping
from typing import Final

from broker_lite.coordinator.classic.answers import refuse_sync
from broker_lite.coordinator.classic.group import ClassicGroup
from broker_lite.coordinator.classic.member import ClassicGroupState, ClassicMember
from broker_lite.coordinator.effects import Caller, Effects
from broker_lite.coordinator.group_history import shown
from broker_lite.coordinator.timers import JOIN, SESSION
from broker_lite.errors import ErrorCode

# The shortest time after which a group checks again for missing members, even if their timeouts
# are shorter.
_WAIT_AGAIN_MS_MIN: Final = 100

_EMPTY: Final = ClassicGroupState.EMPTY
_PREPARING: Final = ClassicGroupState.PREPARING_REBALANCE
_COMPLETING: Final = ClassicGroupState.COMPLETING_REBALANCE
_STABLE: Final = ClassicGroupState.STABLE

# the join phase


def add_member(
    group: ClassicGroup, member: ClassicMember, caller: Caller, effects: Effects, now_ms: int
) -> None:
    """Add a new member, whose first JoinGroup waits.

    Rule: G-31, G-43 (GroupMetadataManager.addMemberThenRebalanceOrCompleteJoin).
    """
    rebalance = group.rebalance
    member.is_new = True
    rebalance.note_new_member()
    group.roster.add(member)
    rebalance.park_join(member, caller)
    deadline_ms = now_ms + group.settings.new_member_join_timeout_ms
    rebalance.start_session(member.member_id, deadline_ms)
    rebalance_or_complete(group, effects, now_ms, f"member {shown(member.member_id)} joined")


def rebalance_or_complete(group: ClassicGroup, effects: Effects, now_ms: int, why: str) -> None:
    """Start a rebalance after a change, or complete the current one if everyone has joined.

    Args:
        group: the group.
        effects: of the event.
        now_ms: the time.
        why: the change, for people.
    """
    if group.state is _PREPARING:
        effects.note(group.group_id, group.rebalance.generation, why)
        complete_if_all_joined(group, effects, now_ms)
    else:
        prepare_rebalance(group, effects, now_ms, why)


def complete_if_all_joined(group: ClassicGroup, effects: Effects, now_ms: int) -> None:
    """Complete the join phase if no member is missing, but never before the initial delay is over.

    Rule: G-43 (GroupMetadataManager.maybeCompleteJoinPhase).
    """
    rebalance = group.rebalance
    if group.state is _PREPARING and not rebalance.is_initial and rebalance.everyone_joined:
        _complete_join(group, effects, now_ms)


def prepare_rebalance(group: ClassicGroup, effects: Effects, now_ms: int, why: str) -> None:
    """Start a rebalance from Empty, CompletingRebalance or Stable.

    Args:
        group: the group.
        effects: of the event.
        now_ms: the time.
        why: the reason, for people.

    Rule: G-33, G-44 (GroupMetadataManager.prepareRebalance).
    """
    roster, rebalance = group.roster, group.rebalance
    effects.note(group.group_id, rebalance.generation, f"a rebalance begins: {why}")
    if group.state is _COMPLETING:
        for member in roster.members.values():
            roster.set_assignment(member, b"")
        _end_syncs(group, ErrorCode.REBALANCE_IN_PROGRESS, effects, now_ms)
    rebalance.begin(now_ms)
    if rebalance.is_initial:
        _start_delay(group, effects, now_ms)
    elif rebalance.everyone_joined:
        _complete_join(group, effects, now_ms)
    else:
        rebalance.set_join_timer(now_ms + roster.rebalance_timeout_ms)


def _start_delay(group: ClassicGroup, effects: Effects, now_ms: int) -> None:
    delay_ms = group.settings.initial_rebalance_delay_ms
    group.rebalance.begin_delay(delay_ms)
    if delay_ms > 0:
        group.rebalance.set_join_timer(now_ms + delay_ms)
    else:
        _complete_join(group, effects, now_ms)


def _join_is_due(group: ClassicGroup, effects: Effects, now_ms: int) -> None:
    """Handle the end of the join timer: wait for more members, or go on without the missing ones.

    Rule: G-44 (GroupMetadataManager.tryCompleteInitialRebalanceElseSchedule).
    """
    delay_ms = group.rebalance.prolong_delay(group.settings.initial_rebalance_delay_ms)
    if delay_ms:
        group.rebalance.set_join_timer(now_ms + delay_ms)
    else:
        _complete_join(group, effects, now_ms)


def _complete_join(group: ClassicGroup, effects: Effects, now_ms: int) -> None:
    """End the join phase with the members that have joined.

    Rule: G-45 (GroupMetadataManager.completeClassicGroupJoin).
    """
    roster, rebalance = group.roster, group.rebalance
    rebalance.cancel_join_timer()
    missing = rebalance.missing_members()
    if missing:
        # one note for all: there may be thousands
        more = "" if len(missing) == 1 else f" and {len(missing) - 1} more"
        what = f"member {shown(missing[0])}{more} did not join again in time"
        effects.note(group.group_id, rebalance.generation, what)
    for member_id in missing:
        group.drop_member(member_id, effects)
    if not rebalance.elect_joined_leader() and roster.members:
        wait_ms = max(roster.rebalance_timeout_ms, _WAIT_AGAIN_MS_MIN)
        rebalance.set_join_timer(now_ms + wait_ms)
        return
    rebalance.generation += 1
    group.choose_protocol()
    if not roster.members:
        rebalance.change_state(_EMPTY, now_ms)
        effects.note(group.group_id, rebalance.generation, "no member is left")
        group.write(effects)
        return
    rebalance.change_state(_COMPLETING, now_ms)
    what = f"{len(roster.members)} members have joined; the leader assigns"
    effects.note(group.group_id, rebalance.generation, what)
    for member in roster.members.values():
        if (caller := rebalance.take_join(member)) is not None:
            group.answer_join(member, caller, effects)
        rebalance.restart_session(member, now_ms)
        member.is_new = False
    rebalance.await_syncs(now_ms)


# the sync phase


def park_sync(group: ClassicGroup, member: ClassicMember, caller: Caller, effects: Effects) -> None:
    """Let a member's SyncGroup wait for the assignment.

    If the member has another open SyncGroup, nobody waits for its response any more. It gets one
    all the same, so that no request stays open.
    """
    if member.sync_token is not None:
        refuse_sync(effects, member.sync_token, ErrorCode.REBALANCE_IN_PROGRESS)
    member.sync_token = caller
    group.rebalance.note_sync(member.member_id)


def assign(
    group: ClassicGroup, assignments: Mapping[str, bytes], effects: Effects, now_ms: int
) -> None:
    """Send the leader's assignments to all members; a member that it left out gets an empty one.

    Rule: G-52 (GroupMetadataManager.setAndPropagateAssignment).
    """
    roster = group.roster
    for member in roster.members.values():
        roster.set_assignment(member, assignments.get(member.member_id, b""))
    group.write(effects)
    _end_syncs(group, ErrorCode.NONE, effects, now_ms)
    group.rebalance.change_state(_STABLE, now_ms)
    effects.note(group.group_id, group.rebalance.generation, "assigned: the group is stable")


def _end_syncs(group: ClassicGroup, error_code: ErrorCode, effects: Effects, now_ms: int) -> None:
    """Answer the open SyncGroup requests, and restart the sessions of their members.

    A session that ended while its member waited was ignored, and since then it has no timer.

    See: G-30 (GroupMetadataManager.propagateAssignment).
    """
    for member in group.roster.members.values():
        caller = member.sync_token
        if caller is None:
            continue
        member.sync_token = None
        if error_code:
            refuse_sync(effects, caller, error_code)
        else:
            group.answer_sync(member, caller, effects)
        group.rebalance.restart_session(member, now_ms)


# timers


def on_timer(group: ClassicGroup, kind: str, member_id: str, effects: Effects, now_ms: int) -> None:
    """Handle a due timer of this group, which the caller has already removed from the timers.

    Rule: G-31 to G-34.
    See: G-30.
    """
    if kind == SESSION:
        _session_is_due(group, member_id, effects, now_ms)
    elif kind == JOIN:
        _join_is_due(group, effects, now_ms)
    else:
        _sync_is_due(group, effects, now_ms)


def _session_is_due(group: ClassicGroup, member_id: str, effects: Effects, now_ms: int) -> None:
    """Remove a member that sent no heartbeat in time, or an id that no member joined with in time.

    Rule: G-31, G-32 (GroupMetadataManager.expireClassicGroupMemberHeartbeat).
    See: G-30.
    """
    member = group.roster.members.get(member_id)
    if member is not None and not member.is_new:
        waits = member.join_token is not None or member.sync_token is not None
        if waits:
            return
    group.drop_member(member_id, effects)
    if group.state is _PREPARING:
        # this may complete the join within the initial delay, as in Kafka
        if group.rebalance.everyone_joined:
            _complete_join(group, effects, now_ms)
    elif member is not None:
        why = f"the session of member {shown(member_id)} ended"
        prepare_rebalance(group, effects, now_ms, why)


def _sync_is_due(group: ClassicGroup, effects: Effects, now_ms: int) -> None:
    """Go on without the members that did not send SyncGroup in time.

    The last of them may have been dropped meanwhile; then nothing happens.

    Rule: G-34 (GroupMetadataManager.expirePendingSync).
    """
    missing = list(group.rebalance.pending_syncs)
    for member_id in missing:
        group.drop_member(member_id, effects)
    if missing:
        why = f"{len(missing)} members sent no SyncGroup in time"
        prepare_rebalance(group, effects, now_ms, why)


def loaded(group: ClassicGroup, effects: Effects, now_ms: int) -> None:
    """Start the members' sessions after the log has been read to its end.

    If the group has more members than the setting allows now, it rebalances, and the members that
    join last are refused.

    See: G-30 (GroupMetadataManager.onLoaded).
    """
    for member in group.roster.members.values():
        group.rebalance.restart_session(member, now_ms)
    if len(group.roster.members) > group.settings.classic_size_max:
        why = "it has more members than the setting allows now"
        prepare_rebalance(group, effects, now_ms, why)
