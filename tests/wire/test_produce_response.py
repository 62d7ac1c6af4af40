"""The hand-made Produce response equals the generated one in all versions (V-01, V-14).

Also tests: broker_lite.wire.node_endpoints.
"""

from collections.abc import Mapping, Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from broker_lite.wire import messages
from broker_lite.wire.node_endpoints import NodeEndpoint
from broker_lite.wire.produce import PartitionAnswer, PartitionKey, encode_produce_response

INT64 = st.integers(-(1 << 63), (1 << 63) - 1)
TEXT = st.text(max_size=200)
ANSWER = st.builds(
    PartitionAnswer,
    st.integers(-1, 133),
    INT64,
    INT64,
    INT64,
    st.lists(st.tuples(st.integers(0, 1 << 30), TEXT), max_size=3),
    st.none() | TEXT,
)


NO_LEADERS: Mapping[PartitionKey, tuple[int, int]] = {}
LEADER = st.tuples(st.integers(-1, (1 << 31) - 1), st.integers(0, (1 << 31) - 1))
ENDPOINT = st.builds(
    NodeEndpoint,
    st.integers(0, (1 << 31) - 1),
    TEXT,
    st.integers(0, 65535),
    st.none() | TEXT,
)


def generated(
    answers: Mapping[PartitionKey, PartitionAnswer],
    version: int,
    leaders: Mapping[PartitionKey, tuple[int, int]] = NO_LEADERS,
    endpoints: Sequence[NodeEndpoint] = (),
) -> bytes:
    response = messages.ProduceResponse
    topics: dict[str | bytes, list[object]] = {}
    for (topic, index), answer in answers.items():
        errors = [
            response.BatchIndexAndErrorMessage(batch_index=i, batch_index_error_message=text)
            for i, text in answer.record_errors
        ]
        partition = response.PartitionProduceResponse(
            index=index,
            error_code=answer.error_code,
            base_offset=answer.base_offset,
            log_append_time_ms=answer.log_append_time_ms,
            log_start_offset=answer.log_start_offset,
            record_errors=errors,
            error_message=answer.error_message,
        )
        if (topic, index) in leaders:
            leader, epoch = leaders[topic, index]
            partition.current_leader = response.LeaderIdAndEpoch(
                leader_id=leader, leader_epoch=epoch
            )
        topics.setdefault(topic, []).append(partition)
    value = response(
        responses=[
            response.TopicProduceResponse(
                name=topic if isinstance(topic, str) else "",
                topic_id=topic if isinstance(topic, bytes) else bytes(16),
                partition_responses=partitions,
            )
            for topic, partitions in topics.items()
        ],
        node_endpoints=[response.NodeEndpoint(**each._asdict()) for each in endpoints],
    )
    return response.encode(value, version)


@pytest.mark.parametrize("version", range(14))
@settings(max_examples=30)
@given(data=st.data())
def test_equals_the_generated_encoder(version: int, data: st.DataObject) -> None:
    topic = st.binary(min_size=16, max_size=16) if version >= 13 else TEXT
    answers = data.draw(
        st.dictionaries(st.tuples(topic, st.integers(0, 1 << 30)), ANSWER, max_size=5)
    )
    assert encode_produce_response(answers, version) == generated(answers, version)


@pytest.mark.parametrize("version", range(10, 14))
@settings(max_examples=60)
@given(data=st.data())
def test_c31_leaders_and_endpoints_equal_the_generated_encoder(
    version: int, data: st.DataObject
) -> None:
    topic = st.binary(min_size=16, max_size=16) if version >= 13 else TEXT
    keys = st.tuples(topic, st.integers(0, 1 << 30))
    answers = data.draw(st.dictionaries(keys, ANSWER, max_size=5))
    moved = st.sampled_from([*answers]) if answers else st.nothing()
    leaders = data.draw(st.dictionaries(moved, LEADER))
    endpoints = data.draw(st.lists(ENDPOINT, max_size=200 if leaders else 3))
    encoded = encode_produce_response(answers, version, leaders, endpoints)
    assert encoded == generated(answers, version, leaders, endpoints)


def test_c31_one_answer_byte_by_byte() -> None:
    """Version 10: what a client reads that follows the leader."""
    answers: dict[PartitionKey, PartitionAnswer] = {("t", 1): PartitionAnswer(6)}
    encoded = encode_produce_response(
        answers, 10, {("t", 1): (2, 5)}, [NodeEndpoint(2, "h", 9093, "r")]
    )
    assert encoded == bytes.fromhex(
        "02 02 74 02"  # one topic, t, one partition
        "00000001 0006 ffffffffffffffff ffffffffffffffff ffffffffffffffff 01 00"
        "01 00 09 00000002 00000005 00"  # tag 0: leader 2 of epoch 5
        "00 00000000"  # end of the topic, throttle time
        "01 00 0e 02 00000002 02 68 00002385 02 72 00"  # tag 0: one endpoint
    )
