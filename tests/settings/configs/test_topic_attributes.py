from typing import get_type_hints

import pytest

from broker_lite.settings import TOPIC_SETTINGS, Settings, topic_config
from broker_lite.settings.configs.topic_attributes import TopicAttributes

TYPES = get_type_hints(TopicAttributes)


def test_every_setting_of_a_topic_has_a_type() -> None:
    assert set(TYPES) == {setting.attribute for setting in TOPIC_SETTINGS.values()}


@pytest.mark.parametrize("attribute", TYPES)
def test_a_default_has_its_type(attribute: str) -> None:
    value = getattr(topic_config(Settings()), attribute)
    expected = TYPES[attribute]
    assert isinstance(value, tuple if expected == tuple[str, ...] else expected)
