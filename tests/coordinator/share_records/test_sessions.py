"""Share sessions: epochs, partitions, and how many there may be."""

import pytest

from broker_lite.coordinator.share_records.sessions import (
    SharedPartition,
    ShareSessions,
    check_member,
)
from broker_lite.errors import (
    InvalidRequest,
    InvalidShareSessionEpoch,
    ShareSessionLimitReached,
    ShareSessionNotFound,
)

ONE, TWO, THREE = (SharedPartition(b"t" * 16, index) for index in range(3))


def test_g114_epochs_follow_each_other() -> None:
    sessions = ShareSessions(10, 100)
    with pytest.raises(ShareSessionNotFound):
        sessions.go_on("g", "m", 1)
    session = sessions.begin("g", "m", 1)
    assert sessions.go_on("g", "m", 1) is session
    with pytest.raises(InvalidShareSessionEpoch):
        sessions.go_on("g", "m", 1)
    session.epoch = 2**31 - 1
    sessions.go_on("g", "m", 2**31 - 1)
    assert session.epoch == 1
    assert sessions.end(session)
    assert not sessions.end(session)
    with pytest.raises(ShareSessionNotFound):
        sessions.find("g", "m")


def test_k33_partitions_take_turns() -> None:
    session = ShareSessions(10, 100).begin("g", "m", 1)
    assert session.in_turn() == []
    session.update([ONE, TWO, THREE], [])
    assert session.in_turn() == [ONE, TWO, THREE]
    session.epoch += 1
    assert session.in_turn() == [TWO, THREE, ONE]
    session.update([ONE], [TWO, SharedPartition(b"u" * 16, 0)])
    assert session.partitions == {ONE: False, THREE: False}
    session.update([TWO], [])
    assert session.partitions == {ONE: False, THREE: False, TWO: True}


def test_k34_there_is_a_limit_and_a_new_session_replaces_the_old_one() -> None:
    sessions = ShareSessions(1, 100)
    first = sessions.begin("g", "m", 1)
    second = sessions.begin("g", "m", 1)
    assert not sessions.end(first)
    assert sessions.get("g", "m") is second
    with pytest.raises(ShareSessionLimitReached):
        sessions.begin("g", "n", 1)
    assert len(sessions) == 1


def test_the_partitions_of_all_sessions_are_bounded() -> None:
    sessions = ShareSessions(10, 3)
    one, other = (sessions.begin("g", member, 1) for member in "mn")
    sessions.update(one, [ONE, ONE], [TWO])
    sessions.update(other, [ONE, TWO], [])
    assert sessions.partition_count == 3
    with pytest.raises(ShareSessionLimitReached):
        sessions.update(one, [ONE, TWO], [])
    assert one.partitions == {ONE: False}
    sessions.update(one, [ONE], [])
    sessions.update(one, [TWO], [ONE])
    assert one.partitions == {TWO: False}
    sessions.update(one, [ONE, THREE], [ONE, THREE])
    assert sessions.partition_count == 3
    sessions.update(sessions.begin("g", "n", 1), [THREE], [])
    assert sessions.partition_count == 2
    sessions.update(other, [], [ONE])  # its session was replaced
    assert sessions.partition_count == 2
    for each in sessions.of_connection(1):
        sessions.end(each)
    assert sessions.partition_count == 0


def test_k26_the_sessions_of_a_connection_and_of_a_group_are_found() -> None:
    sessions = ShareSessions(10, 100)
    one = sessions.begin("g", "m", 1)
    other = sessions.begin("h", "m", 1)
    elsewhere = sessions.begin("g", "n", 2)
    assert sessions.of_connection(1) == [one, other]
    assert sessions.of_connection(3) == []
    moved = sessions.begin("h", "m", 2)
    assert sessions.of_connection(1) == [one]
    assert sessions.of_connection(2) == [elsewhere, moved]
    sessions.end(one)
    assert sessions.of_connection(1) == []
    assert sessions.has_group("g")
    sessions.end(elsewhere)
    assert not sessions.has_group("g")
    assert sessions.has_group("h")


@pytest.mark.parametrize("member_id", [None, ""])
def test_k34_a_member_has_an_id(member_id: str | None) -> None:
    with pytest.raises(InvalidRequest):
        check_member(member_id)
    assert check_member("m") == "m"
