"""What of a request its client may not use: X-63, X-64."""

import asyncio
from collections.abc import Iterator

import pytest

from broker_lite.handler.denied import (
    denied_names_in_turns,
    denied_topics,
    denied_topics_in_turns,
)
from broker_lite.security.acls.acl import Operation, ResourceType
from broker_lite.wire import messages
from tests.support.acls import acl, apply_acls
from tests.support.handler_broker import HandlerBroker


def unread() -> Iterator[str]:
    pytest.fail("without an authorizer nobody looks at the names")
    yield ""


def test_x41_without_an_authorizer_nothing_is_denied(broker: HandlerBroker) -> None:
    context = broker.context
    assert not denied_topics(context, Operation.READ, unread())
    assert not asyncio.run(denied_topics_in_turns(context, Operation.READ, unread()))
    kind = ResourceType.GROUP
    assert not asyncio.run(denied_names_in_turns(context, Operation.READ, kind, unread()))


@pytest.mark.usefixtures("short_turns")
def test_x63_ids_are_judged_by_their_names_and_unknown_ones_are_not(broker: HandlerBroker) -> None:
    seen, other = (broker.cluster.create_topic(name).topic_id for name in ("t", "other"))
    apply_acls(broker.context, acl(Operation.READ))
    keys = ["t", "other", "unknown", seen, other, b"u" * 16] * 20
    expected = {"other", "unknown", other}
    assert denied_topics(broker.context, Operation.READ, keys) == expected
    found = asyncio.run(denied_topics_in_turns(broker.context, Operation.READ, keys))
    assert found == expected


@pytest.mark.usefixtures("short_turns")
def test_x42_many_names(broker: HandlerBroker) -> None:
    apply_acls(broker.context, acl(Operation.READ, ResourceType.GROUP, "g"))
    kind, names = ResourceType.GROUP, ["g", *(f"h{number}" for number in range(100))] * 2
    found = asyncio.run(denied_names_in_turns(broker.context, Operation.READ, kind, names))
    assert found == set(names) - {"g"}


def test_x64_a_client_that_is_refused_stays_connected(broker: HandlerBroker) -> None:
    apply_acls(broker.context)
    partition = messages.FetchRequest.FetchPartition(partition=0, partition_max_bytes=1)
    topic = messages.FetchRequest.FetchTopic(topic="t", partitions=[partition])
    for _ in range(2):
        answer = broker.call("Fetch", 4, max_bytes=1, topics=[topic])
        assert answer.responses[0].partitions[0].error_code == 29
