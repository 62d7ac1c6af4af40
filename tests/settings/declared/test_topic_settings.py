from broker_lite.settings.declared.topic_settings import TOPIC_SETTINGS
from tests.settings.golden import assert_as_kafka, load


def test_as_in_kafka() -> None:
    assert_as_kafka(TOPIC_SETTINGS, "topic")


def test_every_topic_setting_of_kafka_is_there() -> None:
    """P-121, S-99; a setting of broker-lite's own is not in this list."""
    names = {setting.name for setting in TOPIC_SETTINGS if not setting.own}
    assert names == set(load("config_def")["topic"])
