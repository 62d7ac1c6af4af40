"""What the differential test does not reach; codes and texts are in tests/differential."""

from pathlib import Path
from typing import Any

import pytest

from broker_lite.wire import ZERO_UUID, messages
from tests.support.handler_broker import HandlerBroker, OpenBroker, one
from tests.support.small_disk import files_end_at

TYPES = messages.CreateTopicsRequest


def entry(name: str, count: int = 1, factor: int = 1, **configs: str) -> Any:
    return TYPES.CreatableTopic(
        name=name,
        num_partitions=count,
        replication_factor=factor,
        configs=[
            TYPES.CreatableTopicConfig(name=key.replace("_", "."), value=value)
            for key, value in configs.items()
        ],
    )


@pytest.mark.parametrize("version", range(8))
def test_p107_p108_every_version_creates(broker: HandlerBroker, version: int) -> None:
    topics = [entry("t", 2, retention_ms="5")]
    result = one(broker.call("CreateTopics", version, topics=topics).topics)
    assert (result.name, result.error_code) == ("t", 0)
    topic = broker.cluster.topics["t"]
    assert result.topic_id == (topic.topic_id if version >= 7 else ZERO_UUID)
    told = {config.name: config for config in result.configs or []}
    if version >= 5:
        assert (result.num_partitions, result.replication_factor) == (2, 1)
        assert (told["retention.ms"].value, told["retention.ms"].config_source) == ("5", 1)
        assert (told["segment.ms"].value, told["segment.ms"].config_source) == ("604800000", 5)
    else:
        assert (result.num_partitions, result.replication_factor, told) == (-1, -1, {})


@pytest.mark.parametrize("version", range(8))
def test_p107_every_version_tells_an_error(broker: HandlerBroker, version: int) -> None:
    result = one(broker.call("CreateTopics", version, topics=[entry("t", 0)]).topics)
    assert result.error_code == 37
    assert result.topic_id == ZERO_UUID
    assert (result.error_message or "").startswith("Number of" if version >= 1 else "")
    assert not result.configs


def test_p106_validate_only_creates_nothing_but_answers_as_if(broker: HandlerBroker) -> None:
    fields = {"topics": [entry("t")], "validate_only": True}
    first, second = (one(broker.call("CreateTopics", 7, **fields).topics) for _ in range(2))
    assert first.error_code == 0
    assert ZERO_UUID != first.topic_id != second.topic_id
    assert broker.cluster.topics == {}


def test_p103_the_brokers_numbers(open_broker: OpenBroker) -> None:
    broker = open_broker(num_partitions="4")
    broker.call("CreateTopics", 4, topics=[entry("t", -1, -1)])
    assert broker.cluster.topics["t"].partition_count == 4


@pytest.mark.slow
def test_ten_thousand_partitions_in_one_request(broker: HandlerBroker, tmp_path: Path) -> None:
    result = one(broker.call("CreateTopics", 7, topics=[entry("t", 10_000)]).topics)
    assert result.num_partitions == 10_000
    assert sum(1 for _ in (tmp_path / "data").glob("t-*")) == 10_000
    assert broker.cluster.log("t", 9_999).log_end_offset == 0


def test_what_cannot_be_written_is_not_created(broker: HandlerBroker, tmp_path: Path) -> None:
    log = tmp_path / "data" / "__cluster_metadata-0" / f"{0:020d}.log"
    with files_end_at(log.stat().st_size + 10):
        result = one(broker.call("CreateTopics", 7, topics=[entry("t")]).topics)
    assert result.error_code == 56
    assert broker.cluster.topics == {}
    assert one(broker.call("CreateTopics", 7, topics=[entry("t")]).topics).error_code == 0
    assert list(broker.cluster.topics) == ["t"]


@pytest.mark.parametrize("version", [2, 7])
def test_p_23_a_name_too_long_for_its_text_is_answered(broker: HandlerBroker, version: int) -> None:
    """Kafka makes the good one, and answers both with UNKNOWN_SERVER_ERROR."""
    long = "x" * 32_767
    answer = broker.call("CreateTopics", version, topics=[entry("good"), entry(long)])
    results = {result.name: result for result in answer.topics}
    assert results["good"].error_code == 0
    assert results[long].error_code == 17
    assert results[long].error_message.startswith("Topic name is invalid: the length of 'xxx")
    assert results[long].error_message.endswith("xxx...")
    assert list(broker.cluster.topics) == ["good"]
