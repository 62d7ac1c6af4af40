from broker_lite.settings.declared.inert_settings import INERT_SETTINGS
from tests.settings.golden import assert_as_kafka


def test_as_in_kafka() -> None:
    assert_as_kafka(INERT_SETTINGS, "broker")
