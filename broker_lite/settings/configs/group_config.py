"""The configs that can be set for a single group (resource type 32).

Most of them take their default and their bounds from settings of the broker.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final, NamedTuple

from broker_lite.errors import InvalidConfig
from broker_lite.settings.configs.java_duration import InvalidDuration, duration_ns
from broker_lite.settings.setting import ConfigType, InvalidValue, Setting
from broker_lite.settings.settings import Settings
from broker_lite.settings.values import Between, OneOf, Value, rejected


class GroupSetting(NamedTuple):
    """A config of a group, and the broker settings that have its default and its bounds, if any."""

    setting: Setting
    broker_name: str | None = None
    min_name: str | None = None
    max_name: str | None = None


BY_DURATION: Final = "by_duration:"
"""Where a share group may begin to read: a duration ago, which follows."""


@dataclass(frozen=True, slots=True)
class OffsetReset:
    """Allows where a share group may begin: earliest, latest, or a duration ago.

    A duration that is no time at all is allowed, one below that is not.

    Source: ShareGroupAutoOffsetResetStrategy, AutoOffsetResetStrategy.fromString.
    """

    def check(self, name: str, value: Value) -> None:
        """Raise InvalidValue unless it is one of both words or a duration."""
        text = str(value)
        if text in {"earliest", "latest"} or _is_ago(text):
            return
        reason = (
            f"Invalid value `{text}` for configuration {name}. The value must be either 'earliest',"
            " 'latest' or of the format 'by_duration:<PnDTnHnMn.nS>'."
        )
        raise rejected(name, text, reason)

    def describe(self) -> str:
        """Return the words, and the form of a duration."""
        return "earliest, latest, by_duration:<PnDTnHnMn.nS>"


def _is_ago(text: str) -> bool:
    if not text.startswith(BY_DURATION):
        return False
    try:
        return duration_ns(text.removeprefix(BY_DURATION)) >= 0
    except InvalidDuration:
        return False


def _bounded(kind: str, what: str, doc: str, low: int) -> GroupSetting:
    """Declare a number whose default, minimum and maximum are settings of the broker."""
    return GroupSetting(
        Setting(f"{kind}.{what}", ConfigType.INT, None, doc, Between(low), dynamic=True),
        f"group.{kind}.{what}",
        f"group.{kind}.min.{what}",
        f"group.{kind}.max.{what}",
    )


_HEARTBEAT: Final = "heartbeat.interval.ms"
_SESSION: Final = "session.timeout.ms"
_KINDS: Final = ("consumer", "share", "streams")

_DECLARED: Final = (
    *(
        _bounded(kind, *rest)
        for kind in _KINDS
        for rest in (
            (_HEARTBEAT, "Heartbeat interval that members are told to use.", 1),
            (_SESSION, "Session timeout of a member.", 1),
            ("assignment.interval.ms", "Shortest time between two assignments.", 0),
        )
    ),
    _bounded("share", "delivery.count.limit", "How often a record may be delivered.", 2),
    _bounded("share", "partition.max.record.locks", "Locked records of a partition, at most.", 100),
    _bounded("share", "record.lock.duration.ms", "How long a member's lock lasts.", 1000),
    GroupSetting(
        Setting(
            "share.auto.offset.reset",
            ConfigType.STRING,
            "latest",
            "Where a share group begins to read.",
            OffsetReset(),
            dynamic=True,
        )
    ),
    GroupSetting(
        Setting(
            "share.isolation.level",
            ConfigType.STRING,
            "read_uncommitted",
            "Whether a share group reads records of transactions that are not committed.",
            OneOf(("read_committed", "read_uncommitted")),
            dynamic=True,
        )
    ),
    GroupSetting(
        Setting(
            "share.renew.acknowledge.enable",
            ConfigType.BOOLEAN,
            "true",
            "Whether members may extend their lock of a record.",
            dynamic=True,
        )
    ),
    GroupSetting(
        Setting(
            "streams.initial.rebalance.delay.ms",
            ConfigType.INT,
            None,
            "How long an empty group waits for more members.",
            Between(0),
            dynamic=True,
        ),
        "group.streams.initial.rebalance.delay.ms",
    ),
    GroupSetting(
        Setting(
            "streams.num.standby.replicas",
            ConfigType.INT,
            None,
            "Number of standby tasks of each task.",
            Between(0),
            dynamic=True,
        ),
        "group.streams.num.standby.replicas",
        max_name="group.streams.max.standby.replicas",
    ),
)

GROUP_SETTINGS: Final[Mapping[str, GroupSetting]] = MappingProxyType(
    {each.setting.name: each for each in _DECLARED}
)
"""The configs of a group by name."""


def group_config_value(settings: Settings, overrides: Mapping[str, str], name: str) -> Value:
    """Return the effective value of a group's config."""
    group_setting = GROUP_SETTINGS[name]
    if name in overrides:
        return group_setting.setting.parse(overrides[name])
    if group_setting.broker_name is None:
        return group_setting.setting.default_value()
    return settings.value(group_setting.broker_name)


def validate_group_configs(settings: Settings, overrides: Mapping[str, str]) -> None:
    """Check all configs of a group, each by itself and then together.

    Raises:
        InvalidConfig: a config is wrong; the error is about the first one, in Kafka's words.

    Rule: G-91 (GroupConfig.validate).
    """
    for name in overrides:
        if name not in GROUP_SETTINGS:
            raise InvalidConfig(f"Unknown group config name: {name}")
    try:
        values = {name: group_config_value(settings, overrides, name) for name in GROUP_SETTINGS}
    except InvalidValue as error:
        raise InvalidConfig(str(error)) from error
    for name, (_, _, min_name, max_name) in GROUP_SETTINGS.items():
        value = values[name]
        if min_name is not None and _number(value) < _number(settings.value(min_name)):
            raise InvalidConfig(f"{name} must be greater than or equal to {min_name}")
        if max_name is not None and _number(value) > _number(settings.value(max_name)):
            raise InvalidConfig(f"{name} must be less than or equal to {max_name}")
    for kind in _KINDS:
        session, heartbeat = f"{kind}.{_SESSION}", f"{kind}.{_HEARTBEAT}"
        if _number(values[session]) <= _number(values[heartbeat]):
            raise InvalidConfig(f"{session} must be greater than {heartbeat}")


def _number(value: Value) -> int:
    assert isinstance(value, int)
    return value
