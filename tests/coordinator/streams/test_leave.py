"""Members that leave a streams group, or are put out."""

from broker_lite.coordinator.streams.group import StreamsGroupState
from broker_lite.coordinator.streams.member import StreamsMemberState
from broker_lite.coordinator.timers import REBALANCE, SESSION
from tests.coordinator.streams.streams_driver import Driver, statuses, types


def test_a_member_leaves() -> None:
    """U-09."""
    driver = Driver(t=2)
    driver.join("a")
    driver.join("b")
    driver.settle("a", "b")
    answer = driver.beat("b", -1)
    assert (answer.member_epoch, answer.status, types(driver.effects)) == (-1, [], [22, 21, 19, 17])
    assert driver.group.state is StreamsGroupState.ASSIGNING
    driver.follow("a")
    assert driver.has("a") == {"0": [0, 1]}
    driver.beat("a", -1)
    assert driver.group.state is StreamsGroupState.EMPTY
    assert len(driver.timers) == 0


def test_a_silent_member_is_put_out() -> None:
    """U-09."""
    driver = Driver(t=1)
    driver.join("a")
    driver.now_ms += 45_000
    assert (driver.run_timers(), driver.group.roster.members) == ([SESSION], {})


def test_a_member_that_does_not_give_its_tasks_back_is_put_out() -> None:
    """U-09, U-17."""
    driver = Driver(t=2)
    driver.join("a")
    driver.join("b")
    driver.follow("a")
    assert driver.group.roster.members["a"].state is StreamsMemberState.UNREVOKED_TASKS
    driver.now_ms += 5000
    assert driver.run_timers() == [REBALANCE]
    driver.settle("b")
    assert driver.has("b") == {"0": [0, 1]}


def test_a_shutdown_is_told_to_all_until_they_are_gone() -> None:
    """U-09."""
    driver = Driver(t=2)
    driver.join("a")
    driver.join("b")
    driver.beat("a", 2, shutdown_application=True)
    ((code, text),) = statuses(driver.follow("b"))
    assert (code, text[:46]) == (4, "Streams group member a encountered a fatal err")
    driver.beat("b", -1, shutdown_application=True)
    assert driver.group.shutdown_by == "a"
    driver.beat("a", -1)
    assert driver.group.shutdown_by is None


def test_a_shutdown_of_the_first_heartbeat_is_forgotten() -> None:
    """U-04."""
    driver = Driver(t=1)
    assert statuses(driver.join("a", shutdown_application=True))[0][0] == 4
    assert statuses(driver.follow("a")) == []
