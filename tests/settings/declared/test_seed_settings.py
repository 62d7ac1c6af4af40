from broker_lite.settings.declared.seed_settings import SEED_SETTINGS
from tests.settings.golden import assert_as_kafka


def test_kafka_has_none_of_these() -> None:
    assert_as_kafka(SEED_SETTINGS, "broker")
    assert all(setting.own for setting in SEED_SETTINGS)
