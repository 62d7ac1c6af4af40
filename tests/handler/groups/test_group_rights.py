"""Groups with limited rights: X-50, X-51, X-53, G-24, G-100."""

import asyncio
from typing import Any

import pytest

from broker_lite.handler.groups.regexes import prepare_regexes, visible_topics
from broker_lite.security.acls.acl import CLUSTER_NAME, Operation, PatternType, ResourceType
from broker_lite.security.principal import Principal
from broker_lite.wire import messages
from tests.handler.groups.group_requests import join
from tests.support.acls import acl, apply_acls
from tests.support.handler_broker import HandlerBroker, OpenBroker, one

GROUP = ResourceType.GROUP
READ = acl(Operation.READ, GROUP, "g")
DESCRIBE = acl(Operation.DESCRIBE, GROUP, "g")
DELETE = acl(Operation.DELETE, GROUP, "g")
TOPIC = acl(Operation.DESCRIBE)
CLUSTER = acl(Operation.DESCRIBE, ResourceType.CLUSTER, CLUSTER_NAME)
BOB = Principal("User", "bob")
HOSTILE = "(a?b?){1,250}" * 20


@pytest.fixture
def broker(broker: HandlerBroker) -> HandlerBroker:
    """Group g and h are consumer groups of topics t and u, c and d have no members."""
    for name in ("t", "u"):
        broker.cluster.create_topic(name)
    heartbeat(broker, "g", subscribed_topic_names=["t"])
    heartbeat(broker, "h", subscribed_topic_names=["u"])
    types = messages.OffsetCommitRequest
    partition = types.OffsetCommitRequestPartition(partition_index=0, committed_offset=7)
    topic = types.OffsetCommitRequestTopic(name="t", partitions=[partition])
    for group_id in ("c", "d"):
        broker.call("OffsetCommit", 8, group_id=group_id, topics=[topic])
    return broker


def heartbeat(broker: HandlerBroker, group_id: str = "new", **fields: Any) -> Any:
    given = {
        "group_id": group_id,
        "member_id": "m",
        "rebalance_timeout_ms": 1000,
        "topic_partitions": [],
        **fields,
    }
    return broker.call("ConsumerGroupHeartbeat", 1, **given)


def on_group(operation: Operation, name: str) -> Any:
    return acl(operation, GROUP, name)


@pytest.mark.parametrize(
    ("version", "key_type", "code", "text"),
    [
        (0, 0, 30, None),
        (1, 0, 30, "Group authorization failed."),
        (3, 0, 30, "Group authorization failed."),
        (1, 1, 53, "Transactional Id authorization failed."),
        (3, 1, 53, "Transactional Id authorization failed."),
    ],
)
def test_x50_g24_a_key_that_the_client_may_not_describe(
    open_broker: OpenBroker, version: int, key_type: int, code: int, text: str | None
) -> None:
    broker = open_broker()
    apply_acls(broker.context)
    fields = {"key_type": key_type} if version else {}
    answer = broker.call("FindCoordinator", version, key="x", **fields)
    assert (answer.error_code, answer.node_id, answer.host, answer.port) == (code, -1, "", -1)
    assert (answer.error_message or None) == text
    assert not broker.cluster.topics


def test_x50_each_key_has_its_own_answer(broker: HandlerBroker) -> None:
    apply_acls(broker.context, DESCRIBE)
    found = broker.call("FindCoordinator", 6, key_type=0, coordinator_keys=["h", "g"]).coordinators
    assert [(one.key, one.error_code, one.error_message) for one in found] == [
        ("h", 30, ""),
        ("g", 0, ""),
    ]
    unknown = broker.call("FindCoordinator", 6, key_type=7, coordinator_keys=["g"]).coordinators
    assert one(unknown).error_code == 42


def test_x51_a_denied_join_has_no_member(broker: HandlerBroker) -> None:
    apply_acls(broker.context, DESCRIBE, TOPIC)
    answer = asyncio.run(join(broker, 7))
    assert (answer.error_code, answer.generation_id, answer.member_id) == (30, -1, "")
    assert (answer.protocol_name, answer.members) == (None, [])


def test_x51_topics_that_a_member_names_must_be_describable(broker: HandlerBroker) -> None:
    apply_acls(broker.context, acl(Operation.READ, GROUP, "new"), TOPIC)
    denied = heartbeat(broker, subscribed_topic_names=["t", "u"])
    assert (denied.error_code, denied.error_message, denied.member_id) == (29, None, None)
    unknown = heartbeat(broker, subscribed_topic_names=["t", "unknown"])
    assert unknown.error_code == 29
    assert heartbeat(broker, subscribed_topic_names=["t", "t"]).error_code == 0
    nothing = heartbeat(broker, "g", subscribed_topic_names=["u"])
    assert (nothing.error_code, nothing.error_message) == (30, None)


def test_x51_p54_off_comes_before_rights(open_broker: OpenBroker) -> None:
    broker = open_broker(broker_lite_features="group.version=0")
    apply_acls(broker.context)
    assert heartbeat(broker, "g").error_code == 35
    described = broker.call("ConsumerGroupDescribe", 1, group_ids=["g", ""]).groups
    assert [each.error_code for each in described] == [35, 24]


def test_x53_groups_are_listed_that_the_client_may_describe(broker: HandlerBroker) -> None:
    apply_acls(broker.context, DESCRIBE, on_group(Operation.READ, "d"))

    def listed() -> set[str]:
        answer = broker.call("ListGroups", 5)
        assert answer.error_code == 0
        return {each.group_id for each in answer.groups}

    assert listed() == {"g", "d"}
    apply_acls(broker.context, CLUSTER)
    assert listed() == {"g", "h", "c", "d"}


def test_x53_denied_groups_are_described_first(broker: HandlerBroker) -> None:
    apply_acls(broker.context, acl(Operation.ALL, GROUP, "d"), on_group(Operation.READ, "none"))
    fields = {"include_authorized_operations": True}
    found = broker.call("DescribeGroups", 6, groups=["none", "d", "c", "x"], **fields).groups
    assert [(each.group_id, each.error_code) for each in found] == [
        ("c", 30),
        ("x", 30),
        ("none", 69),
        ("d", 0),
    ]
    assert found[0].group_state == ""
    assert found[0].authorized_operations == -(2**31)
    assert found[3].authorized_operations == 3400
    apply_acls(broker.context, on_group(Operation.READ, "d"))
    (described,) = broker.call("DescribeGroups", 6, groups=["d"], **fields).groups
    assert described.authorized_operations == 1 << 3 | 1 << 8


def test_x53_denied_groups_are_not_deleted(broker: HandlerBroker) -> None:
    apply_acls(broker.context, on_group(Operation.DELETE, "d"), on_group(Operation.READ, "c"))
    found = broker.call("DeleteGroups", 2, groups_names=["c", "d", "c", "none"]).results
    assert [(each.group_id, each.error_code) for each in found] == [
        ("d", 0),
        ("c", 30),
        ("none", 30),
    ]
    broker.context.authorizer = None
    left = {each.group_id for each in broker.call("ListGroups", 5).groups}
    assert left == {"g", "h", "c"}


def test_x53_g101_a_group_with_hidden_topics_is_hidden(broker: HandlerBroker) -> None:
    rights = [on_group(Operation.DESCRIBE, name) for name in ("g", "h", "none")]
    apply_acls(broker.context, *rights, TOPIC)
    fields = {"group_ids": ["h", "g", "x", "none"], "include_authorized_operations": True}
    found = broker.call("ConsumerGroupDescribe", 1, **fields).groups
    assert [(each.group_id, each.error_code) for each in found] == [
        ("x", 30),
        ("h", 29),
        ("g", 0),
        ("none", 69),
    ]
    hidden, shown = found[1], found[2]
    assert hidden.error_message == (
        "The group has described topic(s) that the client is not authorized to describe."
    )
    assert (hidden.members, hidden.group_state) == ([], "")
    assert hidden.authorized_operations == -(2**31)
    assert shown.authorized_operations == 1 << 8
    assert one(one(shown.members).assignment.topic_partitions).topic_name == "t"


def subscribed(broker: HandlerBroker, answer: Any) -> set[str]:
    """The topics whose partitions a heartbeat was answered."""
    assert answer.error_code == 0
    known = {topic.topic_id: name for name, topic in broker.cluster.topics.items()}
    return {known[each.topic_id] for each in answer.assignment.topic_partitions}


def test_g100_an_expression_matches_what_the_member_may_describe(broker: HandlerBroker) -> None:
    apply_acls(broker.context, acl(Operation.READ, GROUP, "new"), TOPIC)
    answer = heartbeat(broker, subscribed_topic_regex=".*")
    assert subscribed(broker, answer) == {"t"}
    allowed = acl(Operation.READ, name="v", pattern_type=PatternType.PREFIXED)
    apply_acls(broker.context, acl(Operation.READ, GROUP, "new"), TOPIC, allowed)
    for name in ("v1", "w1"):
        broker.cluster.create_topic(name)
    again = heartbeat(broker, member_epoch=answer.member_epoch, subscribed_topic_regex=".*")
    assert subscribed(broker, again) == {"t", "v1"}


def test_g100_nobody_elses_expression_matches_less_afterwards(broker: HandlerBroker) -> None:
    apply_acls(broker.context, acl(Operation.READ, GROUP, "new"), TOPIC)
    assert subscribed(broker, heartbeat(broker, subscribed_topic_regex="[a-z]")) == {"t"}
    broker.context.authorizer = None
    assert subscribed(broker, heartbeat(broker, "all", subscribed_topic_regex="[a-z]")) == {
        *("t", "u"),
    }


def test_g100_rights_that_change_count_after_ten_minutes(broker: HandlerBroker) -> None:
    index = apply_acls(broker.context, acl(Operation.READ, GROUP, "new"), TOPIC)
    answer = heartbeat(broker, subscribed_topic_regex="[a-z]", rebalance_timeout_ms=10_000_000)
    assert subscribed(broker, answer) == {"t"}
    index.add(acl(Operation.DESCRIBE, name="u"))

    def beat(epoch: int) -> Any:
        return broker.call(
            "ConsumerGroupHeartbeat", 1, group_id="new", member_id="m", member_epoch=epoch
        )

    for _ in range(15):
        broker.clock.step(40_000)
        assert beat(answer.member_epoch).member_epoch == answer.member_epoch
    broker.clock.step(1)
    later = beat(answer.member_epoch)
    assert later.member_epoch == answer.member_epoch + 1
    assert subscribed(broker, later) == {"t", "u"}


def test_g100_a_classic_member_does_not_see_more_for_a_group(broker: HandlerBroker) -> None:
    """It joins a consumer group, whose expressions are matched again with its rights."""
    apply_acls(broker.context, acl(Operation.READ, GROUP, "new"), TOPIC)
    answer = heartbeat(broker, subscribed_topic_regex="[a-z]|new-.")
    assert subscribed(broker, answer) == {"t"}
    broker.cluster.create_topic("new-1")
    metadata = b"\0\0\0\0\0\1\0\1t\xff\xff\xff\xff"
    protocol = messages.JoinGroupRequest.JoinGroupRequestProtocol(name="range", metadata=metadata)
    joined = asyncio.run(join(broker, 3, group_id="new", protocols=[protocol]))
    assert joined.error_code == 0
    broker.context.authorizer = None
    (group,) = broker.call("ConsumerGroupDescribe", 1, group_ids=["new"]).groups
    names = {
        topic.topic_name
        for member in group.members
        for topic in member.target_assignment.topic_partitions
    }
    assert names == {"t"}


@pytest.mark.usefixtures("short_turns")
def test_g100_what_a_thread_has_matched_is_decided_in_turns(broker: HandlerBroker) -> None:
    names = [f"{'ab' * 100}{number}" for number in range(3)] + ["ab", "aab"]
    for name in names:
        broker.cluster.create_topic(name)
    apply_acls(broker.context, acl(Operation.READ, GROUP, "new"), acl(Operation.READ, name="ab"))
    body = messages.ConsumerGroupHeartbeatRequest(
        group_id="new", member_id="m", subscribed_topic_regex=HOSTILE
    )
    is_visible = visible_topics(broker.context)
    assert is_visible is not None
    prepared = asyncio.run(prepare_regexes(broker.context, body, is_visible))
    assert prepared[HOSTILE].matched == ["aab", "ab"]
    broker.context.authorizer = None  # so everything is visible that was not decided before
    assert [is_visible(name) for name in ("ab", "aab", "not-asked")] == [True, False, True]


def test_g100_without_an_authorizer_everything_is_visible(broker: HandlerBroker) -> None:
    assert visible_topics(broker.context) is None
