"""P-18: a Produce to slow topics notes what its answer waits for."""

import pytest

from tests.handler.data_apis import TOPIC, Handlers
from tests.handler.fetch.test_synthetic import alter
from tests.log.batches import batch, record

BATCH = batch(record())


def loads(handlers: Handlers) -> list[int]:
    passage = handlers.context.passage
    return [] if passage is None else [size_bytes for _, size_bytes in passage.loads]


def test_p_18_other_topics_wait_for_nothing(handlers: Handlers) -> None:
    handlers.create("slow", 2, broker_lite_load_in_byte_rate="10")
    handlers.produce(BATCH, topic="slow")
    assert loads(handlers) == [len(BATCH)]
    handlers.context.passage = None
    (answer,) = handlers.produce(BATCH)
    assert answer.error_code == 0
    assert handlers.context.passage is None


@pytest.mark.parametrize("version", [3, 8, 13])
def test_p_18_all_records_of_a_topic_count_together(handlers: Handlers, version: int) -> None:
    alter(handlers, in_byte_rate=10, rtt_ms=70)
    answers = handlers.produce(BATCH, BATCH, version=version)
    assert [each.error_code for each in answers] == [0, 0]
    assert loads(handlers) == [2 * len(BATCH)]
    assert handlers.context.passage is not None
    assert handlers.context.passage.rtt_s == 0.07


def test_p_18_records_are_there_before_the_answer(handlers: Handlers) -> None:
    alter(handlers, in_byte_rate=1)
    assert handlers.produce(BATCH, acks=0) is None or handlers.log().log_end_offset == 1
    assert loads(handlers) == [len(BATCH)]


def test_p_18_a_topic_is_fast_again(handlers: Handlers) -> None:
    alter(handlers, in_byte_rate=1)
    handlers.produce(BATCH)
    alter(handlers, in_byte_rate=0)
    assert not handlers.cluster.slow_topics
    handlers.context.passage = None
    handlers.produce(BATCH)
    assert handlers.context.passage is None
    alter(handlers, rtt_ms=1)
    assert list(handlers.cluster.slow_topics) == [TOPIC]
    handlers.delete(TOPIC)
    assert not handlers.cluster.slow_topics
