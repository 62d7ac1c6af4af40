"""OffsetFetch by clients whose rights are limited: X-52, X-63."""

from typing import Any

import pytest

from broker_lite.security.acls.acl import Operation, ResourceType
from broker_lite.wire import messages
from tests.support.acls import acl, apply_acls
from tests.support.handler_broker import HandlerBroker

GROUP = acl(Operation.DESCRIBE, ResourceType.GROUP, "g")
DESCRIBE = acl(Operation.DESCRIBE)
UNKNOWN_ID = b"u" * 16
NAMES = ["denied", "t", "gone"]

Topic = tuple[str, list[tuple[int, int, int]]]


@pytest.fixture
def broker(broker: HandlerBroker) -> HandlerBroker:
    """Groups g and h have offset 7 of topics t and denied."""
    types = messages.OffsetCommitRequest
    topics = []
    for name in ("t", "denied"):
        broker.cluster.create_topic(name)
        partition = types.OffsetCommitRequestPartition(partition_index=0, committed_offset=7)
        topics.append(types.OffsetCommitRequestTopic(name=name, partitions=[partition]))
    for group_id in ("g", "h"):
        broker.call("OffsetCommit", 8, group_id=group_id, topics=topics)
    return broker


def shown(broker: HandlerBroker, topics: Any, *, by_id: bool = False) -> list[Topic]:
    known = {topic.topic_id: name for name, topic in broker.cluster.topics.items()}
    return [
        (
            known.get(topic.topic_id, "?") if by_id else topic.name,
            [
                (one.partition_index, one.error_code, one.committed_offset)
                for one in topic.partitions
            ],
        )
        for topic in topics
    ]


def fetch_one(broker: HandlerBroker, version: int, names: list[str] | None) -> Any:
    """Ask about group g in a version that has one group."""
    kind = messages.OffsetFetchRequest.OffsetFetchRequestTopic
    topics = None
    if names is not None:
        topics = [kind(name=name, partition_indexes=[0]) for name in names]
    return broker.call("OffsetFetch", version, group_id="g", topics=topics)


@pytest.mark.parametrize("version", [1, 2, 7])
def test_x52_denied_topics_come_last(broker: HandlerBroker, version: int) -> None:
    apply_acls(broker.context, GROUP, DESCRIBE)
    found = shown(broker, fetch_one(broker, version, NAMES).topics)
    assert found == [("t", [(0, 0, 7)]), ("denied", [(0, 29, -1)]), ("gone", [(0, 29, -1)])]


@pytest.mark.parametrize("version", [2, 7])
def test_x52_of_all_topics_the_denied_ones_are_left_out(
    broker: HandlerBroker, version: int
) -> None:
    apply_acls(broker.context, GROUP, DESCRIBE)
    assert shown(broker, fetch_one(broker, version, None).topics) == [("t", [(0, 0, 7)])]


def test_x52_a_denied_group(broker: HandlerBroker) -> None:
    apply_acls(broker.context, DESCRIBE)
    answer = fetch_one(broker, 7, NAMES)
    assert (answer.error_code, answer.topics) == (30, [])
    assert fetch_one(broker, 2, None).error_code == 30
    found = shown(broker, fetch_one(broker, 1, NAMES).topics)
    assert found == [(name, [(0, 30, -1)]) for name in NAMES]


def group(group_id: str, names: list[str] | None, broker: HandlerBroker | None = None) -> Any:
    types = messages.OffsetFetchRequest
    topics = None
    if names is not None:
        topics = [
            types.OffsetFetchRequestTopics(name=each, partition_indexes=[0]) for each in names
        ]
        for topic in topics if broker is not None else ():
            known = broker.cluster.topics.get(topic.name)
            topic.name, topic.topic_id = "", UNKNOWN_ID if known is None else known.topic_id
    return types.OffsetFetchRequestGroup(group_id=group_id, topics=topics)


def fetch(broker: HandlerBroker, version: int, *groups: Any) -> list[tuple[str, int, list[Topic]]]:
    response = broker.call("OffsetFetch", version, groups=list(groups))
    by_id = version >= 10
    return [
        (each.group_id, each.error_code, shown(broker, each.topics, by_id=by_id))
        for each in response.groups
    ]


def test_x52_several_groups(broker: HandlerBroker) -> None:
    apply_acls(broker.context, GROUP, DESCRIBE)
    groups = [group("h", None), group("g", NAMES), group("h", NAMES), group("g", None)]
    named = [("t", [(0, 0, 7)]), ("denied", [(0, 29, -1)]), ("gone", [(0, 29, -1)])]
    assert fetch(broker, 8, *groups) == [
        ("h", 30, []),
        ("g", 0, named),
        ("h", 30, []),
        ("g", 0, [("t", [(0, 0, 7)])]),
    ]


def test_x52_only_denied_groups(broker: HandlerBroker) -> None:
    apply_acls(broker.context, DESCRIBE)
    assert fetch(broker, 9, group("g", None), group("h", [])) == [("g", 30, []), ("h", 30, [])]


def test_x52_only_denied_topics(broker: HandlerBroker) -> None:
    apply_acls(broker.context, GROUP)
    assert fetch(broker, 9, group("g", ["t"]), group("g", None), group("g", [])) == [
        ("g", 0, [("t", [(0, 29, -1)])]),
        ("g", 0, []),
        ("g", 0, []),
    ]


def test_x63_unknown_ids_are_no_secret(broker: HandlerBroker) -> None:
    apply_acls(broker.context, GROUP, DESCRIBE)
    asked = group("g", ["denied", "gone", "t"], broker)
    assert fetch(broker, 10, asked, group("g", None)) == [
        (
            "g",
            0,
            [("t", [(0, 0, 7)]), ("denied", [(0, 29, -1)]), ("?", [(0, 100, -1)])],
        ),
        ("g", 0, [("t", [(0, 0, 7)])]),
    ]


def test_x52_an_error_of_the_coordinator_is_for_the_permitted_groups(
    open_broker: Any,
) -> None:
    broker = open_broker()
    broker.finds_coordinator = False
    apply_acls(broker.context, GROUP)
    assert fetch(broker, 8, group("h", None), group("g", ["t"])) == [("h", 30, []), ("g", 16, [])]
    found = shown(broker, fetch_one(broker, 1, ["t", "denied"]).topics)
    assert found == [("t", [(0, 16, -1)]), ("denied", [(0, 16, -1)])]
