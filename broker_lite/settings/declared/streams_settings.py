"""The broker's settings for streams groups."""

from typing import Final

from broker_lite.settings.setting import ConfigType, Setting
from broker_lite.settings.values import Between

_INT: Final = ConfigType.INT


def _setting(name: str, default: str, doc: str, low: int) -> Setting:
    return Setting(f"group.streams.{name}", _INT, default, doc, Between(low))


STREAMS_SETTINGS: Final = (
    Setting(
        "group.streams.assignment.interval.ms",
        _INT,
        "0",
        "Shortest time between two assignments of a streams group; 0 means no minimum.",
        Between(0),
        dynamic=True,
        kafka_default="1000",
    ),
    _setting(
        "min.assignment.interval.ms",
        "0",
        "Shortest assignment interval that a streams group may set.",
        0,
    ),
    _setting(
        "max.assignment.interval.ms",
        "15000",
        "Longest assignment interval that a streams group may set.",
        0,
    ),
    Setting(
        "group.streams.initial.rebalance.delay.ms",
        _INT,
        "0",
        "How long a streams group without members waits for more before it assigns tasks.",
        Between(0),
        kafka_default="3000",
    ),
    _setting(
        "heartbeat.interval.ms",
        "5000",
        "Heartbeat interval that members of streams groups are told to use.",
        1,
    ),
    _setting(
        "min.heartbeat.interval.ms",
        "5000",
        "Shortest heartbeat interval that a streams group may set.",
        1,
    ),
    _setting(
        "max.heartbeat.interval.ms",
        "15000",
        "Longest heartbeat interval that a streams group may set.",
        1,
    ),
    _setting("session.timeout.ms", "45000", "Session timeout of the members of streams groups.", 1),
    _setting(
        "min.session.timeout.ms",
        "45000",
        "Shortest session timeout that a streams group may set.",
        1,
    ),
    _setting(
        "max.session.timeout.ms",
        "60000",
        "Longest session timeout that a streams group may set.",
        1,
    ),
    _setting("max.size", "2147483647", "Largest number of members of a streams group.", 1),
    _setting("num.standby.replicas", "0", "Number of standby tasks of each task with state.", 0),
    _setting(
        "max.standby.replicas",
        "2",
        "Largest number of standby tasks that a streams group may set.",
        0,
    ),
)
