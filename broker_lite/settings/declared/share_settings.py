"""The broker's settings for share groups, and for the topic that keeps their state."""

from typing import Final

from broker_lite.settings.declared.topic_settings import SEGMENT_BYTES_MIN
from broker_lite.settings.setting import ConfigType, Setting
from broker_lite.settings.values import Between

_INT: Final = ConfigType.INT


def _setting(name: str, default: str, doc: str, allowed: Between) -> Setting:
    return Setting(f"group.share.{name}", _INT, default, doc, allowed)


SHARE_SETTINGS: Final = (
    Setting(
        "group.share.assignment.interval.ms",
        _INT,
        "0",
        "Shortest time between two assignments of a share group; 0 means no minimum.",
        Between(0),
        dynamic=True,
        kafka_default="1000",
    ),
    _setting(
        "min.assignment.interval.ms",
        "0",
        "Shortest assignment interval that a share group may set.",
        Between(0),
    ),
    _setting(
        "max.assignment.interval.ms",
        "15000",
        "Longest assignment interval that a share group may set.",
        Between(0),
    ),
    Setting(
        "group.share.assignors",
        ConfigType.LIST,
        "simple",
        "Has no effect: share groups have one assignor.",
    ),
    _setting(
        "delivery.count.limit",
        "5",
        "How often a record is delivered before it is given up.",
        Between(2, 10),
    ),
    _setting(
        "min.delivery.count.limit",
        "2",
        "Lowest delivery limit that a share group may set.",
        Between(2, 5),
    ),
    _setting(
        "max.delivery.count.limit",
        "10",
        "Highest delivery limit that a share group may set.",
        Between(5, 25),
    ),
    _setting(
        "heartbeat.interval.ms",
        "5000",
        "Heartbeat interval that members of share groups are told to use.",
        Between(1),
    ),
    _setting(
        "min.heartbeat.interval.ms",
        "5000",
        "Shortest heartbeat interval that a share group may set.",
        Between(1),
    ),
    _setting(
        "max.heartbeat.interval.ms",
        "15000",
        "Longest heartbeat interval that a share group may set.",
        Between(1),
    ),
    _setting(
        "session.timeout.ms",
        "45000",
        "Session timeout of the members of share groups.",
        Between(1),
    ),
    _setting(
        "min.session.timeout.ms",
        "45000",
        "Shortest session timeout that a share group may set.",
        Between(1),
    ),
    _setting(
        "max.session.timeout.ms",
        "60000",
        "Longest session timeout that a share group may set.",
        Between(1),
    ),
    _setting(
        "partition.max.record.locks",
        "2000",
        "How many records of a partition a share group may have acquired or in doubt at a time.",
        Between(100, 10_000),
    ),
    _setting(
        "min.partition.max.record.locks",
        "100",
        "Lowest number of record locks that a share group may set.",
        Between(100, 2000),
    ),
    _setting(
        "max.partition.max.record.locks",
        "4000",
        "Highest number of record locks that a share group may set.",
        Between(2000, 10_000),
    ),
    _setting(
        "record.lock.duration.ms",
        "30000",
        "How long a member may take for a record before others get it.",
        Between(1000, 3_600_000),
    ),
    _setting(
        "min.record.lock.duration.ms",
        "15000",
        "Shortest lock that a share group may set.",
        Between(1000, 30_000),
    ),
    _setting(
        "max.record.lock.duration.ms",
        "60000",
        "Longest lock that a share group may set.",
        Between(30_000, 3_600_000),
    ),
    _setting(
        "max.share.sessions",
        "2000",
        "Number of share sessions that a broker keeps for members of all share groups.",
        Between(1),
    ),
    _setting("max.size", "200", "Largest number of members of a share group.", Between(1, 1000)),
    Setting(
        "share.coordinator.snapshot.update.records.per.snapshot",
        _INT,
        "500",
        "After so many records with a change, the whole state of a partition is written.",
        Between(0, 500),
    ),
    Setting(
        "share.coordinator.write.timeout.ms",
        _INT,
        "5000",
        "How long acknowledged records may wait for the replicas of __share_group_state.",
        Between(1),
    ),
    Setting(
        "share.coordinator.state.topic.num.partitions",
        _INT,
        "50",
        "Number of partitions of __share_group_state.",
        Between(1),
    ),
    Setting(
        "share.coordinator.state.topic.replication.factor",
        ConfigType.SHORT,
        "1",
        "Number of replicas of __share_group_state; if not set, 3 or as many as there are brokers.",
        Between(1),
        kafka_default="3",
    ),
    Setting(
        "share.coordinator.state.topic.min.isr",
        ConfigType.SHORT,
        "1",
        "min.insync.replicas of __share_group_state; if not set, 2 or as many as it has replicas.",
        Between(1),
        kafka_default="2",
    ),
    Setting(
        "share.coordinator.state.topic.segment.bytes",
        _INT,
        "104857600",
        "segment.bytes of __share_group_state.",
        Between(SEGMENT_BYTES_MIN),
    ),
)
