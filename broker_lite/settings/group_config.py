"""The configs of single groups (resource type 32): what a consumer group may set for itself.

Each has its default and its bounds in settings of the broker.

Not done: the configs of share and streams groups, which this broker does not have.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final, NamedTuple, cast

from broker_lite.errors import InvalidConfig
from broker_lite.settings.setting import ConfigType, InvalidValue, Setting
from broker_lite.settings.settings import Settings
from broker_lite.settings.values import Between


class GroupSetting(NamedTuple):
    """A config of a group, and the broker settings with its default and bounds."""

    setting: Setting
    broker_name: str
    min_name: str
    max_name: str


def _group_setting(what: str, doc: str, low: int) -> GroupSetting:
    name = f"consumer.{what}"
    return GroupSetting(
        Setting(name, ConfigType.INT, None, doc, Between(low), dynamic=True),
        f"group.consumer.{what}",
        f"group.consumer.min.{what}",
        f"group.consumer.max.{what}",
    )


_HEARTBEAT_INTERVAL: Final = "consumer.heartbeat.interval.ms"
_SESSION_TIMEOUT: Final = "consumer.session.timeout.ms"

GROUP_SETTINGS: Final[Mapping[str, GroupSetting]] = MappingProxyType(
    {
        each.setting.name: each
        for each in (
            _group_setting("heartbeat.interval.ms", "Heartbeat interval told to members.", 1),
            _group_setting("session.timeout.ms", "Session timeout of a member.", 1),
            _group_setting("assignment.interval.ms", "Shortest time between two assignments.", 0),
        )
    }
)
"""The configs of a group by name."""


def group_value(settings: Settings, overrides: Mapping[str, str], name: str) -> int:
    """The effective value of a group's config."""
    group_setting = GROUP_SETTINGS[name]
    if name in overrides:
        return cast(int, group_setting.setting.parse(overrides[name]))
    return cast(int, settings.value(group_setting.broker_name))


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
        values = {name: group_value(settings, overrides, name) for name in GROUP_SETTINGS}
    except InvalidValue as error:
        raise InvalidConfig(str(error)) from error
    for name, (_, _, min_name, max_name) in GROUP_SETTINGS.items():
        if values[name] < cast(int, settings.value(min_name)):
            raise InvalidConfig(f"{name} must be greater than or equal to {min_name}")
        if values[name] > cast(int, settings.value(max_name)):
            raise InvalidConfig(f"{name} must be less than or equal to {max_name}")
    if values[_SESSION_TIMEOUT] <= values[_HEARTBEAT_INTERVAL]:
        raise InvalidConfig(f"{_SESSION_TIMEOUT} must be greater than {_HEARTBEAT_INTERVAL}")
