import dataclasses

import pytest

from broker_lite.control.metadata.topic import PartitionRegistration, Topic


def test_a_topic_is_a_value() -> None:
    partitions = (PartitionRegistration(1, 0), PartitionRegistration(2, 4))
    topic = Topic(name="t", topic_id=b"i" * 16, partitions=partitions, overrides={})
    assert topic.partition_count == 2
    with pytest.raises(dataclasses.FrozenInstanceError):
        topic.name = "u"  # type: ignore[misc]
