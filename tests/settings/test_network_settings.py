from broker_lite.settings.network_settings import NETWORK_SETTINGS
from tests.settings.golden import assert_as_kafka


def test_as_in_kafka() -> None:
    assert_as_kafka(NETWORK_SETTINGS, "broker")
