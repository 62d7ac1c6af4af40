"""Commits of topics that the client may not use: X-52 to X-54, G-60, G-105."""

from typing import Any

import pytest

from broker_lite.security.acls.acl import Operation, ResourceType
from broker_lite.wire import messages
from tests.support.acls import acl, apply_acls
from tests.support.handler_broker import HandlerBroker

GROUP = ResourceType.GROUP
READ_GROUP = acl(Operation.READ, GROUP, "g")
DELETE_GROUP = acl(Operation.DELETE, GROUP, "g")
WRITE_ID = acl(Operation.WRITE, ResourceType.TRANSACTIONAL_ID, "x")
READS = [acl(Operation.READ, name=name) for name in ("t", "u", "gone", "also-gone")]
UNKNOWN_ID = b"u" * 16
NAMES = ["t", "gone", "denied", "u", "also-gone", "denied-too", "t", "denied"]
"""A request in which topics are named twice; `denied` exists, `denied-too` does not."""


@pytest.fixture
def broker(broker: HandlerBroker) -> HandlerBroker:
    for name in ("t", "u", "denied"):
        broker.cluster.create_topic(name)
    return broker


def request(broker: HandlerBroker, api: str, names: list[str], *, by_id: bool = False) -> list[Any]:
    types = getattr(messages, f"{api}Request")
    topics = []
    for number, name in enumerate(names):
        partition = getattr(types, f"{api}RequestPartition")(partition_index=number // 6)
        topic = getattr(types, f"{api}RequestTopic")(name=name, partitions=[partition])
        if by_id:
            known = broker.cluster.topics.get(name)
            topic.name, topic.topic_id = "", UNKNOWN_ID if known is None else known.topic_id
        topics.append(topic)
    return topics


def answers(
    broker: HandlerBroker, response: Any, *, by_id: bool = False
) -> list[tuple[str, list[tuple[int, int]]]]:
    """Name, and partition and error of each partition, in the order of the answer."""
    known = {topic.topic_id: name for name, topic in broker.cluster.topics.items()}
    return [
        (
            known.get(topic.topic_id, "?") if by_id else topic.name,
            [(each.partition_index, each.error_code) for each in topic.partitions],
        )
        for topic in response.topics
    ]


EXPECTED = [
    ("t", [(1, 3), (0, 0)]),
    ("gone", [(0, 3)]),
    ("denied", [(0, 29), (1, 29)]),
    ("also-gone", [(0, 3)]),
    ("denied-too", [(0, 29)]),
    ("u", [(0, 0)]),
]
"""What does not exist and what is denied come first, in the order of the request."""


def test_x52_denied_topics_of_a_commit(broker: HandlerBroker) -> None:
    apply_acls(broker.context, READ_GROUP, *READS)
    topics = request(broker, "OffsetCommit", NAMES)
    response = broker.call("OffsetCommit", 8, group_id="g", topics=topics)
    assert answers(broker, response) == EXPECTED


def test_x52_x63_an_unknown_id_is_no_secret(broker: HandlerBroker) -> None:
    apply_acls(broker.context, READ_GROUP, *READS)
    topics = request(broker, "OffsetCommit", ["t", "gone", "denied"], by_id=True)
    response = broker.call("OffsetCommit", 10, group_id="g", topics=topics)
    found = answers(broker, response, by_id=True)
    assert found == [("?", [(0, 100)]), ("denied", [(0, 29)]), ("t", [(0, 0)])]


def test_x52_only_denied_topics(broker: HandlerBroker) -> None:
    apply_acls(broker.context, READ_GROUP)
    topics = request(broker, "OffsetCommit", ["t", "gone"])
    response = broker.call("OffsetCommit", 8, group_id="g", topics=topics)
    assert answers(broker, response) == [("t", [(0, 29)]), ("gone", [(0, 29)])]


def test_x52_a_denied_group_refuses_all_partitions(broker: HandlerBroker) -> None:
    apply_acls(broker.context, *READS)
    topics = request(broker, "OffsetCommit", NAMES)
    response = broker.call("OffsetCommit", 8, group_id="g", topics=topics)
    expected = [(name, [(number // 6, 30)]) for number, name in enumerate(NAMES)]
    assert answers(broker, response) == expected


def test_g60_x52_what_a_group_refuses_comes_after_what_is_denied(broker: HandlerBroker) -> None:
    apply_acls(broker.context, READ_GROUP, *READS)
    topics = request(broker, "OffsetCommit", ["t", "denied"])
    fields = {"group_id": "g", "generation_id_or_member_epoch": 7}
    response = broker.call("OffsetCommit", 8, topics=topics, **fields)
    assert answers(broker, response) == [("denied", [(0, 29)]), ("t", [(0, 22)])]


@pytest.fixture
def committed(broker: HandlerBroker) -> HandlerBroker:
    """Group g has offsets of t, u and denied."""
    topics = request(broker, "OffsetCommit", ["t", "u", "denied"])
    broker.call("OffsetCommit", 8, group_id="g", topics=topics)
    return broker


def test_x53_g105_denied_topics_keep_their_offsets(committed: HandlerBroker) -> None:
    broker = committed
    apply_acls(broker.context, DELETE_GROUP, *READS)
    topics = request(broker, "OffsetDelete", NAMES)
    response = broker.call("OffsetDelete", 0, group_id="g", topics=topics)
    assert (response.error_code, answers(broker, response)) == (0, EXPECTED)
    broker.context.authorizer = None
    left = broker.call("OffsetFetch", 7, group_id="g", topics=None).topics
    assert [topic.name for topic in left] == ["denied"]


def test_x53_g105_a_groups_error_is_all_there_is(broker: HandlerBroker) -> None:
    apply_acls(broker.context, DELETE_GROUP)
    topics = request(broker, "OffsetDelete", ["t"])
    response = broker.call("OffsetDelete", 0, group_id="g", topics=topics)
    assert (response.error_code, response.topics) == (69, [])
    apply_acls(broker.context, READ_GROUP, *READS)
    response = broker.call("OffsetDelete", 0, group_id="g", topics=topics)
    assert (response.error_code, response.topics) == (30, [])


def transactional(broker: HandlerBroker, names: list[str], version: int = 3) -> Any:
    if "__transaction_state" not in broker.cluster.topics:
        broker.call("FindCoordinator", 4, key_type=1, coordinator_keys=["x"])
    by_id = version >= 6
    topics = request(broker, "TxnOffsetCommit", names, by_id=by_id)
    fields = {"transactional_id": "x", "group_id": "g", "producer_id": 1, "topics": topics}
    return answers(broker, broker.call("TxnOffsetCommit", version, **fields), by_id=by_id)


def test_x54_t40_denied_topics_of_a_transactional_commit(broker: HandlerBroker) -> None:
    broker.call("FindCoordinator", 4, key_type=1, coordinator_keys=["x"])
    apply_acls(broker.context, WRITE_ID, READ_GROUP, *READS)
    found = transactional(broker, ["t", "gone", "denied"])
    assert found == [("gone", [(0, 3)]), ("denied", [(0, 29)]), ("t", [(0, 49)])]
    found = transactional(broker, ["t", "gone", "denied"], 6)
    assert [each[1] for each in found] == [[(0, 100)], [(0, 29)], [(0, 49)]]
    assert transactional(broker, ["denied", "denied-too"]) == [
        ("denied", [(0, 29)]),
        ("denied-too", [(0, 29)]),
    ]


@pytest.mark.parametrize(
    ("rights", "code"), [([READ_GROUP, *READS], 53), ([WRITE_ID, *READS], 30)], ids=["id", "group"]
)
def test_x54_t40_id_and_group_are_needed(
    broker: HandlerBroker, rights: list[Any], code: int
) -> None:
    broker.call("FindCoordinator", 4, key_type=1, coordinator_keys=["x"])
    apply_acls(broker.context, *rights)
    expected = [("t", [(0, code)]), ("gone", [(0, code)]), ("denied", [(0, code)])]
    assert transactional(broker, ["t", "gone", "denied"]) == expected
