"""Metadata and DescribeTopicPartitions of a client that may not see every topic."""

from collections.abc import Collection
from typing import Any

import pytest

from broker_lite.security.acls.acl import CLUSTER_NAME, Operation, ResourceType
from broker_lite.wire import ZERO_UUID, messages
from tests.support.acls import acl, apply_acls
from tests.support.handler_broker import HandlerBroker

NOT_ASKED = -(1 << 31)
UNKNOWN_ID = b"\7" * 16


@pytest.fixture
def limited(broker: HandlerBroker) -> HandlerBroker:
    """A broker with the topics t and hidden, whose client may describe t, u and unmade."""
    for name in ("t", "hidden"):
        broker.cluster.create_topic(name)
    apply_acls(
        broker.context,
        *(acl(Operation.DESCRIBE, name=name) for name in ("t", "u", "unmade")),
        acl(Operation.CREATE, name="u"),
    )
    return broker


def told(
    broker: HandlerBroker, names: Collection[str] | None, version: int = 13, **fields: Any
) -> dict[str, tuple[int, bool]]:
    """The error of each topic in the answer, and whether its id is told."""
    entry = messages.MetadataRequest.MetadataRequestTopic
    topics = None if names is None else [entry(name=name) for name in names]
    answer = broker.call("Metadata", version, topics=topics, **fields)
    return {one.name: (one.error_code, one.topic_id != ZERO_UUID) for one in answer.topics}


def test_x49_all_topics_are_those_that_may_be_described(limited: HandlerBroker) -> None:
    assert told(limited, None) == {"t": (0, True)}
    assert limited.call("Metadata", 0, topics=[]).topics[0].name == "t"


@pytest.mark.parametrize("creates", [True, False])
def test_x49_x63_what_may_not_be_described_is_denied_whether_it_is_there_or_not(
    limited: HandlerBroker, creates: bool
) -> None:
    found = told(limited, ["hidden", "t", "nowhere"], allow_auto_topic_creation=creates)
    assert found == {"t": (0, True), "hidden": (29, False), "nowhere": (29, False)}
    assert list(found) == ["t", "hidden", "nowhere"]
    assert set(limited.cluster.topics) == {"t", "hidden"}


def test_x49_what_may_not_be_created_is_denied(limited: HandlerBroker) -> None:
    found = told(limited, ["u", "unmade", "t"])
    assert found == {"u": (0, True), "t": (0, True), "unmade": (29, False)}
    assert set(limited.cluster.topics) == {"t", "hidden", "u"}
    assert told(limited, ["unmade"], allow_auto_topic_creation=False) == {"unmade": (3, False)}


def test_x49_who_may_create_on_the_cluster_may_create_every_topic(broker: HandlerBroker) -> None:
    apply_acls(
        broker.context,
        acl(Operation.DESCRIBE, name="*"),
        acl(Operation.CREATE, ResourceType.CLUSTER, CLUSTER_NAME),
    )
    assert told(broker, ["unmade"]) == {"unmade": (0, True)}


def test_x63_ids_are_no_secret(limited: HandlerBroker) -> None:
    topics = limited.cluster.topics
    entry = messages.MetadataRequest.MetadataRequestTopic
    asked = [topics["hidden"].topic_id, UNKNOWN_ID, topics["t"].topic_id]
    answer = limited.call(
        "Metadata",
        12,
        topics=[entry(name=None, topic_id=topic_id) for topic_id in asked],
        include_topic_authorized_operations=True,
    )
    assert [(one.error_code, one.name, one.topic_id) for one in answer.topics] == [
        (100, None, UNKNOWN_ID),
        (0, "t", topics["t"].topic_id),
        (29, None, topics["hidden"].topic_id),
    ]


@pytest.mark.parametrize("asked", [True, False])
def test_x45_x49_operations_are_those_of_each_topic(limited: HandlerBroker, asked: bool) -> None:
    entry = messages.MetadataRequest.MetadataRequestTopic
    answer = limited.call(
        "Metadata",
        10,
        topics=[entry(name=name) for name in ("t", "u", "hidden")],
        allow_auto_topic_creation=False,
        include_topic_authorized_operations=asked,
        include_cluster_authorized_operations=asked,
    )
    found = {one.name: one.topic_authorized_operations for one in answer.topics}
    describe, create = 1 << Operation.DESCRIBE, 1 << Operation.CREATE
    # those of a topic that is denied are never told
    expected = {"t": describe, "u": describe | create, "hidden": NOT_ASKED}
    assert found == (expected if asked else dict.fromkeys(expected, NOT_ASKED))
    assert answer.cluster_authorized_operations == (0 if asked else NOT_ASKED)


def test_x49_a_large_request_is_answered_in_turns(
    limited: HandlerBroker, short_turns: None
) -> None:
    names = [f"hidden-{number}" for number in range(2000)]
    assert set(told(limited, names).values()) == {(29, False)}


def page(
    broker: HandlerBroker, *names: str, limit: int = 2000, start: str | None = None
) -> list[tuple[str, int, int]]:
    kind = messages.DescribeTopicPartitionsRequest
    cursor = None if start is None else kind.Cursor(topic_name=start, partition_index=0)
    answer = broker.call(
        "DescribeTopicPartitions",
        0,
        topics=[kind.TopicRequest(name=name) for name in names],
        response_partition_limit=limit,
        cursor=cursor,
    )
    return [(one.name, one.error_code, one.topic_authorized_operations) for one in answer.topics]


def test_x49_pages_have_what_may_be_described(limited: HandlerBroker) -> None:
    describe, create = 1 << Operation.DESCRIBE, 1 << Operation.CREATE
    assert page(limited) == [("t", 0, describe)]
    assert page(limited, "hidden", "nowhere", "t", "u") == [
        ("t", 0, describe),
        ("u", 3, describe | create),
        ("hidden", 29, NOT_ASKED),
        ("nowhere", 29, NOT_ASKED),
    ]


def test_x49_what_is_denied_is_told_also_by_a_page_that_is_full(limited: HandlerBroker) -> None:
    limited.cluster.create_topic("u")
    names = ["hidden", "t", "tt", "u", "v"]
    found = [one[:2] for one in page(limited, *names, limit=1)]
    assert found == [("t", 0), ("hidden", 29), ("tt", 29), ("v", 29)]
    assert [one[:2] for one in page(limited, *names, start="u")] == [("u", 0), ("v", 29)]
