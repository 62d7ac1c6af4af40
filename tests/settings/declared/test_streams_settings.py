"""The settings for streams groups: where they reach, and their bounds."""

import pytest

from broker_lite.coordinator.group_settings import GroupSettings
from broker_lite.settings import SETTINGS, Given, Settings
from broker_lite.settings.declared.streams_settings import STREAMS_SETTINGS
from broker_lite.settings.values import Between


@pytest.mark.parametrize("name", [each.name for each in STREAMS_SETTINGS])
def test_a_default_is_allowed(name: str) -> None:
    setting = SETTINGS[name]
    assert setting.default is not None
    setting.parse(setting.default)
    assert not setting.ignored


def test_bounds_are_kafkas() -> None:
    limit = SETTINGS["group.streams.max.size"]
    assert (limit.default, limit.validator, limit.dynamic) == ("2147483647", Between(1), False)
    assert SETTINGS["group.streams.assignment.interval.ms"].dynamic


def test_groups_get_them() -> None:
    texts = {
        "group.streams.session.timeout.ms": "50000",
        "group.streams.heartbeat.interval.ms": "6000",
        "group.streams.max.size": "7",
        "group.streams.assignment.interval.ms": "5",
        "group.streams.initial.rebalance.delay.ms": "3",
        "group.streams.num.standby.replicas": "2",
    }
    groups = GroupSettings.of(Settings({name: Given(text, "test") for name, text in texts.items()}))
    assert (groups.streams_session_timeout_ms, groups.streams_heartbeat_interval_ms) == (
        50_000,
        6000,
    )
    assert (groups.streams_size_max, groups.streams_assignment_interval_ms) == (7, 5)
    assert (groups.streams_initial_rebalance_delay_ms, groups.streams_standby_count) == (3, 2)
