"""The settings of synthetic topics: only a topic has them, and only here."""

from broker_lite.settings import Settings, topic_config
from broker_lite.settings.declared.load_settings import LOAD_SETTINGS
from broker_lite.settings.setting import Scope


def test_they_are_of_topics_and_dynamic() -> None:
    for setting in LOAD_SETTINGS:
        assert setting.name.startswith("broker.lite.load.")
        assert (setting.scope, setting.dynamic, setting.own) == (Scope.TOPIC, True, True)


def test_a_topic_is_stored_by_default() -> None:
    config = topic_config(Settings())
    assert config.broker_lite_load_mode == "stored"
    assert config.broker_lite_load_end == 1 << 62
