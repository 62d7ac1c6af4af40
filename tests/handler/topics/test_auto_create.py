"""What one Metadata request creates; the other tests of it are those of Metadata."""

import asyncio
import logging

import pytest

from broker_lite.handler.topics import auto_create
from broker_lite.handler.topics.create_topics import TOPICS_AT_A_TIME
from broker_lite.wire import messages
from tests.support.handler_broker import HandlerBroker, OpenBroker

ENTRY = messages.MetadataRequest.MetadataRequestTopic


def test_p85_p102_more_than_a_request_may_create_are_not_created(
    open_broker: OpenBroker, caplog: pytest.LogCaptureFixture
) -> None:
    broker = open_broker(num_partitions="1000")
    asked = [ENTRY(name=f"t{number}") for number in range(11)]
    with caplog.at_level(logging.WARNING):
        told = broker.call("Metadata", 12, topics=asked).topics
    assert {topic.error_code for topic in told} == {3}
    assert broker.cluster.topics == {}
    assert "11 topics not created on demand: Excessively large number" in caplog.text
    assert broker.call("Metadata", 12, topics=asked[:10]).topics[0].error_code == 0


def test_p85_many_are_created_in_few_changes(broker: HandlerBroker) -> None:
    count = TOPICS_AT_A_TIME + 36
    before = broker.cluster.features_epoch
    told = broker.call("Metadata", 12, topics=[ENTRY(name=f"t{n}") for n in range(count)]).topics
    assert {topic.error_code for topic in told} == {0}
    assert broker.cluster.features_epoch - before == 2 * count  # a topic and a partition each


def test_p86_what_another_client_creates_meanwhile_is_left_alone(broker: HandlerBroker) -> None:
    async def both() -> None:
        names = [f"t{number}" for number in range(300)]
        await asyncio.gather(
            auto_create.create_missing(broker.cluster, names),
            auto_create.create_missing(broker.cluster, reversed(names)),
        )

    asyncio.run(both())
    assert len(broker.cluster.topics) == 300
