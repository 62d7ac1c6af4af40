"""The hand-written decoder against the generated one, and against what is not a request."""

from typing import Any

import pytest

from broker_lite.wire import DecodeError, messages, produce
from tests.wire.hand_written import check_edited_bytes, check_every_prefix
from tests.wire.samples import Sampler, SmallSampler

VERSIONS = range(14)


def from_generated(value: Any, version: int) -> produce.ProduceRequest:
    topics = [
        (
            topic.name if version < 13 else None,
            topic.topic_id if version >= 13 else None,
            [(partition.index, partition.records) for partition in topic.partition_data],
        )
        for topic in value.topic_data
    ]
    return produce.ProduceRequest(value.transactional_id, value.acks, value.timeout_ms, topics)


@pytest.mark.parametrize("version", VERSIONS, ids=lambda version: f"P-178 v{version}")
def test_as_generated(version: int) -> None:
    for seed in range(60):
        sampler = Sampler("ProduceRequest", version, seed)
        value = sampler.value()
        body = messages.ProduceRequest.encode(value, version)
        expected = from_generated(value, version)
        assert produce.decode_produce_request(memoryview(body), version) == expected
        shifted = b"head" + body + b"trailing"  # P-09
        assert produce.decode_produce_request(shifted, version, 4) == expected


@pytest.mark.parametrize("version", VERSIONS)
def test_long_lengths_p22(version: int) -> None:
    message = messages.ProduceRequest
    partitions = [
        message.PartitionProduceData(index=index, records=bytes([index % 251]) * 100)
        for index in range(200)
    ]
    partitions[3].records = bytes(70_000)
    partitions[4].unknown_tags = [(1, b"x")] if version >= 9 else None
    shares = [partitions, *[partitions[:20]] * 139]
    topics = [message.TopicProduceData(partition_data=share) for share in shares]
    if version < 13:
        topics[1].name = "n" * 32767
        topics[2].name = "n" * 200
    transactional_id = "t" * 200 if version >= 3 else None
    value = message(
        transactional_id=transactional_id, acks=-1, timeout_ms=-(1 << 31), topic_data=topics
    )
    body = message.encode(value, version)
    assert produce.decode_produce_request(body, version) == from_generated(value, version)


def test_records_are_views_of_the_frame_p178() -> None:
    body = bytearray(SmallSampler("ProduceRequest", 9, 0).encoded())
    request = produce.decode_produce_request(memoryview(body), 9)
    records = request.topics[0][2][0][1]
    assert isinstance(records, memoryview)
    assert records.obj is body
    records[0] = 0x7A
    assert b"zde" in body


@pytest.mark.parametrize("version", [-1, 14])
def test_other_versions_p10(version: int) -> None:
    with pytest.raises(DecodeError, match="no version"):
        produce.decode_produce_request(bytes(40), version)


@pytest.mark.parametrize("version", VERSIONS, ids=lambda version: f"P-08 v{version}")
def test_every_prefix_ends_too_early(version: int) -> None:
    check_every_prefix("ProduceRequest", version, produce.decode_produce_request)


@pytest.mark.parametrize("version", VERSIONS, ids=lambda version: f"P-08 v{version}")
def test_edited_bytes_like_generated(version: int) -> None:
    check_edited_bytes("ProduceRequest", version, produce.decode_produce_request, from_generated)


HEAD_V3 = "ffff ffff 00007530"
HEAD_V9 = "00 ffff 00007530"


@pytest.mark.parametrize(
    ("body", "version"),
    [
        pytest.param(HEAD_V3 + "ffffffff", 3, id="P-27 topics null"),
        pytest.param(HEAD_V3 + "00000001", 3, id="P-34 topics limit + 1"),
        pytest.param(HEAD_V3 + "7fffffff", 3, id="P-34 topics largest"),
        pytest.param(HEAD_V3 + "00000001 ffff 00000000", 3, id="P-23 name null"),
        pytest.param(HEAD_V3 + "00000001 0002 74 00000000", 3, id="P-34 name"),
        pytest.param(HEAD_V3 + "00000001 0000 ffffffff", 3, id="P-27 partitions null"),
        pytest.param(HEAD_V3 + "00000001 0000 00000001", 3, id="P-34 partitions limit + 1"),
        pytest.param(HEAD_V3 + "00000001 0000 00000001 00000000 00000001", 3, id="P-34 records"),
        pytest.param("0005 74 ffff 00007530 00000000", 3, id="P-34 transactional id"),
        pytest.param(HEAD_V9 + "00 00", 9, id="P-27 compact topics null"),
        pytest.param(HEAD_V9 + "02 00", 9, id="P-34 compact topics limit + 1"),
        pytest.param(HEAD_V9 + "ffffffff07 00", 9, id="P-34 compact topics largest"),
        pytest.param(HEAD_V9 + "02 00 01 00 00", 9, id="P-24 compact name null"),
        pytest.param(HEAD_V9 + "02 818002" + "61" * 32768 + "01 00 00", 9, id="P-24 over 32767"),
        pytest.param(HEAD_V9 + "02 01 00 00 00", 9, id="P-27 compact partitions null"),
        pytest.param(HEAD_V9 + "02 01 02 00 00", 9, id="P-34 compact partitions limit + 1"),
        pytest.param(HEAD_V9 + "02 01 02 00000000 02 00 00", 9, id="P-34 compact records"),
        pytest.param(HEAD_V9 + "02 01 02 00000000 ffffffff07 00 00 00", 9, id="P-34 largest"),
        pytest.param(HEAD_V9 + "01 01 05 05 ab", 9, id="P-34 tag"),
        pytest.param(HEAD_V9 + "02" + "00" * 15, 13, id="P-34 topic id"),
    ],
)
def test_length_out_of_range(body: str, version: int) -> None:
    with pytest.raises(DecodeError):
        produce.decode_produce_request(bytes.fromhex(body), version)


def test_null_records_v02() -> None:
    body = HEAD_V9 + "02 0274 02 00000007 00 00 00 00"
    request = produce.decode_produce_request(bytes.fromhex(body), 9)
    assert request == (None, -1, 30000, [("t", None, [(7, None)])])


def null_partitions(counts: list[int], version: int) -> bytes:
    """A request with topics of so many partitions each, none with records."""
    message = messages.ProduceRequest
    partition = message.PartitionProduceData(records=None)
    topics = [message.TopicProduceData(partition_data=[partition] * count) for count in counts]
    return message.encode(message(topic_data=topics), version)


@pytest.mark.parametrize("version", [8, 9], ids=["P-34 old", "P-34 flexible"])
@pytest.mark.parametrize("counts", [[4096], [1500, 2596], [0] * 4096], ids=["one", "two", "topics"])
def test_topics_and_partitions_up_to_the_limit(version: int, counts: list[int]) -> None:
    request = produce.decode_produce_request(null_partitions(counts, version), version)
    assert [len(partitions) for _, _, partitions in request.topics] == counts


@pytest.mark.parametrize("version", [2, 8, 9, 13], ids=lambda version: f"P-34 v{version}")
@pytest.mark.parametrize(
    "counts",
    [[0] * 4097, [4097], [1500, 2597], [4096, 1]],
    ids=["topics", "one", "two", "one more"],
)
def test_very_many_partitions_are_left_to_the_decoder_that_pauses(
    version: int, counts: list[int]
) -> None:
    body = null_partitions(counts, version)
    with pytest.raises(produce.ManyPartitions):
        produce.decode_produce_request(body, version)
    # dispatch() has others decode what is larger than 8 KiB only
    assert len(body) > 8192
    with pytest.raises(DecodeError) as cut:
        produce.decode_produce_request(body[:8192], version)
    assert cut.type is DecodeError


@pytest.mark.parametrize(("count", "is_good"), [(16, True), (17, False)], ids=["P-34", "P-34 + 1"])
def test_tagged_fields_in_one_place(count: int, is_good: bool) -> None:
    message = messages.ProduceRequest
    tags = [(number, b"") for number in range(count)]
    body = message.encode(message(topic_data=[], unknown_tags=tags), 9)
    if is_good:
        assert produce.decode_produce_request(body, 9).topics == []
    else:
        with pytest.raises(DecodeError):
            produce.decode_produce_request(body, 9)
