"""The hand-made Produce response equals the generated one in all versions (V-01, V-14)."""

from collections.abc import Mapping

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from broker_lite.wire import messages
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


def generated(answers: Mapping[PartitionKey, PartitionAnswer], version: int) -> bytes:
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
        topics.setdefault(topic, []).append(partition)
    value = response(
        responses=[
            response.TopicProduceResponse(
                name=topic if isinstance(topic, str) else "",
                topic_id=topic if isinstance(topic, bytes) else bytes(16),
                partition_responses=partitions,
            )
            for topic, partitions in topics.items()
        ]
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
