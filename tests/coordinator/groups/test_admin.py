"""ListGroups, DescribeGroups, ConsumerGroupDescribe and DeleteGroups."""

import pytest

from broker_lite.errors import ErrorCode
from broker_lite.wire import messages
from tests.coordinator.groups.groups_driver import Driver

ALL = {
    ("simple", "", "Empty", "classic"),
    ("stable", "consumer", "Stable", "classic"),
    ("new", "consumer", "Stable", "consumer"),
}


@pytest.fixture
def driver() -> Driver:
    driver = Driver()
    driver.commit(group_id="simple")
    driver.stable_member(group_id="stable", metadata=b"m")
    driver.consumer_heartbeat(group_id="new")
    return driver


@pytest.mark.parametrize(
    ("states", "types", "expected"),
    [
        ((), (), {"simple", "stable", "new"}),
        (("STABLE",), (), {"stable", "new"}),
        (("stable", "empty"), (), {"simple", "stable", "new"}),
        ((), ("Consumer",), {"new"}),
        (("empty",), ("consumer",), set()),
        (("bogus",), (), set()),
        ((), ("bogus",), set()),
    ],
)
def test_g102_filters(
    driver: Driver, states: tuple[str, ...], types: tuple[str, ...], expected: set[str]
) -> None:
    assert driver.list(states, types) == {one for one in ALL if one[0] in expected}


@pytest.mark.parametrize("version", range(7))
def test_g103_describe(driver: Driver, version: int) -> None:
    describe = driver.coordinator.admin.describe_group
    groups = [describe(each, version) for each in ("stable", "missing", "new")]
    message = messages.DescribeGroupsResponse
    message.encode(message(groups=groups), version)
    stable, missing, new = groups
    assert (stable.error_code, stable.group_state, stable.protocol_data) == (0, "Stable", "range")
    assert [one.member_metadata for one in stable.members] == [b"m"]
    expected = ErrorCode.GROUP_ID_NOT_FOUND if version == 6 else 0
    for described in (missing, new):
        assert (described.error_code, described.group_state) == (expected, "Dead")
        assert described.members == []
    if version == 6:
        assert missing.error_message == "Group missing not found."
        assert new.error_message == "Group new is not a classic group."


@pytest.mark.parametrize("version", [0, 1])
def test_g101_describe(driver: Driver, version: int) -> None:
    describe = driver.coordinator.admin.describe_consumer_group
    groups = [describe(each) for each in ("new", "missing", "stable", "")]
    message = messages.ConsumerGroupDescribeResponse
    message.encode(message(groups=groups), version)
    new, missing, stable, empty = groups
    assert (new.error_code, new.group_state, len(new.members)) == (0, "Stable", 1)
    assert (missing.error_code, missing.error_message) == (69, "Group missing not found.")
    assert (stable.error_code, stable.error_message) == (
        69,
        "Group stable is not a consumer group.",
    )
    assert (empty.error_code, empty.error_message) == (24, None)


def test_g104_delete(driver: Driver) -> None:
    assert driver.delete_groups("simple", "stable", "new", "missing", "simple") == {
        "simple": 0,
        "stable": ErrorCode.NON_EMPTY_GROUP,
        "new": ErrorCode.NON_EMPTY_GROUP,
        "missing": ErrorCode.GROUP_ID_NOT_FOUND,
    }
    assert {one[0] for one in driver.list()} == {"stable", "new"}
    assert driver.fetch(group_id="simple") == {}
    driver.restart()
    assert {one[0] for one in driver.list()} == {"stable", "new"}


def test_g104_t45_pending_offsets_go_with_the_group(driver: Driver) -> None:
    driver.commit_in_transaction(5, group_id="simple", topics=[("t", (0, 1))])
    assert driver.delete_groups("simple") == {"simple": 0}
    # one tombstone for what is committed and pending, one for what is pending, and the group
    assert len(driver.log[-1][1][1]) == 3  # type: ignore[arg-type]
    driver.end(committed=True, group_id="simple")
    assert driver.fetch(group_id="simple") == {}


def test_g104_empty_consumer_group(driver: Driver) -> None:
    driver.consumer_heartbeat("m", -1, group_id="new")
    assert driver.delete_groups("new") == {"new": 0}
    driver.restart()
    assert "new" not in {one[0] for one in driver.list()}


def test_g104_group_that_has_given_out_an_id(driver: Driver) -> None:
    member_id = driver.join(version=4, group_id="pending").member_id
    assert driver.delete_groups("pending") == {"pending": 0}
    rejoined = driver.join(member_id, version=4, group_id="pending")
    assert rejoined.error_code == ErrorCode.UNKNOWN_MEMBER_ID


@pytest.mark.parametrize("group_id", ["simple", "missing"])
def test_a_rebalance_needs_members(driver: Driver, group_id: str) -> None:
    assert driver.coordinator.admin.rebalance(group_id, 0) is None


def test_a_rebalance_on_command(driver: Driver) -> None:
    admin = driver.coordinator.admin
    admin.rebalance("stable", 0)
    assert ("stable", "consumer", "PreparingRebalance", "classic") in driver.list((), ())
    again = admin.rebalance("stable", 0)
    assert again is not None
    assert again.records == []
    effects = admin.rebalance("new", 0)
    assert effects is not None
    assert len(effects.records) == 1
    assert ("new", "consumer", "Assigning", "consumer") in driver.list((), ())
