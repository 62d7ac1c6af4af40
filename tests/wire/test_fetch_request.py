"""The hand-written decoder against the generated one, and against what is not a request."""

from typing import Any

import pytest

from broker_lite.wire import DecodeError, messages
from broker_lite.wire.fetch_request import (
    FetchRequest,
    WantedPartition,
    decode_fetch_request,
    wanted_of,
    without_topics,
)
from tests.wire.hand_written import check_edited_bytes, check_every_prefix
from tests.wire.samples import Sampler, SmallSampler

VERSIONS = range(19)


# A compiled class has no __slots__.
FIELDS: dict[type, tuple[str, ...]] = {
    WantedPartition: (
        "index",
        "fetch_offset",
        "max_bytes",
        "current_leader_epoch",
        "last_fetched_epoch",
    ),
    FetchRequest: (
        "replica_id",
        "max_wait_ms",
        "min_bytes",
        "max_bytes",
        "isolation_level",
        "session_id",
        "session_epoch",
        "topics",
        "forgotten",
        "rack_id",
    ),
}


def fields(value: Any) -> dict[str, Any]:
    return {name: getattr(value, name) for name in FIELDS[type(value)]}


def plain(request: FetchRequest) -> dict[str, Any]:
    """A request as values that can be compared."""
    topics = [(name, [fields(each) for each in wanted]) for name, wanted in request.topics]
    return {**fields(request), "topics": topics}


def decoded(body: memoryview | bytes, version: int, position: int = 0) -> dict[str, Any]:
    return plain(decode_fetch_request(body, version, position))


def from_generated(value: Any, version: int) -> dict[str, Any]:
    request = without_topics(value, version)
    name = "topic_id" if version >= 13 else "topic"
    request.topics = [
        (getattr(topic, name), [wanted_of(each) for each in topic.partitions])
        for topic in value.topics
    ]
    request.forgotten = [
        (getattr(topic, name), topic.partitions) for topic in value.forgotten_topics_data
    ]
    return plain(request)


@pytest.mark.parametrize("version", VERSIONS, ids=lambda version: f"P-178 v{version}")
def test_as_generated(version: int) -> None:
    for seed in range(60):
        body = Sampler("FetchRequest", version, seed).encoded()
        value, _ = messages.FetchRequest.decode(body, version)
        expected = from_generated(value, version)
        assert decoded(memoryview(body), version) == expected
        assert decoded(b"head" + body + b"trailing", version, 4) == expected  # P-09


@pytest.mark.parametrize("version", [12, 13, 15, 17, 18], ids=lambda version: f"F-01 v{version}")
def test_tagged_fields(version: int) -> None:
    message = messages.FetchRequest
    known = {"cluster_id": "c"}
    if version >= 15:
        known["replica_state"] = message.ReplicaState(replica_id=3, replica_epoch=4)
    wanted = message.FetchPartition(partition=1, unknown_tags=[(9, b"x")])
    topic = message.FetchTopic(partitions=[wanted], unknown_tags=[(8, b"")])
    value = message(topics=[topic], unknown_tags=[(7, b"abc")], **known)
    body = message.encode(value, version)
    assert decoded(body, version) == from_generated(value, version)
    assert decode_fetch_request(body, version).replica_id == (3 if version >= 15 else -1)


def test_what_an_old_version_lacks_f01() -> None:
    message = messages.FetchRequest
    body = message.encode(message(topics=[message.FetchTopic(partitions=[])]), 0)
    request = decode_fetch_request(body, 0)
    assert (request.max_bytes, request.session_epoch, request.rack_id) == (0x7FFFFFFF, -1, "")
    assert plain(request)["topics"] == [("", [])]
    assert fields(WantedPartition(1, 2, 3)) == {
        "index": 1,
        "fetch_offset": 2,
        "max_bytes": 3,
        "current_leader_epoch": -1,
        "last_fetched_epoch": -1,
    }


@pytest.mark.parametrize("version", VERSIONS)
def test_long_lengths_p22(version: int) -> None:
    message = messages.FetchRequest
    partitions = [message.FetchPartition(partition=i, fetch_offset=i << 40) for i in range(200)]
    topics = [message.FetchTopic(partitions=partitions) for _ in range(140)]
    forgotten = []
    if version < 13:
        topics[1].topic = "n" * 32767
        topics[2].topic = "n" * 200
    if version >= 7:
        forgotten = [message.ForgottenTopic(partitions=list(range(300)))] * 150
    rack_id = "r" * 300 if version >= 11 else ""
    value = message(topics=topics, forgotten_topics_data=forgotten, rack_id=rack_id)
    body = message.encode(value, version)
    assert decoded(body, version) == from_generated(value, version)


@pytest.mark.parametrize("version", [-1, 19])
def test_other_versions_p10(version: int) -> None:
    with pytest.raises(DecodeError, match="no version"):
        decode_fetch_request(bytes(40), version)


@pytest.mark.parametrize("version", VERSIONS, ids=lambda version: f"P-08 v{version}")
def test_every_prefix_ends_too_early(version: int) -> None:
    check_every_prefix("FetchRequest", version, decode_fetch_request)


@pytest.mark.parametrize("version", VERSIONS, ids=lambda version: f"P-08 v{version}")
def test_edited_bytes_like_generated(version: int) -> None:
    check_edited_bytes("FetchRequest", version, decoded, from_generated)


HEAD_V11 = "ffffffff 00000000 00000000 00000000 00 00000000 ffffffff"


@pytest.mark.parametrize(
    ("body", "version"),
    [
        pytest.param(HEAD_V11 + "ffffffff", 11, id="P-27 topics null"),
        pytest.param(HEAD_V11 + "7fffffff", 11, id="P-34 topics largest"),
        pytest.param(HEAD_V11 + "00000000 00000001", 11, id="P-34 forgotten limit + 1"),
        pytest.param(HEAD_V11 + "00", 12, id="P-27 compact topics null"),
        pytest.param(HEAD_V11 + "ffffffff07", 12, id="P-34 compact topics largest"),
        pytest.param(HEAD_V11 + "02 02 74 00 00", 12, id="P-27 compact partitions null"),
        pytest.param(HEAD_V11 + "02 02 74 02 00", 12, id="P-34 compact partitions limit + 1"),
        pytest.param(HEAD_V11 + "01 02 02 74 03 00000000 00", 12, id="P-34 forgotten partitions"),
        pytest.param(HEAD_V11 + "01 01 00 00", 12, id="P-24 rack null"),
    ],
)
def test_length_out_of_range(body: str, version: int) -> None:
    with pytest.raises(DecodeError):
        decode_fetch_request(bytes.fromhex(body), version)


def test_not_more_than_a_view_is_read_p178() -> None:
    body = SmallSampler("FetchRequest", 12, 0).encoded()
    assert decoded(memoryview(bytearray(body)), 12) == decoded(body, 12)
