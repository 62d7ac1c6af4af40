"""A classic group: what each request and each timer does to it."""

from collections.abc import Callable
from typing import Any

from broker_lite.coordinator.classic_member import ClassicGroupState, ClassicMember
from broker_lite.coordinator.effects import Caller, Effects
from broker_lite.coordinator.timers import Timers
from broker_lite.errors import ErrorCode

# group id, kind of timer, member id (empty for the timers of the whole group)
TimerKey = tuple[str, str, str]


class ClassicGroup:
    """One classic group (outline)."""

    def __init__(
        self,
        group_id: str,
        timers: Timers[TimerKey],
        settings: Any,
        make_uuid: Callable[[], str],
        now_ms: int,
    ) -> None:
        self.group_id = group_id
        self.timers = timers
        self.settings = settings
        self.make_uuid = make_uuid
        self.state = ClassicGroupState.EMPTY
        self.state_changed_ms = now_ms
        self.generation = 0
        self.protocol_type: str | None = None
        self.protocol_name: str | None = None
        self.leader: str | None = None
        self.members: dict[str, ClassicMember] = {}
        self.pending_members: set[str] = set()
        self.static_members: dict[str, str] = {}

    def join(self, request: Any, caller: Caller, effects: Effects, now_ms: int) -> None:
        """G-38 to G-50; a missing group is made by the facade (`join_error` says G-35 before).

        A group made for this request must be written when the join wrote nothing:
        `group.write_empty(effects)` (Kafka does so), the facade does that.
        """
        raise NotImplementedError

    def sync(self, request: Any, caller: Caller, effects: Effects, now_ms: int) -> None:
        """G-51 to G-53 for an existing group."""
        raise NotImplementedError

    def heartbeat(self, request: Any, caller: Caller, effects: Effects, now_ms: int) -> None:
        """G-54 for an existing group."""
        raise NotImplementedError

    def leave(self, request: Any, caller: Caller, effects: Effects, now_ms: int) -> None:
        """G-55, G-56 for an existing group."""
        raise NotImplementedError

    def on_timer(self, kind: str, member_id: str, effects: Effects, now_ms: int) -> None:
        """G-30 to G-34: a timer of this group is due (it was taken out of `timers` already)."""
        raise NotImplementedError

    def check_commit(
        self,
        *,
        member_id: str,
        instance_id: str | None,
        generation: int,
        version: int,
        is_transactional: bool,
    ) -> ErrorCode | None:
        """G-62, T-41. After an accepted commit call `restart_session` (G-30)."""
        raise NotImplementedError

    def restart_session(self, member_id: str, now_ms: int) -> None:
        """G-30: an accepted OffsetCommit; does nothing in other states or without such a member."""
        raise NotImplementedError

    def subscribed_topics(self) -> frozenset[str] | None:
        """G-75; None = unknown, which counts as all. frozenset() for other protocol types."""
        raise NotImplementedError

    def describe(self) -> Any:
        """G-103: DescribeGroupsResponse.DescribedGroup."""
        raise NotImplementedError

    def write_empty(self, effects: Effects) -> None:
        """Write the record of a group that was only made (also by an OffsetCommit? no: Kafka does not)."""
        raise NotImplementedError

    def write_tombstone(self, effects: Effects) -> None:
        """Write the removal of the group."""
        raise NotImplementedError

    @classmethod
    def from_record(
        cls,
        group_id: str,
        value: bytes,
        timers: Timers[TimerKey],
        settings: Any,
        make_uuid: Callable[[], str],
    ) -> "ClassicGroup":
        """Make the group that a GroupMetadataValue (with its version) holds; no timers yet."""
        raise NotImplementedError

    def loaded(self, effects: Effects, now_ms: int) -> None:
        """Start the sessions of the members after the replay."""
        raise NotImplementedError

    def dismiss(self, error_code: ErrorCode, effects: Effects) -> None:
        """Answer every parked request with an error and stop all timers: the group goes away."""
        raise NotImplementedError


def join_error(request: Any, version: int, settings: Any) -> Any | None:
    """G-35: the response of a JoinGroup that no group is asked about, None if it may go on."""
    raise NotImplementedError


def join_response(request: Any, version: int, error_code: ErrorCode, member_id: str) -> Any:
    """A JoinGroup's error response."""
    raise NotImplementedError


def leave_missing_group(request: Any, version: int) -> Any:
    """G-55, G-56: the response of a LeaveGroup without a group, or with the empty id (24)."""
    raise NotImplementedError
