"""OffsetCommit, OffsetFetch and OffsetDelete through their handlers, in every version."""

from typing import Any

import pytest

from broker_lite.control.topics.topic_rules import NewTopic
from broker_lite.handler.offered import offered
from broker_lite.wire import messages
from tests.handler.groups.group_requests import break_log, commit, member_of
from tests.support.handler_broker import HandlerBroker, one

TYPES = messages.OffsetFetchRequest


@pytest.fixture
def broker(broker: HandlerBroker) -> HandlerBroker:
    broker.cluster.create_topics([broker.cluster.plan_topic(NewTopic("t", 2))])
    return broker


def fetch(broker: HandlerBroker, version: int, *, everything: bool = False) -> Any:
    """Fetch what group g committed; gives the whole response."""
    if version < 8:
        topic = TYPES.OffsetFetchRequestTopic(name="t", partition_indexes=[0, 1])
        topics = None if everything else [topic]
        return broker.call("OffsetFetch", version, group_id="g", topics=topics)
    named = TYPES.OffsetFetchRequestTopics(partition_indexes=[0, 1])
    if version >= 10:
        named.topic_id = broker.cluster.topics["t"].topic_id
    else:
        named.name = "t"
    group = TYPES.OffsetFetchRequestGroup(group_id="g", topics=None if everything else [named])
    return broker.call("OffsetFetch", version, groups=[group])


def offsets(response: Any, version: int) -> list[tuple[int, int, int]]:
    topics = one(response.groups).topics if version >= 8 else response.topics
    return [
        (partition.partition_index, partition.committed_offset, partition.error_code)
        for topic in topics
        for partition in topic.partitions
    ]


@pytest.mark.parametrize("version", range(2, 11))
def test_g60_g66_every_version_commits(broker: HandlerBroker, version: int) -> None:
    topic = one(commit(broker, version).topics)
    assert [partition.error_code for partition in topic.partitions] == [0]
    assert offsets(fetch(broker, 8), 8) == [(0, 7, 0), (1, -1, 0)]


@pytest.mark.parametrize("version", range(1, 11))
def test_g67_every_version_fetches(broker: HandlerBroker, version: int) -> None:
    commit(broker)
    assert sorted(offsets(fetch(broker, version), version)) == [(0, 7, 0), (1, -1, 0)]
    if version >= 2:
        assert offsets(fetch(broker, version, everything=True), version) == [(0, 7, 0)]


@pytest.mark.parametrize("version", range(2, 11))
def test_a_commit_to_a_group_that_cannot_be_written(broker: HandlerBroker, version: int) -> None:
    commit(broker)
    break_log(broker)
    topic = one(commit(broker, version).topics)
    assert [partition.error_code for partition in topic.partitions] == [16]


@pytest.mark.parametrize("version", range(1, 11))
def test_g71_a_fetch_of_a_group_that_cannot_be_read(broker: HandlerBroker, version: int) -> None:
    commit(broker)
    break_log(broker)
    response = fetch(broker, version)
    if version >= 8:
        group = one(response.groups)
        assert (group.group_id, group.error_code, group.topics) == ("g", 16, [])
    elif version >= 2:
        assert (response.error_code, response.topics) == (16, [])
    else:
        assert offsets(response, version) == [(0, -1, 16), (1, -1, 16)]


def delete(broker: HandlerBroker, group_id: str = "g") -> Any:
    types = messages.OffsetDeleteRequest
    partition = types.OffsetDeleteRequestPartition(partition_index=0)
    topic = types.OffsetDeleteRequestTopic(name="t", partitions=[partition])
    return broker.call("OffsetDelete", 0, group_id=group_id, topics=[topic])


def test_g23_before_there_is_a_topic(broker: HandlerBroker) -> None:
    broker.finds_coordinator = False
    types = messages.OffsetFetchRequest
    topic = types.OffsetFetchRequestTopic(name="t", partition_indexes=[0])
    old = broker.call("OffsetFetch", 1, group_id="g", topics=[topic])
    assert old.topics[0].partitions[0].error_code == 16
    assert broker.call("OffsetFetch", 7, group_id="g", topics=None).error_code == 16
    groups = [types.OffsetFetchRequestGroup(group_id=name, topics=None) for name in ("g", "")]
    new = broker.call("OffsetFetch", 8, groups=groups).groups
    assert [(group.group_id, group.error_code) for group in new] == [("g", 16), ("", 16)]
    assert broker.call("OffsetDelete", 0, group_id="g", topics=[]).error_code == 16
    assert broker.call("OffsetDelete", 0, group_id="", topics=[]).error_code == 24


def test_g23_a_commit_before_there_is_a_topic_is_told_of_what_exists(broker: HandlerBroker) -> None:
    broker.finds_coordinator = False
    types = messages.OffsetCommitRequest
    partitions = [
        types.OffsetCommitRequestPartition(partition_index=index, committed_offset=1)
        for index in (0, 9)
    ]
    topics = [types.OffsetCommitRequestTopic(name=name, partitions=partitions) for name in "tu"]
    answer = broker.call("OffsetCommit", 8, group_id="g", topics=topics)
    codes = {
        (topic.name, partition.partition_index): partition.error_code
        for topic in answer.topics
        for partition in topic.partitions
    }
    assert codes == {("t", 0): 16, ("t", 9): 3, ("u", 0): 3, ("u", 9): 3}


def test_g105_offsets_are_deleted(broker: HandlerBroker) -> None:
    commit(broker)
    answer = delete(broker)
    assert (answer.error_code, one(one(answer.topics).partitions).error_code) == (0, 0)
    assert offsets(fetch(broker, 8), 8) == [(0, -1, 0), (1, -1, 0)]
    assert delete(broker, "nobody").error_code == 69


def test_g105_not_of_a_group_that_cannot_be_read(broker: HandlerBroker) -> None:
    member_of(broker)
    break_log(broker)
    assert delete(broker).error_code == 16


def stand_in_for_3_9(broker: HandlerBroker) -> None:
    broker.context.apis = offered("3.9")


def test_p60_version_1_commits_on_an_older_broker(broker: HandlerBroker) -> None:
    stand_in_for_3_9(broker)
    topic = one(commit(broker, 1).topics)
    assert [partition.error_code for partition in topic.partitions] == [0]
    assert offsets(fetch(broker, 1), 1) == [(0, 7, 0), (1, -1, 0)]


def test_p60_versions_of_zookeeper_are_refused_on_an_older_broker(broker: HandlerBroker) -> None:
    """As by a Kafka 3.9 without ZooKeeper: every partition is answered 35."""
    stand_in_for_3_9(broker)
    topic = one(commit(broker, 0).topics)
    assert [partition.error_code for partition in topic.partitions] == [35]
    assert offsets(fetch(broker, 0), 0) == [(0, -1, 35), (1, -1, 35)]
