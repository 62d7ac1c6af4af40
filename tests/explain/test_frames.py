"""Requests and responses as whole frames.

Also tests: broker_lite.explain.frame_checks.
"""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from broker_lite.errors import ErrorCode, Why
from broker_lite.explain import (
    CannotExplain,
    Explanation,
    Limits,
    Refused,
    State,
    explain_frame,
)
from broker_lite.explain.frames import is_known
from broker_lite.handler.context import RefusedPartition
from broker_lite.log.validate.validated import ValidationConfig
from broker_lite.wire import messages
from tests.explain.fields import EVERYTHING, NOW_MS, assert_all_whole, by_path, marked
from tests.log.batches import batch, gzipped, record, records
from tests.wire.samples import Sampler

GOOD = batch(records(1))
BAD = batch(records(1), crc=1)


def request(key: int, version: int, body: bytes, *, flexible: bool = False) -> bytes:
    head = b"".join(number.to_bytes(2, "big", signed=True) for number in (key, version))
    return head + (7).to_bytes(4, "big") + b"\0\x02me" + bytes(flexible) + body


def sized(frame: bytes, more: int = 0) -> bytes:
    return (len(frame) + more).to_bytes(4, "big", signed=True) + frame


def produce(*sets: bytes | None, version: int = 9, transactional_id: str | None = None) -> bytes:
    message = messages.ProduceRequest
    value = message(
        acks=-1,
        timeout_ms=1000,
        transactional_id=transactional_id,
        topic_data=[
            message.TopicProduceData(
                name="t",
                partition_data=[
                    message.PartitionProduceData(index=index, records=each)
                    for index, each in enumerate(sets)
                ],
            )
        ],
    )
    return request(0, version, message.encode(value, version), flexible=version >= 9)


def explained(data: bytes, **options: Any) -> Explanation:
    found = explain_frame(data, **{"now_ms": NOW_MS, "limits": EVERYTHING, **options})
    assert_all_whole(found, len(data))
    return found


@pytest.mark.parametrize("version", [3, 8, 9, 13])
@pytest.mark.parametrize("has_size", [False, True])
def test_a_produce_with_its_batches(version: int, has_size: bool) -> None:
    frame = produce(GOOD, gzipped(records(2), count=2), version=version)
    found = explained(sized(frame) if has_size else frame)
    assert (found.kind, found.refused) == ("request", None)
    fields = by_path(found.fields)
    assert ("size" in fields) == has_size
    assert fields["header.request_api_key"].note == "Produce"
    assert fields["header.client_id"].value == "me"
    assert fields["topic_data[0].partition_data[1].index"].value == 1
    inner = "topic_data[0].partition_data[{}].records.batches[0]."
    assert fields[inner.format(0) + "records[0].value"].value == "v"
    assert [part.of for part in found.parts] == [inner.format(1) + "records"]
    assert {each.state for each in found.fields} == {State.READ}


def test_only_the_refused_partition_is_marked() -> None:
    found = explained(produce(GOOD, BAD, GOOD, BAD))
    paths = [f"topic_data[0].partition_data[{index}].records.batches[0].crc" for index in (1, 3)]
    assert marked(found) == paths
    assert [each.path for each in found.refusals] == paths
    assert found.refused is not None
    assert (found.refused.rule, found.refused.error) == ("V-20", "CORRUPT_MESSAGE")
    inner = "topic_data[0].partition_data[2].records.batches[0]."
    assert by_path(found.fields)[inner + "crc"].state is State.READ
    assert len(found.as_json()["more_refused"]) == 1  # type: ignore[arg-type]


def test_what_a_broker_has_answered_decides() -> None:
    """Partition 1 is wrong by its topic's config, 2 is wrong in a way that no bytes tell."""
    why = Why("V-57", "sequence {sequence}", {"sequence": 7})
    small = ValidationConfig(topic="t", max_message_bytes=len(GOOD) - 1)
    answered = {
        ("t", 1): RefusedPartition(ErrorCode.MESSAGE_TOO_LARGE, why, small),
        ("t", 2): RefusedPartition(ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER, why, None),
        ("t", 3): RefusedPartition(ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER, why, None),
        ("u", 0): RefusedPartition(ErrorCode.CORRUPT_MESSAGE, why, None),
    }
    found = explained(produce(BAD, GOOD, BAD, None), answered=answered)
    path = "topic_data[0].partition_data[{}].records"
    assert marked(found) == [path.format(1) + ".batches[0].length", path.format(3)]
    assert [(each.error, each.rule, each.path) for each in found.refusals] == [
        ("MESSAGE_TOO_LARGE", "V-20", path.format(1) + ".batches[0].length"),
        ("OUT_OF_ORDER_SEQUENCE_NUMBER", "V-57", None),
        ("OUT_OF_ORDER_SEQUENCE_NUMBER", "V-57", path.format(3)),
    ]
    transactional = batch(record(), attributes=0x10, producer=(5, 0, 0))
    of_whole = {("t", 0): RefusedPartition(ErrorCode.INVALID_TXN_STATE, why, None)}
    (told,) = explained(produce(transactional), answered=of_whole).refusals
    assert told.error == "INVALID_TXN_STATE"


def test_a_transactional_batch_needs_a_transactional_id_v07() -> None:
    transactional = batch(record(), attributes=0x10, producer=(5, 0, 0))
    found = explained(produce(GOOD, transactional)).refused
    assert found is not None
    assert found.rule == "V-07"
    assert explained(produce(transactional, transactional_id="t")).refused is None


def test_a_malformed_header_refuses_the_whole_request_v06() -> None:
    found = explained(produce(GOOD, batch(record(), length=3), BAD))
    assert [(each.rule, each.path) for each in found.refusals] == [
        ("V-06", "topic_data[0].partition_data[1].records.batches[0].length")
    ]


def test_null_and_old_records() -> None:
    assert [each.rule for each in explained(produce(None)).refusals] == ["V-09"]
    assert [each.rule for each in explained(produce(None, version=2)).refusals] == ["V-02"]
    assert explained(produce(GOOD, version=2)).refused is None


def test_very_many_partitions() -> None:
    found = explain_frame(produce(*[b""] * 5000), limits=Limits(fields_max=100))
    assert found.refused is not None
    assert len(found.fields) <= 102
    assert found.notes == [
        "4900 more are refused",
        "the list is full; ask for more fields to see the rest",
    ]


@pytest.mark.parametrize("name", ["Metadata", "OffsetCommit", "CreateTopics", "Heartbeat"])
def test_requests_of_other_apis(name: str) -> None:
    message = messages.message(f"{name}Request")
    version = message.max_version
    assert message.api_key is not None
    value = Sampler(message.name, version, 5, unknown_tags=False).value()
    body = message.encode(value, version)
    found = explained(sized(request(message.api_key, version, body, flexible=True)))
    assert found.refused is None
    assert found.fields[1].note == name


def refusal(data: bytes, **options: Any) -> Refused:
    found = explained(data, **options)
    assert found.refused is not None
    assert found.refused.path is None or marked(found) == [found.refused.path]
    return found.refused


def test_what_closes_the_connection_p02_p03_p08_p10() -> None:
    metadata = request(3, 0, b"\0\0\0\1\0\5t")
    for data, rule, path in (
        (sized(metadata, more=2**30), "P-02", "size"),
        (sized(request(3, 0, bytes(2**21))), "P-02", "size"),
        (sized(b"\0\0"), "P-03", "size"),
        (sized(metadata), "P-08", "topics[0].name"),
        (metadata, "P-08", "topics[0].name"),
        (request(3, 9, b"", flexible=True)[:-1], "P-08", "header._tagged_fields"),
        (request(3, 0, b"")[:8] + b"\0\x7fme", "P-08", "header.client_id"),
        (sized(request(3, 99, b"", flexible=True)), "P-10", "header.request_api_version"),
        (sized(request(999, 0, b"abc")), "P-10", "header.request_api_key"),
        (sized(request(0, 2, b"")[:9]), "P-03", "size"),
    ):
        refused = refusal(data)
        assert (refused.rule, refused.path, refused.error) == (rule, path, None)


def test_an_api_versions_that_is_too_new_is_answered_p45() -> None:
    refused = refusal(sized(request(18, 99, b"", flexible=True)))
    assert (refused.rule, refused.error, refused.code) == ("P-45", "UNSUPPORTED_VERSION", 35)


def test_a_large_request_is_decoded_in_slices() -> None:
    data = (5000).to_bytes(4, "big") + b"\0\1t" * 5000
    found = explain_frame(sized(request(3, 0, data)), limits=Limits(fields_max=10))
    assert found.refused is None


def test_a_frame_that_ends_early() -> None:
    frame = sized(produce(GOOD))
    for length in range(5, len(frame)):
        found = explained(frame[:length], has_size=True)
        assert found.refused is None
        assert found.notes == ["the frame is not complete: the broker waits for more"]
    assert marked(explained(frame[:-40], has_size=True), State.UNREADABLE) == [
        "topic_data[0].partition_data[0].records"
    ]


def test_what_is_left_over_p09() -> None:
    frame = request(3, 0, b"\0\0\0\0")
    found = explained(sized(frame + b"abc") + b"next")
    assert found.refused is None
    last = found.fields[-2:]
    assert [(each.path, each.value) for each in last] == [("rest", "abc"), ("after", "next")]


@pytest.mark.parametrize("version", [4, 11, 12, 17])
@pytest.mark.parametrize("has_size", [False, True])
def test_a_fetch_response_with_its_batches(version: int, has_size: bool) -> None:
    message = messages.FetchResponse
    two = batch(records(1), base_offset=8) + batch(records(1), base_offset=9, crc=1)
    data = message.PartitionData(partition_index=3, records=two)
    topic = message.FetchableTopicResponse(partitions=[data])
    if version < 13:
        topic.topic = "t"
    body = message.encode(message(responses=[topic]), version)
    frame = (7).to_bytes(4, "big") + bytes(version >= 12) + body
    found = explained(sized(frame) if has_size else frame, response_of=(1, version))
    assert found.kind == "response"
    prefix = "responses[0].partitions[0].records.batches"
    fields = by_path(found.fields)
    assert fields[f"{prefix}[0].records[0].offset_delta"].note == "offset 8"
    assert marked(found) == [f"{prefix}[1].crc"]
    assert found.refused is not None
    assert found.refused.rule == "R-06"


def test_the_response_to_api_versions_has_the_old_header() -> None:
    body = messages.ApiVersionsResponse.encode(messages.ApiVersionsResponse(), 3)
    found = explained((7).to_bytes(4, "big") + body, response_of=(18, 3))
    assert found.refused is None


def test_a_response_that_cannot_be_decoded() -> None:
    refused = refusal(bytes(5), response_of=(3, 0))
    assert (refused.rule, refused.path) == ("P-08", "brokers")


def test_no_such_response_and_no_bytes() -> None:
    with pytest.raises(CannotExplain, match="no response of API 999 version 0"):
        explain_frame(b"abcd", response_of=(999, 0))
    with pytest.raises(CannotExplain, match="no response of API 1 version 99"):
        explain_frame(b"abcd", response_of=(1, 99))
    with pytest.raises(CannotExplain, match="there are no bytes"):
        explain_frame(b"")


KEYS = st.integers(-1, 95)
BYTES = st.one_of(st.binary(max_size=80), st.lists(st.sampled_from([0, 1, 2, 255])).map(bytes))


@settings(max_examples=300, deadline=None)
@given(key=KEYS, version=st.integers(0, 14), body=BYTES, more=st.integers(-2, 3))
def test_any_request_is_explained(key: int, version: int, body: bytes, more: int) -> None:
    data = request(key, version, body)
    data = sized(data, more) if more < 3 else data
    few = Limits(fields_max=40, value_bytes_max=10)
    found = explained(data, limits=few)
    assert len(found.fields) <= 50
    if is_known(key, version):
        found = explained(data[:30], response_of=(key, version), limits=few)
        assert len(found.fields) <= 50


@settings(max_examples=200, deadline=None)
@given(data=st.binary(min_size=1, max_size=60), has_size=st.sampled_from([None, False, True]))
def test_any_bytes_are_explained(data: bytes, has_size: bool | None) -> None:
    explained(data, has_size=has_size, limits=Limits(fields_max=30, value_bytes_max=10))
