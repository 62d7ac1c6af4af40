from typing import Any

import pytest

from broker_lite.coordinator.classic.member import ClassicMember, Protocol
from broker_lite.coordinator.classic.roster import Roster
from broker_lite.errors import ErrorCode


def member(member_id: str, *names: str, instance_id: str | None = None) -> ClassicMember:
    return ClassicMember(
        member_id,
        instance_id=instance_id,
        client_id="c",
        client_host="/h",
        session_timeout_ms=1,
        rebalance_timeout_ms=len(member_id),
        protocols=[(name, b"") for name in names],
    )


def roster(*members: ClassicMember) -> Roster:
    made = Roster()
    for each in members:
        made.add(each)
    return made


def test_g43_first_member_leads_and_the_next_follows_it() -> None:
    group = roster(member("a", "x"), member("b", "x"))
    assert group.leader == "a"
    group.remove("a")
    assert group.leader == "b"
    group.remove("b")
    assert group.leader is None
    assert group.remove("b") is None


def test_g42_static_members_have_one_id_each() -> None:
    group = roster(member("a", "x", instance_id="i"), member("b", "x"))
    assert group.check_member("a", "i") is None
    assert group.check_member("a", None) is None
    assert group.check_member("b", "i") is ErrorCode.FENCED_INSTANCE_ID
    assert group.check_member("b", "j") is ErrorCode.UNKNOWN_MEMBER_ID
    assert group.check_member("c", None) is ErrorCode.UNKNOWN_MEMBER_ID
    group.replace_static(group.members["a"], "c")  # G-49
    assert (group.leader, list(group.members)) == ("c", ["b", "c"])
    assert group.check_member("a", "i") is ErrorCode.FENCED_INSTANCE_ID
    group.remove("c")
    assert group.static_members == {}


def test_g33_longest_rebalance_timeout() -> None:
    assert roster(member("a", "x"), member("bbb", "x"), member("cc", "x")).rebalance_timeout_ms == 3
    assert Roster().rebalance_timeout_ms == 0


@pytest.mark.parametrize(
    ("offers", "chosen"),
    [
        pytest.param(["x"], "x", id="G-46-one"),
        pytest.param(["xy", "yx", "yz"], "y", id="G-46-only-one-is-common"),
        pytest.param(["xy", "yx", "yx"], "y", id="G-46-most-votes"),
        pytest.param(["yx", "xy"], "y", id="G-46-tie"),
        pytest.param(["zxy", "wyx", "yx"], "y", id="G-46-first-candidate-counts"),
        pytest.param(["xxy", "y"], "y", id="G-46-named-twice"),
    ],
)
def test_select_protocol(offers: list[str], chosen: str) -> None:
    group = roster(*(member(str(number), *names) for number, names in enumerate(offers)))
    assert group.select_protocol() == chosen


def test_g39_protocols_that_all_know() -> None:
    group = roster(member("a", "x", "y"), member("b", "y"))
    assert group.everyone_knows_one_of(["x", "y"])
    assert not group.everyone_knows_one_of(["x"])
    assert not group.everyone_knows_one_of([])
    changed: list[Protocol] = [("x", b"")]
    group.set_protocols(group.members["b"], changed)
    assert group.everyone_knows_one_of(["x"])
    group.remove("a")
    group.remove("b")
    counts: dict[str, Any] = group._protocol_counts
    assert counts == {}


def test_a_members_new_assignment_and_protocols_count_in_place_of_the_old_ones() -> None:
    group = roster(member("a", "x"))
    one, before = group.members["a"], group.held.count
    group.set_assignment(one, bytes(100))
    assert (one.assignment, group.held.count) == (bytes(100), before + 100)
    group.set_protocols(one, [("x", bytes(50))])
    group.set_assignment(one, bytes(30))
    assert group.held.count == before + 80
    group.remove("a")
    assert group.held.count == 0
