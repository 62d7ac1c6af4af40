"""Groups of both newer kinds are described alike: X-53, G-101, K-06."""

from typing import Any

import pytest

from broker_lite.security.acls.acl import Operation, ResourceType
from tests.handler.share.share_requests import Sharer
from tests.support.acls import acl, apply_acls
from tests.support.handler_broker import HandlerBroker, OpenBroker

EITHER = pytest.mark.parametrize("kind", ["Consumer", "Share"])
FEATURES = {"Consumer": "group.version=0", "Share": "share.version=0"}


def join(broker: HandlerBroker, kind: str, group: str, topic: str) -> None:
    if kind == "Share":
        Sharer(broker, group=group, earliest=False).beat(names=[topic])
        return
    broker.call(
        "ConsumerGroupHeartbeat",
        1,
        group_id=group,
        member_id="m",
        rebalance_timeout_ms=1000,
        subscribed_topic_names=[topic],
        topic_partitions=[],
    )


def describe(broker: HandlerBroker, kind: str, *group_ids: str) -> Any:
    fields = {"group_ids": [*group_ids], "include_authorized_operations": True}
    return broker.call(f"{kind}GroupDescribe", 1, **fields).groups


@EITHER
def test_x53_g101_k06_what_a_client_may_not_describe(broker: HandlerBroker, kind: str) -> None:
    for name in ("t", "u"):
        broker.cluster.create_topic(name)
    join(broker, kind, "g", "t")
    join(broker, kind, "h", "u")
    rights = [acl(Operation.DESCRIBE, ResourceType.GROUP, name) for name in ("g", "h", "none")]
    apply_acls(broker.context, *rights, acl(Operation.DESCRIBE))
    found = describe(broker, kind, "h", "g", "x", "none")
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
    assert (hidden.members, hidden.authorized_operations) == ([], -(2**31))
    assert shown.authorized_operations == 1 << 8
    assert shown.members[0].assignment.topic_partitions[0].topic_name == "t"


@EITHER
def test_an_error_of_all_groups_is_told_of_each(open_broker: OpenBroker, kind: str) -> None:
    broker = open_broker(broker_lite_features=FEATURES[kind])
    found = describe(broker, kind, "g", "")
    assert [(each.group_id, each.error_code) for each in found] == [("g", 35), ("", 24)]
