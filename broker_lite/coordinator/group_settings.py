"""The settings for groups and their offsets, of the broker and of single groups.

Rule: G-01 to G-06, G-08 to G-11.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final

from broker_lite.settings import Settings

_MS_PER_MINUTE: Final = 60_000
# how long a first JoinGroup may wait for its response, whatever the session timeout is (G-04)
_NEW_MEMBER_JOIN_TIMEOUT_MS: Final = 300_000

# the configs of a single group (resource type 32) for its members (G-91)
_FIELD_OF_GROUP_CONFIG: Final = {
    "consumer.session.timeout.ms": "consumer_session_timeout_ms",
    "consumer.heartbeat.interval.ms": "consumer_heartbeat_interval_ms",
    "consumer.assignment.interval.ms": "consumer_assignment_interval_ms",
    "share.session.timeout.ms": "share_session_timeout_ms",
    "share.heartbeat.interval.ms": "share_heartbeat_interval_ms",
    "share.assignment.interval.ms": "share_assignment_interval_ms",
    "streams.session.timeout.ms": "streams_session_timeout_ms",
    "streams.heartbeat.interval.ms": "streams_heartbeat_interval_ms",
    "streams.assignment.interval.ms": "streams_assignment_interval_ms",
    "streams.initial.rebalance.delay.ms": "streams_initial_rebalance_delay_ms",
    "streams.num.standby.replicas": "streams_standby_count",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupSettings:
    """The settings that a group coordinator needs; the defaults are the broker's defaults.

    Args:
        session_timeout_ms_min: the shortest session timeout of a classic member (G-01).
        session_timeout_ms_max: the longest session timeout of a classic member (G-01).
        initial_rebalance_delay_ms: how long an empty classic group waits for more members (G-02).
        classic_size_max: how many members a classic group may have (G-03).
        new_member_join_timeout_ms: how long a first JoinGroup may wait for its response (G-04).
        metadata_characters_max: the longest metadata of an offset, in UTF-16 characters (G-05).
        offsets_retention_ms: how long unused offsets are kept (G-06).
        consumer_session_timeout_ms: the session timeout of a consumer group's member (G-08).
        consumer_heartbeat_interval_ms: the heartbeat interval of a consumer group's member (G-09).
        consumer_assignors: their names; the first one is the default (G-10).
        consumer_size_max: how many members a consumer group may have (G-11).
        upgrade: whether a classic group may become a consumer group (G-12).
        downgrade: whether a consumer group may become a classic group (G-12).
        consumer_assignment_interval_ms: the least time between two target assignments (G-13).
        share_session_timeout_ms: the session timeout of a share group's member.
        share_heartbeat_interval_ms: the heartbeat interval of a share group's member.
        share_size_max: how many members a share group may have.
        share_assignment_interval_ms: the least time between two target assignments.
        streams_session_timeout_ms: the session timeout of a streams group's member.
        streams_heartbeat_interval_ms: the heartbeat interval of a streams group's member.
        streams_size_max: how many members a streams group may have.
        streams_assignment_interval_ms: the least time between two target assignments.
        streams_initial_rebalance_delay_ms: how long an empty streams group waits for more members.
        streams_standby_count: standby tasks of each task with state.
        held_bytes_max: how much memory the members of all groups may take.
    """

    session_timeout_ms_min: int = 6_000
    session_timeout_ms_max: int = 1_800_000
    initial_rebalance_delay_ms: int = 0
    classic_size_max: int = 2**31 - 1
    new_member_join_timeout_ms: int = _NEW_MEMBER_JOIN_TIMEOUT_MS
    metadata_characters_max: int = 4096
    offsets_retention_ms: int = 10_080 * _MS_PER_MINUTE
    consumer_session_timeout_ms: int = 45_000
    consumer_heartbeat_interval_ms: int = 5_000
    consumer_assignors: tuple[str, ...] = ("uniform", "range")
    consumer_size_max: int = 2**31 - 1
    upgrade: bool = True
    downgrade: bool = True
    consumer_assignment_interval_ms: int = 0
    share_session_timeout_ms: int = 45_000
    share_heartbeat_interval_ms: int = 5_000
    share_size_max: int = 200
    share_assignment_interval_ms: int = 0
    streams_session_timeout_ms: int = 45_000
    streams_heartbeat_interval_ms: int = 5_000
    streams_size_max: int = 2**31 - 1
    streams_assignment_interval_ms: int = 0
    streams_initial_rebalance_delay_ms: int = 0
    streams_standby_count: int = 0
    held_bytes_max: int = 268_435_456

    @classmethod
    def of(cls, settings: Settings) -> "GroupSettings":
        """Make the settings for groups from the broker's settings."""
        policy = settings.group_consumer_migration_policy.lower()
        return cls(
            session_timeout_ms_min=settings.group_min_session_timeout_ms,
            session_timeout_ms_max=settings.group_max_session_timeout_ms,
            initial_rebalance_delay_ms=settings.group_initial_rebalance_delay_ms,
            classic_size_max=settings.group_max_size,
            metadata_characters_max=settings.offset_metadata_max_bytes,
            offsets_retention_ms=settings.offsets_retention_minutes * _MS_PER_MINUTE,
            consumer_session_timeout_ms=settings.group_consumer_session_timeout_ms,
            consumer_heartbeat_interval_ms=settings.group_consumer_heartbeat_interval_ms,
            consumer_assignors=tuple(settings.group_consumer_assignors),
            consumer_size_max=settings.group_consumer_max_size,
            upgrade=policy in ("bidirectional", "upgrade"),
            downgrade=policy in ("bidirectional", "downgrade"),
            consumer_assignment_interval_ms=settings.group_consumer_assignment_interval_ms,
            share_session_timeout_ms=settings.group_share_session_timeout_ms,
            share_heartbeat_interval_ms=settings.group_share_heartbeat_interval_ms,
            share_size_max=settings.group_share_max_size,
            share_assignment_interval_ms=settings.group_share_assignment_interval_ms,
            streams_session_timeout_ms=settings.group_streams_session_timeout_ms,
            streams_heartbeat_interval_ms=settings.group_streams_heartbeat_interval_ms,
            streams_size_max=settings.group_streams_max_size,
            streams_assignment_interval_ms=settings.group_streams_assignment_interval_ms,
            streams_initial_rebalance_delay_ms=settings.group_streams_initial_rebalance_delay_ms,
            streams_standby_count=settings.group_streams_num_standby_replicas,
            held_bytes_max=settings.broker_lite_groups_max_bytes,
        )

    def for_group(self, configs: Mapping[str, str]) -> "GroupSettings":
        """Return these settings, overridden by the configs of one group.

        Args:
            configs: of the group, by Kafka's names; only those of members are used. The
                caller has checked that each is a number within the broker's bounds.

        See: G-91.
        """
        changes = {
            field: int(configs[name])
            for name, field in _FIELD_OF_GROUP_CONFIG.items()
            if name in configs
        }
        return replace(self, **changes) if changes else self  # type: ignore[arg-type]
