"""Groups are described one by one, in turns with other connections: G-101, G-103, K-06, U-23."""

import asyncio
from collections import Counter
from collections.abc import Callable
from itertools import count
from typing import Any

import pytest

from broker_lite.handler import large
from broker_lite.handler.groups import one_by_one
from broker_lite.security.acls.acl import Operation, ResourceType
from broker_lite.wire import messages
from broker_lite.wire.message_type import MessageType
from tests.handler.groups.group_requests import break_log, member_of
from tests.support.acls import acl, apply_acls
from tests.support.handler_broker import HandlerBroker

KINDS = {
    "DescribeGroups": ("groups", 6),
    "ConsumerGroupDescribe": ("group_ids", 1),
    "ShareGroupDescribe": ("group_ids", 1),
    "StreamsGroupDescribe": ("group_ids", 1),
}
EACH = pytest.mark.parametrize("api", KINDS)


def describe(broker: HandlerBroker, api: str, group_ids: list[str], **fields: Any) -> Any:
    attribute, version = KINDS[api]
    return broker.call(api, version, **{attribute: group_ids}, **fields).groups


@pytest.fixture
def encoded(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """How often each group was described and encoded."""
    seen: Counter[str] = Counter()
    struct_slices = MessageType.struct_slices

    def watched(self: MessageType, value: Any, version: int) -> Any:
        seen[value.group_id] += 1
        return struct_slices(self, value, version)

    monkeypatch.setattr(MessageType, "struct_slices", watched)
    return seen


@pytest.fixture
def each_turn(monkeypatch: pytest.MonkeyPatch) -> list[Callable[[], None]]:
    """Let each group and each slice take a turn; what is in this list is called in the next one."""
    called: list[Callable[[], None]] = []

    async def checkpoint() -> None:
        await asyncio.sleep(0)
        while called:
            called.pop()()

    monkeypatch.setattr(large, "perf_counter", count(step=large.TURN_S * 2).__next__)
    monkeypatch.setattr(large, "checkpoint", checkpoint)
    return called


@EACH
def test_others_have_their_turn_after_each_group(
    broker: HandlerBroker, monkeypatch: pytest.MonkeyPatch, encoded: Counter[str], api: str
) -> None:
    """Each look at the clock is later by more than a turn here."""
    before: list[int] = []

    async def checkpoint() -> None:
        before.append(encoded.total())

    monkeypatch.setattr(large, "perf_counter", count(step=large.TURN_S * 2).__next__)
    monkeypatch.setattr(large, "checkpoint", checkpoint)
    group_ids = [f"g{number}" for number in range(20)]
    found = describe(broker, api, group_ids)
    assert [each.group_id for each in found] == group_ids
    # one turn within each group, whose end is a slice, and one after it
    assert all(before.count(number) >= 2 for number in range(1, 20))


@EACH
def test_a_long_answer_is_encoded_in_turns(
    broker: HandlerBroker, monkeypatch: pytest.MonkeyPatch, api: str
) -> None:
    whole = []
    response = getattr(messages, f"{api}Response")
    encode = MessageType.encode

    def watched(self: MessageType, value: Any, version: int) -> bytes:
        whole.append(self)
        return encode(self, value, version)

    monkeypatch.setattr(MessageType, "encode", watched)
    assert len(describe(broker, api, ["a", "b"])) == 2
    assert response not in whole


@EACH
def test_a_group_that_is_named_again_is_described_once(
    broker: HandlerBroker, encoded: Counter[str], api: str
) -> None:
    asked = ["g", "h", "g", "h", "g"]
    found = describe(broker, api, asked)
    assert [each.group_id for each in found] == asked
    assert encoded == {"g": 1, "h": 1}
    assert len({repr(each) for each in found if each.group_id == "g"}) == 1


@EACH
def test_answers_stay_small(broker: HandlerBroker, api: str) -> None:
    found = describe(broker, api, ["g"] * 2000 + ["h"])
    assert [each.group_id for each in found] == ["g"] * 10 + ["h"]


@EACH
def test_a_large_request_is_answered_whole(broker: HandlerBroker, api: str) -> None:
    """Its parts are encoded already when they are put together."""
    group_ids = [f"a group with a long name {number}" for number in range(600)]
    assert sum(map(len, group_ids)) > large.LARGE_BYTES
    assert [each.group_id for each in describe(broker, api, group_ids)] == group_ids


@EACH
def test_x53_what_is_denied_comes_first_as_often_as_it_is_named(
    broker: HandlerBroker, encoded: Counter[str], api: str
) -> None:
    apply_acls(broker.context, acl(Operation.DESCRIBE, ResourceType.GROUP, "g"))
    found = describe(broker, api, ["g", "x"] * 12)
    assert [(each.group_id, each.error_code) for each in found] == [("x", 30)] * 12 + [
        ("g", 69)
    ] * 10
    assert encoded == {"x": 1, "g": 1}


@EACH
def test_g23_a_group_that_cannot_be_read_does_not_hide_others(
    broker: HandlerBroker, api: str
) -> None:
    member_of(broker)
    break_log(broker)
    partition_of = broker.context.groups.partition_of
    other = next(f"o{n}" for n in range(100) if partition_of(f"o{n}") != partition_of("g"))
    found = describe(broker, api, [other, "g", other])
    assert [(each.group_id, each.error_code) for each in found] == [
        (other, 69),
        ("g", 16),
        (other, 69),
    ]


@EACH
def test_c33_a_group_that_moves_in_between_is_not_missing(
    broker: HandlerBroker, each_turn: list[Callable[[], None]], api: str
) -> None:
    """Each group is looked for when its turn comes."""
    describe(broker, api, ["g"])
    each_turn.append(lambda: broker.cluster.controller.fence(broker.context.node_id))
    found = describe(broker, api, ["g", "h", "g"])
    assert [(each.group_id, each.error_code) for each in found] == [
        ("g", 69),
        ("h", 16),
        ("g", 69),
    ]


def test_it_needs_no_groups() -> None:
    async def never(group_id: str) -> Any:
        raise AssertionError(group_id)

    message = messages.DescribeGroupsResponse
    assert asyncio.run(one_by_one.one_by_one([], never, message, 6)) == []
