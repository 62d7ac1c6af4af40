"""The first member of a new group: the group stays only if the member does."""

from broker_lite.coordinator.classic.group import ClassicGroup
from broker_lite.coordinator.effects import Effects
from broker_lite.coordinator.groups.first_member import admit_first
from broker_lite.coordinator.streams.changes import put_member
from broker_lite.coordinator.streams.group import StreamsGroup
from broker_lite.coordinator.streams.member import StreamsMember
from tests.coordinator.groups.groups_driver import Driver


def admit(driver: Driver, old: ClassicGroup | None, *, is_refused: bool) -> Effects:
    registry, effects = driver.coordinator.registry, Effects()
    group = registry.make_streams("g")

    def heartbeat(created: Effects) -> None:
        if not is_refused:
            put_member(group, StreamsMember(member_id="a"), created)
        created.reply("token", "answer")

    admit_first(registry, group, old, heartbeat, effects)
    assert [reply for _, reply in effects.replies] == ["answer"]
    return effects


def test_a_group_stays_with_its_member() -> None:
    """U-03."""
    driver = Driver()
    effects = admit(driver, None, is_refused=False)
    assert isinstance(driver.coordinator.registry.groups["g"], StreamsGroup)
    assert len(effects.records) == 1


def test_a_refused_member_leaves_no_group() -> None:
    """U-03, G-80."""
    driver = Driver()
    assert admit(driver, None, is_refused=True).records == []
    assert driver.coordinator.registry.groups == {}


def test_a_classic_group_gives_way_with_a_tombstone() -> None:
    """U-03, G-80: before the records of the new group."""
    driver = Driver()
    old = driver.coordinator.registry.make_classic("g", 0)
    effects = admit(driver, old, is_refused=False)
    assert isinstance(driver.coordinator.registry.groups["g"], StreamsGroup)
    assert [each.value is None for each in effects.records] == [True, False]


def test_a_classic_group_stays_if_the_member_is_refused() -> None:
    """U-03, G-80."""
    driver = Driver()
    old = driver.coordinator.registry.make_classic("g", 0)
    assert admit(driver, old, is_refused=True).records == []
    assert driver.coordinator.registry.groups == {"g": old}
