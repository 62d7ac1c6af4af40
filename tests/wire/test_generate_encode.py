"""What the encoders refuse, and what they leave out."""

from typing import Any

import pytest

from broker_lite.wire import EncodeError, messages


@pytest.mark.parametrize(
    ("version", "fields"),
    [
        pytest.param(0, {"topics": None}, id="P-27 null array"),
        pytest.param(1, {"topics": 7}, id="not an array"),
        pytest.param(3, {"allow_auto_topic_creation": False}, id="P-33 absent, not ignorable"),
        pytest.param(7, {"include_topic_authorized_operations": True}, id="P-33 absent bool"),
        pytest.param(11, {"include_cluster_authorized_operations": True}, id="P-33 gone"),
        pytest.param(9, {"unknown_tags": [(1, b""), (1, b"")]}, id="P-29 tag twice"),
        pytest.param(9, {"unknown_tags": [(-1, b"")]}, id="P-29 negative tag"),
    ],
)
def test_refused_request(version: int, fields: dict[str, Any]) -> None:
    with pytest.raises(EncodeError, match=f"MetadataRequest v{version}"):
        messages.MetadataRequest.encode(messages.MetadataRequest(**fields), version)


@pytest.mark.parametrize(
    ("version", "fields"),
    [
        pytest.param(4, {"name": None}, id="P-23 null"),
        pytest.param(9, {"name": None}, id="P-24 null"),
        pytest.param(4, {"name": "n" * 32768}, id="P-23 over 32767"),
        pytest.param(9, {"name": "n" * 32768}, id="P-24 over 32767"),
        pytest.param(9, {"name": b"n"}, id="bytes for text"),
        pytest.param(9, {"name": "\ud800"}, id="no UTF-8"),
        pytest.param(12, {"topic_id": b"short"}, id="P-21 short"),
        pytest.param(12, {"topic_id": None}, id="P-21 null"),
    ],
)
def test_refused_topic(version: int, fields: dict[str, Any]) -> None:
    topic = messages.MetadataRequest.MetadataRequestTopic(**fields)
    with pytest.raises(EncodeError):
        messages.MetadataRequest.encode(messages.MetadataRequest(topics=[topic]), version)


@pytest.mark.parametrize("value", [1 << 31, -(1 << 31) - 1, None, "1", 1.5])
def test_refused_number_p20(value: object) -> None:
    with pytest.raises(EncodeError):
        messages.FetchRequest.encode(messages.FetchRequest(max_wait_ms=value), 12)


def test_wrong_type() -> None:
    with pytest.raises(EncodeError):
        messages.FetchRequest.encode(messages.MetadataRequest(), 12)
    with pytest.raises(EncodeError):
        messages.SyncGroupResponse.encode(messages.SyncGroupResponse(assignment="text"), 5)


def test_ignorable_field_is_dropped_p33() -> None:
    response = messages.MetadataResponse(throttle_time_ms=9, cluster_id="id", controller_id=4)
    assert messages.MetadataResponse.encode(response, 0) == bytes(8)


def test_absent_array_and_struct_p33() -> None:
    request = messages.OffsetFetchRequest
    group = request.OffsetFetchRequestGroup(group_id="g")
    with pytest.raises(EncodeError, match="Groups"):
        request.encode(request(groups=[group]), 7)
    describe = messages.DescribeTopicPartitionsRequest
    assert describe.encode(describe(cursor=None), 0).hex().endswith("ff00")  # P-28


def test_default_tag_is_omitted_p31() -> None:
    response = messages.ProduceResponse
    partition = response.PartitionProduceResponse()
    topic = response.TopicProduceResponse(name="t", partition_responses=[partition])
    plain = response.encode(response(responses=[topic]), 10)
    assert plain.endswith(bytes.fromhex("01 00 00 00 00000000 00"))
    partition.current_leader.leader_id = 5
    tagged = response.encode(response(responses=[topic]), 10)
    assert bytes.fromhex("01 00 01 00 09 00000005 ffffffff 00 00 00000000 00") in tagged
    partition.unknown_tags = [(1, b"x")]
    both = response.encode(response(responses=[topic]), 10)
    assert bytes.fromhex("02 00 09 00000005 ffffffff 00 01 01 78") in both


def test_unknown_tags_are_lost_in_versions_without_tags_p29() -> None:
    request = messages.MetadataRequest(unknown_tags=[(1, b"x")])
    assert messages.MetadataRequest.encode(request, 1) == bytes(4)


@pytest.mark.parametrize("count", [0, 1, 15, 16, 126, 127, 128, 20_000])
@pytest.mark.parametrize("version", [8, 9])
def test_array_lengths_p27(count: int, version: int) -> None:
    message = messages.MetadataResponse
    partition = message.MetadataResponsePartition(replica_nodes=list(range(count)))
    topic = message.MetadataResponseTopic(name="t" * min(count, 300), partitions=[partition])
    value = message(topics=[topic])
    assert message.decode(message.encode(value, version), version)[0] == value


def test_tagged_struct_that_is_null_p28() -> None:
    """Measured against Kafka 4.3.1: a varint of 0 or 1 marks null; the default is not null."""
    message = messages.ConsumerGroupMemberMetadataValue
    plain = message.encode(message(), 0)
    assert plain.endswith(b"\0")
    null = message(classic_member_metadata=None)
    body = message.encode(null, 0)
    assert body == plain[:-1] + bytes.fromhex("01 00 01 00")
    assert message.decode(body, 0)[0] == null
