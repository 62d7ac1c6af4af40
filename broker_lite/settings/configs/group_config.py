"""The configs of single groups (resource type 32): what a group may set for itself.

Most have their default and their bounds in settings of the broker. Those of share and streams
groups are kept and described; this broker does not have such groups.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final, NamedTuple

from broker_lite.errors import InvalidConfig
from broker_lite.settings.setting import ConfigType, InvalidValue, Setting
from broker_lite.settings.settings import Settings
from broker_lite.settings.values import Between, OneOf, Value, rejected


class GroupSetting(NamedTuple):
    """A config of a group, and the broker settings with its default and bounds, None for none."""

    setting: Setting
    broker_name: str | None = None
    min_name: str | None = None
    max_name: str | None = None


_DURATION: Final = re.compile(
    r"by_duration:P(?=[\dT])(?:\d+D)?(?:T(?=\d)(?:\d+H)?(?:\d+M)?(?:\d+(?:\.\d{1,9})?S)?)?"
)


@dataclass(frozen=True, slots=True)
class OffsetReset:
    """Where a share group begins: earliest, latest, or a duration ago.

    Source: ShareGroupAutoOffsetResetStrategy.
    """

    def check(self, name: str, value: Value) -> None:
        """Compare with both words and the shape of a duration."""
        text = str(value)
        if text in {"earliest", "latest"} or _DURATION.fullmatch(text):
            return
        reason = (
            f"Invalid value `{text}` for configuration {name}. The value must be either 'earliest',"
            " 'latest' or of the format 'by_duration:<PnDTnHnMn.nS>'."
        )
        raise rejected(name, text, reason)

    def describe(self) -> str:
        """The words, and the shape."""
        return "earliest, latest, by_duration:<PnDTnHnMn.nS>"


def _bounded(kind: str, what: str, doc: str, low: int) -> GroupSetting:
    """A number with default, minimum and maximum in settings of the broker."""
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
            (_HEARTBEAT, "Heartbeat interval told to members.", 1),
            (_SESSION, "Session timeout of a member.", 1),
            ("assignment.interval.ms", "Shortest time between two assignments.", 0),
        )
    ),
    _bounded("share", "delivery.count.limit", "How often a record is delivered at most.", 2),
    _bounded("share", "partition.max.record.locks", "Records of a partition in delivery.", 100),
    _bounded("share", "record.lock.duration.ms", "How long a record is one member's.", 1000),
    GroupSetting(
        Setting(
            "share.auto.offset.reset",
            ConfigType.STRING,
            "latest",
            "Where a share group begins.",
            OffsetReset(),
            dynamic=True,
        )
    ),
    GroupSetting(
        Setting(
            "share.isolation.level",
            ConfigType.STRING,
            "read_uncommitted",
            "What of transactions a share group reads.",
            OneOf(("read_committed", "read_uncommitted")),
            dynamic=True,
        )
    ),
    GroupSetting(
        Setting(
            "share.renew.acknowledge.enable",
            ConfigType.BOOLEAN,
            "true",
            "Whether members may keep a record for longer.",
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
            "Standby tasks of each task.",
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
    """The effective value of a group's config."""
    group_setting = GROUP_SETTINGS[name]
    if name in overrides:
        return group_setting.setting.parse(overrides[name])
    if group_setting.broker_name is None:
        return group_setting.setting.default_value()
    return settings.value(group_setting.broker_name)


def validate_group_configs(settings: Settings, overrides: Mapping[str, str]) -> None:
    """Check all configs of a group, each by itself and then together.

    Raises:
        InvalidConfig: the first fault; its text is Kafka's.

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
