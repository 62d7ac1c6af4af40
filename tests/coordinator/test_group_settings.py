"""The settings of groups."""

import pytest

from broker_lite.coordinator.group_settings import GroupSettings
from broker_lite.settings import Settings
from broker_lite.settings.settings import Given


def settings_of(**given: str) -> GroupSettings:
    return GroupSettings.of(
        Settings({name.replace("_", "."): Given(text, "test") for name, text in given.items()})
    )


def test_defaults_are_the_brokers_g01_to_g13() -> None:
    assert settings_of() == GroupSettings()


def test_g06_minutes_are_milliseconds() -> None:
    assert settings_of(offsets_retention_minutes="2").offsets_retention_ms == 120_000


@pytest.mark.parametrize(
    ("policy", "upgrade", "downgrade"),
    [
        ("bidirectional", True, True),
        ("UPGRADE", True, False),
        ("downgrade", False, True),
        ("disabled", False, False),
    ],
)
def test_g12_policy(policy: str, upgrade: bool, downgrade: bool) -> None:
    found = settings_of(group_consumer_migration_policy=policy)
    assert (found.upgrade, found.downgrade) == (upgrade, downgrade)


def test_g91_configs_of_a_group() -> None:
    broker = GroupSettings()
    assert broker.for_group({}) is broker
    assert broker.for_group({"share.auto.offset.reset": "earliest"}) is broker
    own = broker.for_group({"consumer.session.timeout.ms": "50000"})
    assert own.consumer_session_timeout_ms == 50_000
    assert own.consumer_heartbeat_interval_ms == broker.consumer_heartbeat_interval_ms
