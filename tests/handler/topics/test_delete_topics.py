"""What the differential test does not reach; codes and texts are in tests/differential."""

import asyncio
from collections.abc import Collection
from typing import Any

import pytest

from broker_lite.control.cluster.controller import Moved
from broker_lite.control.metadata.topic import Topic
from broker_lite.control.topics.topic_rules import NewTopic
from broker_lite.errors import ErrorCode
from broker_lite.handler.context import Request
from broker_lite.handler.dispatch import dispatch
from broker_lite.wire import messages
from tests.support.handler_broker import HandlerBroker, OpenBroker, one

STATE = messages.DeleteTopicsRequest.DeleteTopicState


def fields(version: int, name: str) -> dict[str, Any]:
    return {"topics": [STATE(name=name)]} if version >= 6 else {"topic_names": [name]}


@pytest.mark.parametrize("version", range(7))
def test_p109_every_version_deletes(broker: HandlerBroker, version: int) -> None:
    broker.cluster.create_topic("t")
    for error in (0, 3):
        response = broker.call("DeleteTopics", version, **fields(version, "t"))
        assert one(response.responses).error_code == error
    assert broker.cluster.topics == {}


def test_p109_by_id_the_name_is_told(broker: HandlerBroker) -> None:
    topic = broker.cluster.create_topic("t")
    state = STATE(name=None, topic_id=topic.topic_id)
    result = one(broker.call("DeleteTopics", 6, topics=[state]).responses)
    assert (result.name, result.topic_id, result.error_code) == ("t", topic.topic_id, 0)


def test_p109_by_id_and_by_name_is_one_topic_twice(broker: HandlerBroker) -> None:
    topic = broker.cluster.create_topic("t")
    states = [STATE(name=None, topic_id=topic.topic_id), STATE(name="t")]
    result = one(broker.call("DeleteTopics", 6, topics=states).responses)
    assert (result.name, result.error_code) == ("t", 42)
    assert "already supplied" in result.error_message
    assert list(broker.cluster.topics) == ["t"]


def test_p109_what_is_there_twice_is_told_by_its_kind(broker: HandlerBroker) -> None:
    topic = broker.cluster.create_topic("t")
    for kind, state in [
        ("name", STATE(name="t")),
        ("id", STATE(name=None, topic_id=topic.topic_id)),
    ]:
        result = one(broker.call("DeleteTopics", 6, topics=[state, state]).responses)
        assert (result.error_code, result.error_message) == (42, f"Duplicate topic {kind}.")
    assert list(broker.cluster.topics) == ["t"]


@pytest.mark.parametrize(("version", "error"), [(2, 42), (3, 73), (6, 73)])
def test_p109_deletion_is_off(open_broker: OpenBroker, version: int, error: int) -> None:
    broker = open_broker(delete_topic_enable="false")
    broker.cluster.create_topic("t")
    response = broker.call("DeleteTopics", version, **fields(version, "t"))
    assert one(response.responses).error_code == error
    assert list(broker.cluster.topics) == ["t"]


def test_p110_what_cannot_be_written_is_not_deleted(broker: HandlerBroker) -> None:
    broker.cluster.create_topic("t")
    assert broker.cluster.logs.metadata_log is not None
    broker.cluster.logs.metadata_log.delete()
    result = one(broker.call("DeleteTopics", 6, **fields(6, "t")).responses)
    assert (result.name, result.error_code) == ("t", ErrorCode.KAFKA_STORAGE_ERROR)
    assert list(broker.cluster.topics) == ["t"]


@pytest.mark.usefixtures("short_turns")
def test_p109_what_another_client_deletes_meanwhile_is_unknown(broker: HandlerBroker) -> None:
    names = [f"t{number}" for number in range(100)]
    entry = messages.MetadataRequest.MetadataRequestTopic
    broker.call("Metadata", 4, topics=[entry(name=name) for name in names])

    async def both() -> list[Any]:
        value = messages.DeleteTopicsRequest(topic_names=names)
        body = memoryview(messages.DeleteTopicsRequest.encode(value, 5))
        request = Request(20, 5, 1, "test", body, 0, True)
        calls = (asyncio.ensure_future(dispatch(broker.context, request)) for _ in range(2))  # type: ignore[arg-type]
        return [b"".join(parts) for parts in await asyncio.gather(*calls)]  # type: ignore[arg-type,union-attr]

    answers = [messages.DeleteTopicsResponse.decode(data, 5)[0] for data in asyncio.run(both())]
    codes = [{each.error_code for each in answer.responses} for answer in answers]
    assert sorted(map(max, codes)) == [0, 3]
    assert [len(each) for each in codes] == [1, 1]
    assert broker.cluster.topics == {}


class Deletions:
    """How many topics each change deleted."""

    def __init__(self) -> None:
        self.counts: list[int] = []

    def topics_changed(self, changed: Collection[Topic], deleted: Collection[Topic]) -> None:
        del changed
        self.counts.append(len(deleted))

    def partitions_moved(self, moved: Collection[Moved]) -> None:
        """Nothing of it matters here."""

    def configs_changed(self, resources: Collection[tuple[int, str]]) -> None:
        """Nothing of it matters here."""


@pytest.mark.parametrize(("partitions", "counts"), [(1, [64, 64, 22]), (400, [2] * 75)])
def test_p110_many_topics_are_deleted_in_few_changes(
    broker: HandlerBroker, partitions: int, counts: list[int]
) -> None:
    names = [f"t{number}" for number in range(150)]
    plans = [broker.cluster.plan_topic(NewTopic(name, partitions)) for name in names]
    broker.cluster.create_topics(plans)
    deletions = Deletions()
    broker.cluster.watchers.add(deletions)
    asked = [*names, "none", "twice", "twice"]
    results = broker.call("DeleteTopics", 5, topic_names=asked).responses
    codes = {result.name: result.error_code for result in results}
    assert codes == {**dict.fromkeys(names, 0), "none": 3, "twice": 42}
    assert len(results) == len(codes)
    assert broker.cluster.topics == {}
    assert deletions.counts == counts
