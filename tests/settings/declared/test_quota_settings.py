"""Settings of quotas: what Kafka has, and that they are in effect."""

import pytest

from broker_lite.errors import SettingsError
from broker_lite.settings import load_settings
from broker_lite.settings.declared.quota_settings import QUOTA_SETTINGS
from broker_lite.settings.values import Between

KAFKAS = {
    "quota.window.num": 11,
    "quota.window.size.seconds": 1,
    "controller.quota.window.num": 11,
    "controller.quota.window.size.seconds": 1,
}


def test_they_are_kafkas() -> None:
    assert {each.name: each.default_value() for each in QUOTA_SETTINGS} == KAFKAS
    assert all(each.validator == Between(1) and not each.dynamic for each in QUOTA_SETTINGS)
    assert not any(each.ignored for each in QUOTA_SETTINGS)


def test_a_listener_has_its_own_rate_of_connections() -> None:
    name = "max.connection.creation.rate"
    settings = load_settings(overrides={f"listener.name.client.{name}": "7"})
    assert settings.value_for_listener("CLIENT", name) == 7
    assert settings.value_for_listener("OTHER", name) == 2**31 - 1
    with pytest.raises(SettingsError, match="Not a number"):
        load_settings(overrides={f"listener.name.client.{name}": "x"})
