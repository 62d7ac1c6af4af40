"""The settings of network, node and process: Kafka's names, defaults and bounds."""

import pytest

from broker_lite.errors import SettingsError
from broker_lite.settings import load_settings
from broker_lite.settings.declared.network_settings import NETWORK_SETTINGS
from tests.settings.golden import assert_as_kafka


def test_as_in_kafka() -> None:
    assert_as_kafka(NETWORK_SETTINGS, "broker")


@pytest.mark.parametrize("text", ["0", "77", "777", "078", "0x7", "", "-77"])
def test_a_umask_leaves_the_owner_everything(text: str) -> None:
    assert load_settings(None, {}, {"broker.lite.umask": "0022"}).broker_lite_umask == "0022"
    with pytest.raises(SettingsError, match="umask"):
        load_settings(None, {}, {"broker.lite.umask": text})
