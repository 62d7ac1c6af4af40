from broker_lite.settings.coordinator_settings import COORDINATOR_SETTINGS
from tests.settings.golden import assert_as_kafka


def test_as_in_kafka() -> None:
    assert_as_kafka(COORDINATOR_SETTINGS, "broker")
