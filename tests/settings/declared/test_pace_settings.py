"""The settings of slow networks: a broker has them, and takes new values while it runs."""

import pytest

from broker_lite.errors import SettingsError
from broker_lite.settings import Settings, load_settings
from broker_lite.settings.declared.pace_settings import PACE_SETTINGS
from broker_lite.settings.setting import Scope


def test_they_are_of_brokers_and_dynamic() -> None:
    for setting in PACE_SETTINGS:
        assert setting.name.startswith("broker.lite.pace.")
        assert (setting.scope, setting.dynamic, setting.own) == (Scope.BROKER, True, True)


def test_by_default_nothing_is_slow() -> None:
    settings = Settings()
    assert settings.broker_lite_pace_rtt_ms == 0
    assert settings.broker_lite_pace_in_byte_rate == settings.broker_lite_pace_out_byte_rate == 0


@pytest.mark.parametrize("name", ["rtt.ms", "in.byte.rate", "out.byte.rate"])
def test_nothing_is_faster_than_at_once(name: str) -> None:
    with pytest.raises(SettingsError, match="at least 0"):
        load_settings(overrides={f"broker.lite.pace.{name}": "-1"})
