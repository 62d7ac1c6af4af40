import dataclasses

import pytest

from broker_lite.control.metadata.topic import Topic


def test_a_topic_is_a_value() -> None:
    topic = Topic(name="t", topic_id=b"i" * 16, leader_epochs=(0, 4), overrides={})
    assert topic.partition_count == 2
    with pytest.raises(dataclasses.FrozenInstanceError):
        topic.name = "u"  # type: ignore[misc]
