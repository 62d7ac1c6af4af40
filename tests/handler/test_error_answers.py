"""Answers with an error in the form of each API; tests/differential compares them with Kafka's.

Also tests: broker_lite.handler.error_elements.
"""

import asyncio
from typing import Any

import pytest

from broker_lite.errors import ErrorCode
from broker_lite.handler.context import CloseConnection, Request
from broker_lite.handler.error_answers import error_answer
from broker_lite.handler.table import APIS
from broker_lite.wire import DecodeError, messages
from tests.differential.out_of_order import SASL_AUTHENTICATE, requests
from tests.support.handler_broker import HandlerBroker, join

CODE = ErrorCode.ILLEGAL_SASL_STATE
# DescribeLogDirs had no error of the whole then, and does not list what was asked
WITHOUT_ERROR = {(35, version) for version in range(3)}
GIVEN, USUAL = "what is wrong", "what the code says"


def answered(broker: HandlerBroker, name: str, version: int, **fields: Any) -> Any:
    kind: Any = getattr(messages, f"{name}Request")
    return told(broker, kind.api_key, version, kind.encode(kind(**fields), version))


def told(broker: HandlerBroker, api_key: int, version: int, body: bytes) -> Any:
    request = Request(api_key, version, 1, "test", memoryview(bytearray(body)), 0, True)
    data = join(asyncio.run(error_answer(broker.context, request, CODE, GIVEN, USUAL)))
    answer, end = messages.by_api(api_key)[1].decode(data, version)
    assert end == len(data)
    return answer


@pytest.mark.parametrize("api_key", sorted(set(APIS) - {SASL_AUTHENTICATE}))
def test_x08_every_version_of_every_api_has_an_answer(broker: HandlerBroker, api_key: int) -> None:
    for asked in requests({api_key: APIS[api_key]}, ()):
        answer = told(broker, api_key, asked.version, asked.body)
        has_error = f"error_code={int(CODE)}" in repr(answer)
        assert has_error == ((api_key, asked.version) not in WITHOUT_ERROR), asked


def test_x08_what_a_metadata_request_names_is_in_the_answer(broker: HandlerBroker) -> None:
    entry = messages.MetadataRequest.MetadataRequestTopic
    asked = [entry(name="t"), entry(name=None, topic_id=b"i" * 16), entry(name="t")]
    answer = answered(broker, "Metadata", 12, topics=asked)
    assert [(one.error_code, one.name, one.topic_id) for one in answer.topics] == [
        (34, "t", bytes(16)),
        (34, "", b"i" * 16),
        (34, "t", bytes(16)),
    ]


def test_x08_what_a_produce_request_names_twice_is_answered_once(broker: HandlerBroker) -> None:
    kind = messages.ProduceRequest
    topic, partition = kind.TopicProduceData, kind.PartitionProduceData
    topics = [
        topic(name=name, partition_data=[partition(index=i, records=b"r") for i in indexes])
        for name, indexes in (("t", (1, 2, 1)), ("u", (0,)), ("t", (2, 3)))
    ]
    answer = answered(broker, "Produce", 8, acks=-1, topic_data=topics)
    assert [
        (topic.name, [(each.index, each.error_code) for each in topic.partition_responses])
        for topic in answer.responses
    ] == [("t", [(1, 34), (2, 34), (3, 34)]), ("u", [(0, 34)])]


def test_x08_a_produce_request_that_wants_no_answer_closes(broker: HandlerBroker) -> None:
    with pytest.raises(CloseConnection, match="wants no answer"):
        answered(broker, "Produce", 8, acks=0, topic_data=[])


def test_x08_a_produce_request_without_records_closes(broker: HandlerBroker) -> None:
    kind = messages.ProduceRequest
    partition = kind.PartitionProduceData(index=0, records=None)
    topics = [kind.TopicProduceData(name="t", partition_data=[partition])]
    with pytest.raises(CloseConnection, match="without records"):
        answered(broker, "Produce", 8, acks=1, topic_data=topics)


def test_x08_a_request_for_all_users_closes(broker: HandlerBroker) -> None:
    with pytest.raises(CloseConnection, match="all users"):
        answered(broker, "DescribeUserScramCredentials", 0, users=None)


def test_x08_of_two_markers_of_a_producer_the_last_counts(broker: HandlerBroker) -> None:
    kind = messages.WriteTxnMarkersRequest
    markers = [
        kind.WritableTxnMarker(
            producer_id=7,
            topics=[kind.WritableTxnMarkerTopic(name=name, partition_indexes=[0, 0])],
        )
        for name in "tu"
    ]
    (marker,) = answered(broker, "WriteTxnMarkers", 1, markers=markers).markers
    (topic,) = marker.topics
    assert (topic.name, [each.partition_index for each in topic.partitions]) == ("u", [0])


def test_x08_an_acl_with_an_unknown_element_closes(broker: HandlerBroker) -> None:
    creation = messages.CreateAclsRequest.AclCreation
    with pytest.raises(CloseConnection, match="unknown element"):
        answered(broker, "CreateAcls", 3, creations=[creation(resource_name="t")])


@pytest.mark.parametrize(
    ("name", "text"), [("InitProducerId", None), ("DescribeAcls", GIVEN), ("DescribeQuorum", USUAL)]
)
def test_x08_the_message_is_that_of_the_api(
    broker: HandlerBroker, name: str, text: str | None
) -> None:
    version = {"InitProducerId": 4, "DescribeAcls": 3, "DescribeQuorum": 2}[name]
    fields = {
        "DescribeAcls": {
            "resource_type_filter": 2,
            "pattern_type_filter": 3,
            "operation": 3,
            "permission_type": 3,
        },
        "DescribeQuorum": {"topics": []},
    }.get(name, {})
    answer = answered(broker, name, version, **fields)
    assert (answer.error_code, getattr(answer, "error_message", None)) == (34, text)


def test_x08_a_body_that_cannot_be_decoded_has_no_answer(broker: HandlerBroker) -> None:
    with pytest.raises(DecodeError):
        told(broker, 3, 12, b"\x05")
