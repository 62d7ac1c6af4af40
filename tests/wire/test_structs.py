import pytest

from broker_lite.wire import ZERO_UUID, messages


def test_defaults_and_fresh_lists_p33() -> None:
    first, second = messages.MetadataResponse(), messages.MetadataResponse()
    assert first.controller_id == -1
    assert first.cluster_id is None
    assert first.topics == []
    assert first.topics is not second.topics
    topic = messages.MetadataResponse.MetadataResponseTopic()
    assert topic.topic_id == ZERO_UUID
    assert messages.ProduceResponse.PartitionProduceResponse().current_leader.leader_id == -1
    assert messages.DescribeTopicPartitionsResponse().next_cursor is None


def test_null_can_be_given_where_the_default_is_not_null() -> None:
    assert messages.MetadataRequest().topics == []
    assert messages.MetadataRequest(topics=None).topics is None


def test_fields_are_keyword_only_and_checked() -> None:
    with pytest.raises(TypeError):
        messages.MetadataRequest([])
    with pytest.raises(TypeError):
        messages.MetadataRequest(nonsense=1)
    with pytest.raises(AttributeError):
        messages.MetadataRequest().nonsense = 1


def test_equality() -> None:
    request = messages.MetadataRequest
    assert request() == request(topics=[], unknown_tags=[])
    assert request() != request(topics=None)
    assert request() != request(unknown_tags=[(9, b"")])
    assert request() != messages.MetadataResponse()
    with pytest.raises(TypeError):
        hash(request())


def test_repr() -> None:
    topic = messages.MetadataRequest.MetadataRequestTopic
    assert repr(topic(name="t", topic_id=b"x" * 16)) == (
        "MetadataRequestTopic(topic_id=b'xxxxxxxxxxxxxxxx', name='t')"
    )
    assert repr(topic(topic_id=b"", unknown_tags=[(1, b"")])) == (
        "MetadataRequestTopic(topic_id=b'', name='', unknown_tags=[(1, b'')])"
    )
