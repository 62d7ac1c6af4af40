"""What all groups share."""

from broker_lite.coordinator.group_registry import is_too_long
from tests.coordinator.groups_driver import PARTITIONS, Driver


def test_groups_of_a_partition() -> None:
    driver = Driver()
    for number in range(20):
        driver.commit(group_id=f"g{number}")
    registry = driver.coordinator._registry
    found = [group.group_id for p in range(PARTITIONS) for group in registry.groups_in(p)]
    assert sorted(found) == sorted(f"g{number}" for number in range(20))
    assert len(found) == 20


def test_groups_by_kind() -> None:
    driver = Driver()
    driver.commit(group_id="classic")
    driver.consumer_heartbeat(group_id="consumer")
    registry = driver.coordinator._registry
    assert registry.classic("classic") is not None
    assert registry.classic("consumer") is None
    assert registry.consumer("consumer") is not None
    assert registry.consumer("classic") is None
    assert registry.classic("missing") is None


def test_texts_that_fit_no_record() -> None:
    assert not is_too_long("x" * 32_767)
    assert is_too_long("x" * 32_768)
    assert is_too_long("\ufffd" * 10_923)
    assert not is_too_long("\ufffd" * 10_922)
