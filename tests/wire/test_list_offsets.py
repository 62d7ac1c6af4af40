"""The hand-written codec against the generated one, and against what is not a request."""

import random
from typing import Any

import pytest

from broker_lite.wire import DecodeError, EncodeError, list_offsets, messages
from broker_lite.wire.list_offsets import AskedPartition, ListedPartition, ListOffsetsRequest
from tests.wire.hand_written import check_edited_bytes, check_every_prefix
from tests.wire.samples import Sampler

VERSIONS = range(12)


def from_generated(value: Any, version: int) -> ListOffsetsRequest:
    topics = [
        (
            topic.name,
            [
                AskedPartition(
                    each.partition_index,
                    each.current_leader_epoch,
                    each.timestamp,
                    each.max_num_offsets if version == 0 else 1,
                )
                for each in topic.partitions
            ],
        )
        for topic in value.topics
    ]
    return ListOffsetsRequest(value.replica_id, value.isolation_level, topics)


@pytest.mark.parametrize("version", VERSIONS, ids=lambda version: f"P-178 v{version}")
def test_requests_as_generated(version: int) -> None:
    for seed in range(60):
        value = Sampler("ListOffsetsRequest", version, seed).value()
        body = messages.ListOffsetsRequest.encode(value, version)
        decoded, _ = messages.ListOffsetsRequest.decode(body, version)
        expected = from_generated(decoded, version)
        assert list_offsets.decode_list_offsets_request(memoryview(body), version) == expected
        shifted = b"head" + body + b"trailing"  # P-09
        assert list_offsets.decode_list_offsets_request(shifted, version, 4) == expected


@pytest.mark.parametrize("version", VERSIONS)
def test_long_lengths_p22(version: int) -> None:
    message = messages.ListOffsetsRequest
    partitions = [
        message.ListOffsetsPartition(partition_index=index, timestamp=-index)
        for index in range(200)
    ]
    if version >= 6:
        partitions[4].unknown_tags = [(1, b"x")]
    topics = [message.ListOffsetsTopic(name="n", partitions=partitions) for _ in range(140)]
    topics[1].name = "n" * 32767
    topics[2].name = "n" * 200
    body = message.encode(message(replica_id=-1, topics=topics), version)
    decoded, _ = message.decode(body, version)
    assert list_offsets.decode_list_offsets_request(body, version) == from_generated(
        decoded, version
    )


@pytest.mark.parametrize("version", [-1, 12])
def test_other_versions_p10(version: int) -> None:
    with pytest.raises(DecodeError, match="no version"):
        list_offsets.decode_list_offsets_request(bytes(40), version)
    with pytest.raises(EncodeError, match="no version"):
        list_offsets.encode_list_offsets_response(version, [])


@pytest.mark.parametrize("version", VERSIONS, ids=lambda version: f"P-08 v{version}")
def test_every_prefix_ends_too_early(version: int) -> None:
    check_every_prefix("ListOffsetsRequest", version, list_offsets.decode_list_offsets_request)


@pytest.mark.parametrize("version", VERSIONS, ids=lambda version: f"P-08 v{version}")
def test_edited_bytes_like_generated(version: int) -> None:
    check_edited_bytes(
        "ListOffsetsRequest", version, list_offsets.decode_list_offsets_request, from_generated
    )


HEAD_V1 = "ffffffff"
HEAD_V2 = "ffffffff 00"


@pytest.mark.parametrize(
    ("body", "version"),
    [
        pytest.param(HEAD_V1 + "ffffffff", 1, id="P-27 topics null"),
        pytest.param(HEAD_V1 + "00000001", 1, id="P-34 topics limit + 1"),
        pytest.param(HEAD_V2 + "7fffffff", 2, id="P-34 topics largest"),
        pytest.param(HEAD_V2 + "00000001 ffff 00000000", 2, id="P-23 name null"),
        pytest.param(HEAD_V2 + "00000001 0002 74 00000000", 2, id="P-34 name"),
        pytest.param(HEAD_V2 + "00000001 0000 ffffffff", 2, id="P-27 partitions null"),
        pytest.param(HEAD_V2 + "00000001 0000 00000001" + "00" * 11, 2, id="P-34 partitions + 1"),
        pytest.param(HEAD_V2 + "00 00", 6, id="P-27 compact topics null"),
        pytest.param(HEAD_V2 + "02 00", 6, id="P-34 compact topics limit + 1"),
        pytest.param(HEAD_V2 + "ffffffff07 00", 6, id="P-34 compact topics largest"),
        pytest.param(HEAD_V2 + "02 00 01 00 00", 6, id="P-24 compact name null"),
        pytest.param(HEAD_V2 + "02 818002" + "61" * 32768 + "01 00 00", 6, id="P-24 over 32767"),
        pytest.param(HEAD_V2 + "02 01 00 00 00", 6, id="P-27 compact partitions null"),
        pytest.param(HEAD_V2 + "02 01 02" + "00" * 16, 6, id="P-34 compact partitions + 1"),
        pytest.param(HEAD_V2 + "01 01 05 05 ab", 6, id="P-34 tag"),
        pytest.param(HEAD_V2 + "01 000000 00", 10, id="P-08 timeout"),
    ],
)
def test_length_out_of_range(body: str, version: int) -> None:
    with pytest.raises(DecodeError):
        list_offsets.decode_list_offsets_request(bytes.fromhex(body), version)


@pytest.mark.parametrize("count", [16, 17])
def test_tagged_fields_in_one_place_p30_p34(count: int) -> None:
    message = messages.ListOffsetsRequest
    tags = [(number, b"ab") for number in range(count)]
    body = message.encode(message(topics=[], unknown_tags=tags), 6)
    if count == 16:
        assert list_offsets.decode_list_offsets_request(body, 6).topics == []
    else:
        with pytest.raises(DecodeError):
            list_offsets.decode_list_offsets_request(body, 6)


def generated_response(topics: list[tuple[str, list[ListedPartition]]], version: int) -> bytes:
    message = messages.ListOffsetsResponse
    return message.encode(
        message(
            topics=[
                message.ListOffsetsTopicResponse(
                    name=name,
                    partitions=[
                        message.ListOffsetsPartitionResponse(
                            partition_index=each.partition_index,
                            error_code=each.error_code,
                            timestamp=each.timestamp if version >= 1 else -1,
                            offset=each.offset if version >= 1 else -1,
                            leader_epoch=each.leader_epoch if version >= 4 else -1,
                            old_style_offsets=list(each.old_style_offsets),
                        )
                        for each in partitions
                    ],
                )
                for name, partitions in topics
            ]
        ),
        version,
    )


@pytest.mark.parametrize("version", VERSIONS, ids=lambda version: f"F-70 F-74 v{version}")
def test_responses_as_generated(version: int) -> None:
    choose = random.Random(version)
    for _ in range(60):
        topics = [
            (
                choose.choice(("", "t", "größer", "n" * 200)),
                [
                    ListedPartition(
                        partition_index=choose.choice((0, (1 << 31) - 1)),
                        error_code=choose.choice((-1, 0, 35)),
                        timestamp=choose.choice((-1, 1 << 40)),
                        offset=choose.choice((-1, 0, (1 << 63) - 1)),
                        leader_epoch=choose.choice((-1, 7)),
                        old_style_offsets=choose.choice(([], [5], [1 << 40, 0]))
                        if version == 0
                        else (),
                    )
                    for _ in range(choose.choice((0, 1, 2, 200)))
                ],
            )
            for _ in range(choose.choice((0, 1, 3)))
        ]
        body = list_offsets.encode_list_offsets_response(version, topics)
        assert body == generated_response(topics, version)
