"""Requests in parts: together they are the request, and their answers the answer."""

from typing import Any

import pytest

from broker_lite.handler.split import SPLITS, merge, parts, split_of
from broker_lite.wire import messages

OFFSET_COMMIT = 8
COMMIT = messages.OffsetCommitRequest
COMMITTED = messages.OffsetCommitResponse


def commit(**counts: int) -> Any:
    return COMMIT(
        group_id="g",
        topics=[
            COMMIT.OffsetCommitRequestTopic(
                name=name,
                partitions=[
                    COMMIT.OffsetCommitRequestPartition(partition_index=n) for n in range(count)
                ],
            )
            for name, count in counts.items()
        ],
    )


def shape(request: Any) -> list[tuple[str, list[int]]]:
    return [(t.name, [p.partition_index for p in t.partitions]) for t in request.topics]


def test_parts_are_small_and_in_order() -> None:
    where = split_of(OFFSET_COMMIT, 8)
    assert where is not None
    pieces = list(parts(commit(a=2, b=5, c=0, d=1), where._replace(at_a_time=3)))
    assert [shape(piece) for piece in pieces] == [
        [("a", [0, 1])],
        [("b", [0, 1, 2])],
        [("b", [3, 4]), ("c", [])],
        [("d", [0])],
    ]
    assert {piece.group_id for piece in pieces} == {"g"}


def test_nothing_asked_is_one_part() -> None:
    where = split_of(OFFSET_COMMIT, 8)
    assert where is not None
    assert [shape(piece) for piece in parts(commit(), where)] == [[]]


def test_null_stays_null() -> None:
    where = split_of(9, 8)
    assert where is not None
    kind = messages.OffsetFetchRequest
    request = kind(groups=[kind.OffsetFetchRequestGroup(group_id="g", topics=None)])
    pieces = parts(request, where._replace(at_a_time=3))
    assert [piece.groups[0].topics for piece in pieces] == [None]


def test_the_same_group_twice_is_one_part() -> None:
    where = split_of(42, 2)
    assert where is not None
    request = messages.DeleteGroupsRequest(groups_names=["a", "b", "a", "c", "d"])
    pieces = list(parts(request, where._replace(at_a_time=3)))
    assert [piece.groups_names for piece in pieces] == [["a", "b", "c"], ["d"]]
    assert len(request.groups_names) == 5


@pytest.mark.parametrize("kind", ["ConsumerGroup", "ShareGroup", "StreamsGroup"])
def test_groups_are_described_some_at_a_time(kind: str) -> None:
    asked = getattr(messages, f"{kind}DescribeRequest")
    where = split_of(asked.api_key, 0)
    assert where is not None
    pieces = list(parts(asked(group_ids=list("abcde")), where._replace(at_a_time=2)))
    assert [piece.group_ids for piece in pieces] == [["a", "b"], ["c", "d"], ["e"]]
    answered = getattr(messages, f"{kind}DescribeResponse")
    first, more = (answered(groups=[answered.DescribedGroup(group_id=each)]) for each in ("a", "b"))
    assert merge(first, more, where)
    assert [each.group_id for each in first.groups] == ["a", "b"]


def committed(name: str, *indexes: int, throttle_time_ms: int = 0) -> Any:
    return COMMITTED(
        throttle_time_ms=throttle_time_ms,
        topics=[
            COMMITTED.OffsetCommitResponseTopic(
                name=name,
                partitions=[
                    COMMITTED.OffsetCommitResponsePartition(partition_index=n) for n in indexes
                ],
            )
        ],
    )


def test_answers_of_a_topic_are_put_together() -> None:
    where = split_of(OFFSET_COMMIT, 8)
    assert where is not None
    response = committed("a", 0, 1)
    assert merge(response, committed("a", 2), where)
    assert merge(response, committed("b", 0), where)
    assert shape(response) == [("a", [0, 1, 2]), ("b", [0])]


def test_an_error_of_the_whole_request_is_no_part() -> None:
    where = split_of(OFFSET_COMMIT, 8)
    assert where is not None
    assert not merge(committed("a", 0), committed("a", 1, throttle_time_ms=1), where)


def test_some_requests_are_handled_whole() -> None:
    assert split_of(3, 4) is None
    before, since = split_of(9, 7), split_of(9, 8)
    assert before is not None
    assert since is not None
    assert (before.asked, since.asked[0]) == (("topics", "partition_indexes"), "groups")


@pytest.mark.parametrize("key", SPLITS)
def test_a_request_and_its_answer_have_the_lists_that_are_split(key: int) -> None:
    where, (request, response) = SPLITS[key], messages.by_api(key)
    assert hasattr(request(), where.asked[0])
    assert hasattr(response(), where.answered[0])
