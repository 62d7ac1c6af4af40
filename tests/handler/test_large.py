"""Large requests: the same answers as in one piece, with turns of others between, one at a time."""

import asyncio
import gc
import random
from pathlib import Path
from typing import Any

import anyio
import pytest
from anyio.lowlevel import checkpoint

from broker_lite.handler import large, split
from broker_lite.handler.context import HandlerContext, Parts, Request
from broker_lite.handler.dispatch import dispatch
from broker_lite.handler.lane import Lane
from broker_lite.handler.large import (
    LargeRequest,
    Turns,
    handle_large,
    in_turns,
    lazily,
    leave_lane,
    sorted_in_turns,
)
from broker_lite.handler.table import APIS
from broker_lite.wire import DecodeError, messages
from tests.support.handler_broker import HandlerBroker, handler_broker
from tests.support.loop_turns import LoopTurns

ENTRY = messages.MetadataRequest.MetadataRequestTopic
COUNT = 700


def request_of(api_key: int, version: int, value: Any) -> Request:
    body = memoryview(messages.by_api(api_key)[0].encode(value, version))
    return Request(api_key, version, 1, "test", body, 0, True)


def partitions(name: str, **fields: Any) -> list[Any]:
    """One topic that exists, with partitions that exist and others, and topics that do not."""
    kind = getattr(messages, f"{name}Request")
    topic_class, partition_class = {
        "OffsetCommit": ("OffsetCommitRequestTopic", "OffsetCommitRequestPartition"),
        "DeleteRecords": ("DeleteRecordsTopic", "DeleteRecordsPartition"),
        "OffsetForLeaderEpoch": ("OffsetForLeaderTopic", "OffsetForLeaderPartition"),
        "TxnOffsetCommit": ("TxnOffsetCommitRequestTopic", "TxnOffsetCommitRequestPartition"),
        "OffsetDelete": ("OffsetDeleteRequestTopic", "OffsetDeleteRequestPartition"),
    }[name]
    index = "partition" if name == "OffsetForLeaderEpoch" else "partition_index"
    topic = "topic" if name == "OffsetForLeaderEpoch" else "name"
    many = [getattr(kind, partition_class)(**{index: n}, **fields) for n in range(COUNT)]
    make = getattr(kind, topic_class)
    others = [make(**{topic: f"t{n}"}, partitions=many[:1]) for n in range(COUNT)]
    return [make(**{topic: "wide"}, partitions=many), *others]


def names(prefix: str) -> list[str]:
    return [f"{prefix}-{n:020}" for n in range(COUNT)]


REQUESTS = {
    "OffsetCommit": (8, {"group_id": "g", "topics": partitions("OffsetCommit")}),
    "OffsetFetch": (
        7,
        {
            "group_id": "g",
            "topics": [
                messages.OffsetFetchRequest.OffsetFetchRequestTopic(
                    name=name, partition_indexes=list(range(3 * COUNT))
                )
                for name in ("wide", "other")
            ],
        },
    ),
    "OffsetFetch of groups": (
        9,
        {
            "groups": [
                messages.OffsetFetchRequest.OffsetFetchRequestGroup(
                    group_id=name,
                    topics=[
                        messages.OffsetFetchRequest.OffsetFetchRequestTopics(
                            name="wide", partition_indexes=[0, 5000]
                        )
                    ],
                )
                for name in names("group")
            ]
        },
    ),
    "FindCoordinator": (4, {"key_type": 0, "coordinator_keys": names("group")}),
    "LeaveGroup": (
        5,
        {
            "group_id": "g",
            "members": [
                messages.LeaveGroupRequest.MemberIdentity(member_id=name)
                for name in names("member")
            ],
        },
    ),
    "DescribeGroups": (5, {"groups": names("group")}),
    "DeleteRecords": (2, {"topics": partitions("DeleteRecords", offset=0)}),
    "OffsetForLeaderEpoch": (4, {"topics": partitions("OffsetForLeaderEpoch")}),
    "DeleteGroups": (2, {"groups_names": names("group") * 2}),
    "OffsetDelete": (0, {"group_id": "g", "topics": partitions("OffsetDelete")}),
    "DescribeProducers": (
        0,
        {
            "topics": [
                messages.DescribeProducersRequest.TopicRequest(
                    name=name, partition_indexes=list(range(3 * COUNT))
                )
                for name in ("wide", "other")
            ]
        },
    ),
    "DescribeTransactions": (0, {"transactional_ids": names("id")}),
    "ConsumerGroupDescribe": (1, {"group_ids": names("group")}),
    "ListOffsets": (
        7,
        {
            "replica_id": -1,
            "topics": [
                messages.ListOffsetsRequest.ListOffsetsTopic(
                    name=name,
                    partitions=[
                        messages.ListOffsetsRequest.ListOffsetsPartition(
                            partition_index=n % 650, timestamp=-1
                        )
                        for n in range(COUNT)
                    ],
                )
                for name in ("wide", "other", "empty")
            ],
        },
    ),
    "ListOffsets v0": (
        0,
        {
            "replica_id": -1,
            "topics": [
                messages.ListOffsetsRequest.ListOffsetsTopic(
                    name="wide",
                    partitions=[
                        messages.ListOffsetsRequest.ListOffsetsPartition(
                            partition_index=n % 650, timestamp=-1
                        )
                        for n in range(COUNT)
                    ],
                )
            ],
        },
    ),
    "AlterShareGroupOffsets": (
        0,
        {
            "group_id": "shared",
            "topics": [
                messages.AlterShareGroupOffsetsRequest.AlterShareGroupOffsetsRequestTopic(
                    topic_name=name,
                    partitions=[
                        messages.AlterShareGroupOffsetsRequest.AlterShareGroupOffsetsRequestPartition(
                            partition_index=n, start_offset=n
                        )
                        for n in range(3 * COUNT)
                    ],
                )
                for name in ("wide", "other")
            ],
        },
    ),
    "Metadata": (4, {"topics": [ENTRY(name=name) for name in [*names("t"), "wide"]]}),
}


@pytest.mark.parametrize("name", REQUESTS)
def test_p34_a_large_request_is_answered_as_in_one_piece(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    version, fields = REQUESTS[name]
    api = name.split()[0]
    value = getattr(messages, f"{api}Request")(**fields)
    key = getattr(messages, f"{api}Request").api_key
    assert len(request_of(key, version, value).body) > large.LARGE_BYTES
    with handler_broker(tmp_path / "large") as broker:
        prepare(broker)
        in_slices = broker.request(api, version, value)
    monkeypatch.setattr("broker_lite.handler.dispatch.LARGE_BYTES", 10**9)
    with handler_broker(tmp_path / "whole") as broker:
        prepare(broker)
        whole = broker.request(api, version, value)
    assert in_order(in_slices) == in_order(whole)


def in_order(response: Any) -> Any:
    """The answers of an array in one order: what is refused comes first in each part."""
    if hasattr(response, "cluster_id"):
        response.cluster_id = None  # these are two clusters
    for topic in getattr(response, "responses", ()):
        topic.topic_id = b""
    for topic in getattr(response, "topics", ()):
        topic.partitions.sort(key=repr)
    return response


def prepare(broker: HandlerBroker) -> None:
    kind = messages.CreateTopicsRequest
    topic = kind.CreatableTopic(name="wide", num_partitions=500, replication_factor=1)
    broker.call("CreateTopics", 5, topics=[topic], timeout_ms=1000)
    commit = messages.OffsetCommitRequest
    one = commit.OffsetCommitRequestPartition(partition_index=1, committed_offset=1)
    given = commit.OffsetCommitRequestTopic(name="wide", partitions=[one])
    broker.call("OffsetCommit", 8, group_id="g", topics=[given])


def test_p34_a_request_of_too_many_elements_is_refused(broker: HandlerBroker) -> None:
    kind = messages.DescribeGroupsRequest
    request = request_of(15, 5, kind(groups=[""] * (large.ELEMENTS_MAX + 1)))
    refused = f"{large.ELEMENTS_MAX + 1} are more than one request may have"
    with pytest.raises(DecodeError, match=refused):
        asyncio.run(answer(broker.context, request))
    assert gc.isenabled()
    broker.call("DescribeGroups", 5, groups=[""] * 20_000)  # the lane is free


async def answer(context: HandlerContext, request: Request) -> Parts | None:
    return await dispatch(context, request)


@pytest.mark.usefixtures("short_turns")
def test_others_have_their_turn(broker: HandlerBroker) -> None:
    turns = LoopTurns()

    async def both() -> None:
        topics = [ENTRY(name=f"topic-{n}") for n in range(1000)]
        value = messages.MetadataRequest(topics=topics, allow_auto_topic_creation=False)
        async with turns:
            await dispatch(broker.context, request_of(3, 4, value))

    asyncio.run(both())
    assert turns.count > 50


@pytest.mark.usefixtures("short_turns")
def test_only_one_large_request_is_worked_on_at_a_time(broker: HandlerBroker) -> None:
    running = longest = 0

    async def handle(context: HandlerContext, request: Request) -> Parts | None:
        nonlocal running, longest
        running += 1
        longest = max(longest, running)
        assert not gc.isenabled()
        await asyncio.sleep(0)
        running -= 1
        return []

    async def all_of_them() -> None:
        value = messages.MetadataRequest(topics=[ENTRY(name="t")])
        request = request_of(3, 4, value)
        calls = [handle_large(handle, broker.context, request) for _ in range(5)]
        assert await asyncio.gather(*calls) == [[]] * 5

    asyncio.run(all_of_them())
    assert longest == 1
    assert gc.isenabled()


def test_who_waits_is_not_in_the_way() -> None:
    async def wait() -> None:
        lane = Lane()
        first = LargeRequest.of(request_of(3, 4, messages.MetadataRequest()))
        second = LargeRequest.of(first)
        await first.enter(lane)
        await first.enter(lane)
        leave_lane(first)
        leave_lane(first)
        await second.enter(lane)
        second.leave()

    asyncio.run(wait())


@pytest.mark.anyio
@pytest.mark.usefixtures("short_turns")
async def test_a_list_is_emptied_some_at_a_time() -> None:
    items = [object() for _ in range(1000)]
    seen = []

    async def look() -> None:
        while items:
            seen.append(len(items))
            await checkpoint()

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(look)
        await checkpoint()
        await large.let_go(items)
    assert len(seen) > 3
    assert items == []


def test_elements_are_made_when_they_are_wanted() -> None:
    made: list[int] = []

    def make() -> Any:
        for number in range(3):
            made.append(number)
            yield number

    elements = lazily(3, make())
    assert (len(elements), made) == (3, [])
    assert list(elements) == made == [0, 1, 2]


@pytest.mark.usefixtures("short_turns")
def test_others_have_their_turn_in_a_loop_that_ends_early() -> None:
    seen: list[str] = []

    async def other() -> None:
        seen.append("other")

    async def loop() -> None:
        task = asyncio.create_task(other())
        turns = Turns()
        for _ in range(3):
            await turns.turn()
            seen.append("loop")
        await task

    asyncio.run(loop())
    assert sorted(seen) == ["loop", "loop", "loop", "other"]
    assert seen[-1] == "loop"


@pytest.mark.usefixtures("short_turns")
def test_all_items_come_in_their_order() -> None:

    async def collect() -> list[int]:
        return [item async for item in in_turns(range(100))]

    assert asyncio.run(collect()) == list(range(100))


def test_an_error_of_a_later_part_is_the_answer(broker: HandlerBroker) -> None:
    member = messages.LeaveGroupRequest.MemberIdentity
    answers = iter([0, 0, 16])
    response_type = messages.LeaveGroupResponse

    async def handle(context: HandlerContext, request: Request) -> Parts | None:
        assert isinstance(request, LargeRequest)
        request.answer = response_type, response_type(error_code=next(answers))
        return []

    value = messages.LeaveGroupRequest(
        group_id="g", members=[member(member_id=f"{n}") for n in range(5 * split.PARTS_AT_A_TIME)]
    )
    parts = asyncio.run(handle_large(handle, broker.context, request_of(13, 5, value)))
    assert parts is not None
    (body,) = parts
    assert response_type.decode(body, 5)[0].error_code == 16  # type: ignore[arg-type]


def test_produce_is_not_decoded_here(broker: HandlerBroker) -> None:
    async def handle(context: HandlerContext, request: Request) -> Parts | None:
        return [bytes(request.body)]

    request = Request(0, 9, 1, "test", memoryview(b"x" * 9000), 0, True)
    assert asyncio.run(handle_large(handle, broker.context, request)) == [b"x" * 9000]


def test_every_split_is_of_an_api_that_is_served() -> None:
    assert set(split.SPLITS) <= set(APIS)


@pytest.mark.parametrize("count", [0, 3, 10_000])
def test_items_are_sorted_some_at_a_time(count: int) -> None:
    items = random.Random(1).sample(range(count), count)
    found = asyncio.run(sorted_in_turns(items, lambda item: -item))
    assert list(found) == list(range(count - 1, -1, -1))
