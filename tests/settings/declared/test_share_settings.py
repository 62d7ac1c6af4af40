"""The settings for share groups: where they reach, and their bounds."""

import pytest

from broker_lite.control.topics.internal_topics import SHARE_TOPIC, automatic_topic, partition_count
from broker_lite.coordinator.group_settings import GroupSettings
from broker_lite.settings import SETTINGS, Given, Settings
from broker_lite.settings.declared.share_settings import SHARE_SETTINGS
from broker_lite.settings.values import Between


@pytest.mark.parametrize("name", [each.name for each in SHARE_SETTINGS])
def test_a_default_is_allowed(name: str) -> None:
    setting = SETTINGS[name]
    assert setting.default is not None
    setting.parse(setting.default)
    assert not setting.ignored


def test_bounds_are_kafkas() -> None:
    limit = SETTINGS["group.share.delivery.count.limit"]
    assert (limit.default, limit.validator, limit.dynamic) == ("5", Between(2, 10), False)
    assert SETTINGS["group.share.assignment.interval.ms"].dynamic


def test_members_and_the_topic_get_them() -> None:
    texts = {
        "group.share.session.timeout.ms": "50000",
        "group.share.heartbeat.interval.ms": "6000",
        "group.share.max.size": "7",
        "group.share.assignment.interval.ms": "5",
        "share.coordinator.state.topic.num.partitions": "3",
        "share.coordinator.state.topic.segment.bytes": "2000000",
    }
    settings = Settings({name: Given(text, "test") for name, text in texts.items()})
    groups = GroupSettings.of(settings)
    assert (groups.share_session_timeout_ms, groups.share_heartbeat_interval_ms) == (50_000, 6000)
    assert (groups.share_size_max, groups.share_assignment_interval_ms) == (7, 5)
    assert partition_count(settings, SHARE_TOPIC) == 3
    configs = dict(automatic_topic(settings, SHARE_TOPIC).configs)
    assert (configs["segment.bytes"], configs["retention.ms"]) == ("2000000", "-1")
    assert configs["cleanup.policy"] == "delete"
