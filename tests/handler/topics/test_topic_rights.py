"""Topics that a client may not create, change or delete."""

from typing import Any

import pytest

from broker_lite.security.acls.acl import CLUSTER_NAME, Operation, ResourceType
from broker_lite.wire import ZERO_UUID, messages
from tests.support.acls import acl, apply_acls
from tests.support.handler_broker import HandlerBroker

ON_CLUSTER = (ResourceType.CLUSTER, CLUSTER_NAME)


@pytest.fixture
def limited(broker: HandlerBroker) -> HandlerBroker:
    for name in ("t", "seen", "hidden"):
        broker.cluster.create_topic(name)
    return broker


def create(broker: HandlerBroker, *names: str, count: int = 1) -> dict[str, Any]:
    kind = messages.CreateTopicsRequest.CreatableTopic
    topics = [kind(name=name, num_partitions=count, replication_factor=1) for name in names]
    answer = broker.call("CreateTopics", 7, topics=topics, timeout_ms=1000)
    return {one.name: one for one in answer.topics}


def test_x55_what_may_not_be_created(limited: HandlerBroker) -> None:
    apply_acls(limited.context, acl(Operation.CREATE, name="u"))
    answers = create(limited, "u", "v", "t", "w", "w", "__cluster_metadata")
    found = {name: (one.error_code, one.error_message) for name, one in answers.items()}
    assert found == {
        "u": (0, None),
        "v": (29, "Authorization failed."),
        "t": (29, "Authorization failed."),
        "w": (42, "Duplicate topic name."),
        "__cluster_metadata": found["__cluster_metadata"],
    }
    assert found["__cluster_metadata"][0] == 42
    assert set(limited.cluster.topics) == {"t", "seen", "hidden", "u"}


def test_x55_no_places_are_found_for_what_is_denied(limited: HandlerBroker) -> None:
    """It counts for no limit, so it may ask for billions of partitions."""
    apply_acls(limited.context, acl(Operation.CREATE, name="u"))
    kind = messages.CreateTopicsRequest.CreatableTopic
    topics = [
        kind(name=name, num_partitions=count, replication_factor=1)
        for name, count in (("u", 300), ("v", 2**31 - 1))
    ]
    answer = limited.call("CreateTopics", 7, topics=topics, timeout_ms=1000)
    assert {one.name: one.error_code for one in answer.topics} == {"u": 0, "v": 29}


def test_x55_configs_are_told_to_who_may_describe_them(limited: HandlerBroker) -> None:
    apply_acls(
        limited.context,
        acl(Operation.CREATE, *ON_CLUSTER),
        acl(Operation.DESCRIBE_CONFIGS, name="u"),
    )
    answers = create(limited, "u", "v", count=2)
    told = {
        name: (
            one.error_code,
            one.topic_config_error_code,
            bool(one.configs),
            one.num_partitions,
            one.topic_id != ZERO_UUID,
        )
        for name, one in answers.items()
    }
    assert told == {"u": (0, 0, True, 2, True), "v": (0, 29, False, -1, True)}


def test_x55_what_is_denied_counts_for_no_limit(limited: HandlerBroker) -> None:
    apply_acls(limited.context, acl(Operation.CREATE, name="u"))
    kind = messages.CreateTopicsRequest.CreatableTopic
    sizes = {"u": 1, "v": 10_000}
    topics = [
        kind(name=name, num_partitions=count, replication_factor=1) for name, count in sizes.items()
    ]
    answer = limited.call("CreateTopics", 7, topics=topics, timeout_ms=1000)
    assert {one.name: one.error_code for one in answer.topics} == {"u": 0, "v": 29}


def delete(broker: HandlerBroker, *named: str | bytes) -> list[tuple[str | None, int]]:
    kind = messages.DeleteTopicsRequest.DeleteTopicState
    topics = [
        kind(name=one) if isinstance(one, str) else kind(name=None, topic_id=one) for one in named
    ]
    answer = broker.call("DeleteTopics", 6, topics=topics, timeout_ms=1000)
    return [(one.name, one.error_code) for one in answer.responses]


def test_x56_x63_what_may_not_be_deleted(limited: HandlerBroker) -> None:
    apply_acls(
        limited.context, acl(Operation.DELETE), acl(Operation.DESCRIBE, name="seen", host="*")
    )
    apply_acls(
        limited.context,
        acl(Operation.DELETE),
        acl(Operation.DESCRIBE, name="seen"),
        acl(Operation.DESCRIBE, name="none"),
    )
    assert delete(limited, "hidden", "nowhere", "none", "seen", "t") == [
        ("hidden", 29),
        ("nowhere", 29),
        ("none", 3),
        ("seen", 29),
        ("t", 0),
    ]
    assert set(limited.cluster.topics) == {"hidden", "seen"}


def test_x56_by_id_the_name_is_told_to_who_may_describe(limited: HandlerBroker) -> None:
    apply_acls(limited.context, acl(Operation.DESCRIBE, name="seen"))
    ids = [limited.cluster.topics[name].topic_id for name in ("seen", "hidden")]
    assert delete(limited, *ids, b"\7" * 16) == [("seen", 29), (None, 29), (None, 100)]


def test_x56_who_may_delete_on_the_cluster_may_delete_every_topic(limited: HandlerBroker) -> None:
    apply_acls(limited.context, acl(Operation.DELETE, *ON_CLUSTER))
    assert delete(limited, "hidden", "nowhere") == [("nowhere", 3), ("hidden", 0)]


def test_x56_what_may_not_grow(limited: HandlerBroker) -> None:
    apply_acls(limited.context, acl(Operation.ALTER), acl(Operation.DESCRIBE, name="*"))
    kind = messages.CreatePartitionsRequest.CreatePartitionsTopic
    names = ["t", "hidden", "nowhere", "seen", "seen"]
    topics = [kind(name=name, count=2, assignments=None) for name in names]
    answer = limited.call("CreatePartitions", 3, topics=topics, timeout_ms=1000)
    found = {one.name: (one.error_code, one.error_message) for one in answer.results}
    assert found == {
        "t": (0, None),
        "hidden": (29, None),
        "nowhere": (29, None),
        "seen": (42, "Duplicate topic name."),
    }
    assert limited.cluster.topics["hidden"].partition_count == 1
