from broker_lite.settings.declared.log_settings import LOG_SETTINGS
from tests.settings.golden import assert_as_kafka


def test_as_in_kafka() -> None:
    assert_as_kafka(LOG_SETTINGS, "broker")
