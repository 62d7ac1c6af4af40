"""The group coordinator: every request about groups and offsets, as one state machine.

It holds all groups of this broker and their offsets, and hands each request to the group that it
is about. Events that can touch several groups give one Effects a group, as each group's records
belong into its own partition of the state topic.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from broker_lite.coordinator.effects import Caller, Effects
from broker_lite.coordinator.group_settings import GroupSettings
from broker_lite.coordinator.topics import Topics

GroupEffects = list[tuple[str, Effects]]


class GroupCoordinator:
    """All groups of a broker.

    A request event answers `caller.token`, at once or in the effects of a later event. The methods
    that return a response have no records and never wait.

    Args:
        settings: the broker's.
        topics: the topics of the moment.
        make_uuid: gives the random part of a member id.
        partition_of: the partition of the state topic that a group id belongs to.
    """

    def __init__(
        self,
        settings: GroupSettings,
        topics: Topics,
        make_uuid: Callable[[], str],
        partition_of: Callable[[str], int],
    ) -> None:
        raise NotImplementedError

    # members

    def join_group(self, request: Any, caller: Caller, now_ms: int) -> Effects:
        """JoinGroup (G-35 to G-50)."""
        raise NotImplementedError

    def sync_group(self, request: Any, caller: Caller, now_ms: int) -> Effects:
        """SyncGroup (G-51 to G-53)."""
        raise NotImplementedError

    def heartbeat(self, request: Any, caller: Caller, now_ms: int) -> Effects:
        """Heartbeat (G-54)."""
        raise NotImplementedError

    def leave_group(self, request: Any, caller: Caller, now_ms: int) -> Effects:
        """LeaveGroup (G-55, G-56)."""
        raise NotImplementedError

    def consumer_group_heartbeat(self, request: Any, caller: Caller, now_ms: int) -> Effects:
        """ConsumerGroupHeartbeat (G-78 to G-90)."""
        raise NotImplementedError

    # offsets

    def commit_offsets(self, request: Any, caller: Caller, now_ms: int) -> Effects:
        """OffsetCommit (G-60 to G-66)."""
        raise NotImplementedError

    def commit_transactional_offsets(self, request: Any, caller: Caller, now_ms: int) -> Effects:
        """TxnOffsetCommit once the producer is known to be good (T-41, T-43).

        The records of the effects belong to the producer in `effects.producer`.
        """
        raise NotImplementedError

    def fetch_offsets(self, request: Any, version: int) -> Any:
        """OffsetFetch in every version, with all its groups (G-67 to G-71)."""
        raise NotImplementedError

    def delete_offsets(self, request: Any, caller: Caller, now_ms: int) -> Effects:
        """OffsetDelete (G-105)."""
        raise NotImplementedError

    def complete_transaction(
        self, partition: int, producer_id: int, *, committed: bool, now_ms: int
    ) -> None:
        """A marker was written: pending offsets become committed ones, or go (T-53)."""
        raise NotImplementedError

    def expire(self, now_ms: int) -> GroupEffects:
        """Remove offsets whose time is over, and groups that nothing is left of (G-74)."""
        raise NotImplementedError

    # administration

    def list_groups(self, request: Any) -> Any:
        """ListGroups (G-102)."""
        raise NotImplementedError

    def describe_groups(self, request: Any, version: int) -> Any:
        """DescribeGroups (G-103); authorized operations are left for the caller to fill."""
        raise NotImplementedError

    def describe_consumer_groups(self, request: Any) -> Any:
        """ConsumerGroupDescribe (G-101)."""
        raise NotImplementedError

    def delete_groups(self, request: Any, now_ms: int) -> tuple[Any, GroupEffects]:
        """DeleteGroups (G-104): the response, and what each deleted group leads to.

        When the records of a group cannot be written, its result in the response is changed.
        """
        raise NotImplementedError

    # the cluster's changes

    def topics_deleted(self, names: Iterable[str], now_ms: int) -> GroupEffects:
        """Topics are gone: so are their offsets in all groups (G-73)."""
        raise NotImplementedError

    def topics_changed(self, names: Iterable[str], now_ms: int) -> GroupEffects:
        """Topics were made, deleted or grew: consumer groups look at them again (G-84)."""
        raise NotImplementedError

    def configure_group(self, group_id: str, configs: Mapping[str, str]) -> None:
        """The configs of a group (resource 32) are these from now on (G-91)."""
        raise NotImplementedError

    # time

    def next_deadline_ms(self) -> int | None:
        """When `on_time` has to be called next; None as long as no timer runs."""
        raise NotImplementedError

    def on_time(self, now_ms: int) -> GroupEffects:
        """Run every timer that is due."""
        raise NotImplementedError

    # the state log

    def replay_batch(
        self, partition: int, producer_id: int, records: Iterable[tuple[bytes, bytes | None]]
    ) -> None:
        """Take over what a batch of the log says.

        Args:
            partition: of the state topic.
            producer_id: of a transactional batch, -1 otherwise.
            records: keys and values in the order of the log.
        """
        raise NotImplementedError

    def replay_marker(self, partition: int, producer_id: int, *, committed: bool) -> None:
        """Take over a transaction's end from the log."""
        raise NotImplementedError

    def loaded(self, partition: int, now_ms: int) -> GroupEffects:
        """The log of a partition was replayed to its end: the members' timers start anew."""
        raise NotImplementedError

    def unload(self, partition: int) -> list[tuple[object, Any]]:
        """Forget all groups of a partition.

        Returns:
            The open requests of their members with an answer that makes clients try again.
        """
        raise NotImplementedError
