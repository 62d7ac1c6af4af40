"""The hand-written Fetch response against the generated codec."""

import random
from itertools import groupby
from operator import attrgetter
from typing import Any, NamedTuple

import pytest

from broker_lite.wire import EncodeError, fetch, messages
from broker_lite.wire.fetch import FetchedPartition, NodeEndpoint

VERSIONS = range(19)


class Slice(NamedTuple):
    """Stands for a slice of a file."""

    size_bytes: int


def generated_partition(partition: FetchedPartition, records: Any, version: int) -> Any:
    message = messages.FetchResponse
    aborted = partition.aborted_transactions
    fields: dict[str, Any] = {}
    if version >= 12 and partition.diverging_epoch is not None:
        epoch, end_offset = partition.diverging_epoch
        fields["diverging_epoch"] = message.EpochEndOffset(epoch=epoch, end_offset=end_offset)
    if version >= 12 and partition.current_leader is not None:
        leader_id, epoch = partition.current_leader
        fields["current_leader"] = message.LeaderIdAndEpoch(leader_id=leader_id, leader_epoch=epoch)
    if version >= 11:
        fields["preferred_read_replica"] = partition.preferred_replica
    return message.PartitionData(
        partition_index=partition.index,
        error_code=partition.error_code,
        high_watermark=partition.high_watermark,
        last_stable_offset=partition.last_stable_offset,
        log_start_offset=partition.log_start_offset,
        aborted_transactions=None
        if aborted is None
        else [message.AbortedTransaction(producer_id=p, first_offset=o) for p, o in aborted],  # type: ignore[misc]
        records=records,
        **fields,
    )


def joined(parts: list[fetch.Part]) -> bytes:
    return b"".join(
        bytes(part.size_bytes) if isinstance(part, Slice) else part  # type: ignore[misc]
        for part in parts
    )


class Aborted(NamedTuple):
    """Stands for an entry of a log's index."""

    producer_id: int
    first_offset: int


def random_partition(choose: random.Random, topic: str | bytes) -> FetchedPartition:
    pair = (choose.randrange(100), choose.randrange(100))
    return FetchedPartition(
        topic,
        choose.randrange(10),
        error_code=choose.choice((0, 1)),
        high_watermark=choose.choice((-1, 1 << 40)),
        last_stable_offset=choose.choice((-1, 1 << 40)),
        log_start_offset=choose.choice((-1, 7)),
        aborted_transactions=choose.choice(
            (None, (), [Aborted(1, 2)], [Aborted(3, 4), Aborted(5, 6)])
        ),
        records=choose.choice((None, b"", b"abc", bytes(200), Slice(70_000), Slice(0))),
        diverging_epoch=choose.choice((None, pair)),
        current_leader=choose.choice((None, pair)),
        preferred_replica=choose.choice((-1, 3)),
    )


@pytest.mark.parametrize("version", VERSIONS, ids=lambda version: f"F-01 v{version}")
def test_as_generated(version: int) -> None:
    choose = random.Random(version)
    message = messages.FetchResponse
    topics: list[str | bytes] = [bytes(range(16)), bytes(16)] if version >= 13 else ["topic", "t"]
    endpoints = [NodeEndpoint(1, "h", 9092), NodeEndpoint(2, "g", 9093, "rack")]
    for _ in range(60):
        partitions = [
            random_partition(choose, topic)
            for topic in choose.choices(topics, k=2)
            for _ in range(choose.randrange(4))
        ]
        with_endpoints = choose.random() < 0.5
        parts = fetch.encode_fetch_response(
            version,
            partitions,
            error_code=70,
            session_id=9,
            node_endpoints=endpoints if with_endpoints else (),
        )
        value = message(
            error_code=70,
            session_id=9 if version >= 7 else 0,
            responses=[
                message.FetchableTopicResponse(
                    **{"topic_id" if version >= 13 else "topic": topic},
                    partitions=[
                        generated_partition(
                            partition,
                            bytes(partition.records.size_bytes)
                            if isinstance(partition.records, Slice)
                            else partition.records,
                            version,
                        )
                        for partition in group
                    ],
                )
                for topic, group in groupby(partitions, attrgetter("topic"))
            ],
        )
        if with_endpoints and version >= 16:
            value.node_endpoints = [
                message.NodeEndpoint(node_id=1, host="h", port=9092),
                message.NodeEndpoint(node_id=2, host="g", port=9093, rack="rack"),
            ]
        assert joined(parts) == message.encode(value, version)


@pytest.mark.parametrize("version", VERSIONS)
def test_records_are_handed_through_p178(version: int) -> None:
    first, second = Slice(1000), Slice(6)
    topic = bytes(16) if version >= 13 else "t"
    partitions = [
        FetchedPartition(topic, 0, records=first),
        FetchedPartition(topic, 1, records=second),
        FetchedPartition(topic, 2),
        FetchedPartition(topic, 3, records=Slice(0)),
    ]
    parts = fetch.encode_fetch_response(version, partitions)
    assert [part for part in parts if not isinstance(part, bytes)] == [first, second]
    assert parts[1] is first
    assert parts[3] is second
    assert all(part for part in parts if isinstance(part, bytes))


def test_parts_end_with_records_in_old_versions() -> None:
    parts = fetch.encode_fetch_response(4, [FetchedPartition("t", 0, records=b"abc")])
    assert len(parts) == 2
    assert parts[1] == b"abc"


def test_long_counts_p22() -> None:
    partitions = [
        FetchedPartition(f"{'n' * 200}{number}", index)
        for number in range(200)
        for index in range(200)
    ]
    body = joined(fetch.encode_fetch_response(12, partitions))
    value, end = messages.FetchResponse.decode(body, 12)
    assert end == len(body)
    assert [len(topic.partitions) for topic in value.responses] == [200] * 200
    assert value.responses[3].partitions[2].records == b""


@pytest.mark.parametrize("version", [-1, 19])
def test_other_versions(version: int) -> None:
    with pytest.raises(EncodeError, match="no version"):
        fetch.encode_fetch_response(version, [])


@pytest.mark.parametrize(
    ("version", "topic"),
    [
        pytest.param(12, bytes(16), id="P-33 no name"),
        pytest.param(13, "t", id="P-33 no id"),
        pytest.param(13, b"short", id="P-21 short id"),
        pytest.param(11, "n" * 32768, id="P-23 name too long"),
        pytest.param(12, "n" * 32768, id="P-24 name too long"),
    ],
)
def test_topic_that_the_version_cannot_name(version: int, topic: str | bytes) -> None:
    with pytest.raises(EncodeError):
        fetch.encode_fetch_response(version, [FetchedPartition(topic, 0)])


def test_an_answer_of_many_partitions_is_joined_in_pieces_p178() -> None:
    many = [FetchedPartition(topic, index) for topic in "tu" for index in range(2000)]
    parts = fetch.encode_fetch_response(12, many)
    assert len(parts) > 2
    decoded, _ = messages.FetchResponse.decode(joined(parts), 12)
    assert [len(topic.partitions) for topic in decoded.responses] == [2000, 2000]
