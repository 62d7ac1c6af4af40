"""What is found of the usual Produce is what the decoder of all requests finds."""

from types import ModuleType
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from broker_lite.wire import DecodeError, messages
from broker_lite.wire.produce import decode_produce_request

VERSIONS = st.integers(9, 13)
EDITS = st.lists(
    st.tuples(st.integers(0, 300), st.integers(0, 255) | st.sampled_from([0, 1, 2, 127, 128])),
    max_size=2,
)


def request(version: int, **given: Any) -> bytes:
    """A Produce of one partition; what is not given is usual."""
    fields: dict[str, Any] = {"name": "t", "index": 3, "records": b"x" * 40, "acks": -1, **given}
    message = messages.ProduceRequest
    by_id = version >= 13
    partition = message.PartitionProduceData(index=fields["index"], records=fields["records"])
    topic = message.TopicProduceData(
        name="" if by_id else fields["name"],
        topic_id=bytes(range(16)) if by_id else bytes(16),
        partition_data=[partition] * fields.get("partitions", 1),
    )
    value = message(
        transactional_id=fields.get("transactional_id"),
        acks=fields["acks"],
        timeout_ms=fields.get("timeout_ms", 30_000),
        topic_data=[topic] * fields.get("topics", 1),
        unknown_tags=fields.get("tags"),
    )
    return message.encode(value, version)


def check_same(body: bytes, version: int, found: Any) -> None:
    """P-178: both give the same, wherever the records are."""
    acks, timeout_ms, start, index_end, index, records_start, records_end = found
    general = decode_produce_request(body, version, 3)
    assert general[:3] == (None, acks, timeout_ms)
    ((name, topic_id, ((general_index, records),)),) = general.topics
    assert (general_index, records) == (index, body[records_start:records_end])
    head = body[start:index_end]
    assert (head[0], head[-5], head[-4:]) == (2, 2, index.to_bytes(4, "big", signed=True))
    if version >= 13:
        assert head[1:-5] == topic_id
    else:
        assert head[1] == len(head) - 6
        assert head[2:-5].decode("utf-8", "replace") == name


@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    version=VERSIONS,
    name=st.text(max_size=30),
    index=st.integers(-(2**31), 2**31 - 1),
    acks=st.integers(-(2**15), 2**15 - 1),
    timeout_ms=st.integers(-(2**31), 2**31 - 1),
    records=st.binary(max_size=300),
    trailing=st.binary(max_size=2),
)
def test_p178_the_usual_request_is_found(
    only_partition: ModuleType, version: int, trailing: bytes, **fields: Any
) -> None:
    """P-09: bytes behind it are nothing to it; a very short one may be left to the decoder."""
    body = b"abc" + request(version, **fields) + trailing
    found = only_partition.find_only_partition(memoryview(body), 3, version >= 13)
    if found is None:
        assert len(fields["records"]) < 20
    else:
        check_same(body, version, found)


@pytest.mark.parametrize("version", [9, 13])
def test_large_records_are_found(only_partition: ModuleType, version: int) -> None:
    body = b"abc" + request(version, records=bytes(3_000_000))
    found = only_partition.find_only_partition(memoryview(body), 3, version >= 13)
    check_same(body, version, found)


@pytest.mark.parametrize(
    "fields",
    [
        {"topics": 0},
        {"topics": 2},
        {"partitions": 0},
        {"partitions": 2},
        {"transactional_id": ""},
        {"transactional_id": "id"},
        {"records": None},
        {"name": "n" * 127},
        {"tags": [(0, b"x")]},
    ],
    ids=str,
)
def test_other_requests_are_left(only_partition: ModuleType, fields: dict[str, Any]) -> None:
    body = request(9, **fields)
    assert only_partition.find_only_partition(memoryview(body), 0, False) is None
    assert only_partition.find_only_partition(memoryview(body), -1, False) is None


@settings(
    max_examples=2000, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(VERSIONS, st.integers(0, 200), EDITS, st.integers(0, 3))
def test_p08_damaged_requests_are_found_only_if_they_are_sound(
    only_partition: ModuleType,
    version: int,
    records_bytes: int,
    edits: list[tuple[int, int]],
    cut_bytes: int,
) -> None:
    body = bytearray(b"abc" + request(version, records=b"r" * records_bytes))
    for position, byte in edits:
        body[3 + position % (len(body) - 3)] = byte
    body = body[: len(body) - cut_bytes]
    found = only_partition.find_only_partition(memoryview(body), 3, version >= 13)
    if found is not None:
        check_same(bytes(body), version, found)
    elif not edits and not cut_bytes:
        assert records_bytes < 20


def test_p34_a_length_of_five_bytes_is_left(only_partition: ModuleType) -> None:
    body = request(9).replace(b"\x29" + b"x" * 40, b"\xa9\x80\x80\x80\x00" + b"x" * 40)
    assert decode_produce_request(body, 9).topics[0][2][0][1] == b"x" * 40
    assert only_partition.find_only_partition(memoryview(body), 0, False) is None


@pytest.mark.parametrize("version", [9, 13])
def test_p08_every_prefix_is_left(only_partition: ModuleType, version: int) -> None:
    body = request(version)
    for size_bytes in range(len(body)):
        part = memoryview(body)[:size_bytes]
        assert only_partition.find_only_partition(part, 0, version >= 13) is None
        with pytest.raises(DecodeError):
            decode_produce_request(part, version)
