"""The short form of a Produce of one partition holds what the general form does."""

import pytest

from broker_lite.wire import messages, produce, short_produce
from tests.wire.hand_written import check_edited_bytes, check_every_prefix
from tests.wire.samples import SmallSampler
from tests.wire.test_produce import from_generated

VERSIONS = range(14)


def shortest(body: memoryview, version: int) -> produce.ProduceRequest:
    """Decode a request, and turn its short form back into the general one."""
    decoded = short_produce.decode_only_partition(body, version)
    return decoded.to_request() if isinstance(decoded, short_produce.OnlyPartition) else decoded


@pytest.mark.parametrize("version", VERSIONS, ids=lambda version: f"P-178 v{version}")
def test_the_short_form_holds_the_same(version: int) -> None:
    for seed in range(60):
        body = memoryview(SmallSampler("ProduceRequest", version, seed).encoded())
        assert shortest(body, version) == produce.decode_produce_request(body, version)
    check_every_prefix("ProduceRequest", version, shortest)
    check_edited_bytes("ProduceRequest", version, shortest, from_generated)


@pytest.mark.parametrize("version", VERSIONS, ids=lambda version: f"V-01 v{version}")
@pytest.mark.parametrize("name", ["orders", "n" * 249], ids=len)
def test_the_short_form_is_answered_as_the_general_one(version: int, name: str) -> None:
    message = messages.ProduceRequest
    topic_id = bytes(range(16)) if version >= 13 else bytes(16)
    data = [message.PartitionProduceData(index=7, records=b"records" * 9)]
    topic = message.TopicProduceData(name=name, topic_id=topic_id, partition_data=data)
    body = message.encode(message(acks=1, timeout_ms=5, topic_data=[topic]), version)
    request = short_produce.decode_only_partition(memoryview(b"h" + body), version, 1)
    assert isinstance(request, short_produce.OnlyPartition)
    key = topic_id if version >= 13 else name
    assert (request.acks, request.timeout_ms, request.topic, request.index) == (1, 5, key, 7)
    assert request.records == b"records" * 9
    assert bool(request.head) == (version >= 9 and (version >= 13 or len(name) < 127))
    answer = produce.PartitionAnswer(0, 2**40, 1_700_000_000_000, 2**33)
    encoded = short_produce.encode_only_answer(request, answer, version)
    assert encoded == produce.encode_produce_response({(key, 7): answer}, version)
