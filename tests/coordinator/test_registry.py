"""What all groups share."""

from broker_lite.coordinator.effects import Effects
from broker_lite.coordinator.registry import in_batches
from tests.coordinator.groups.groups_driver import PARTITIONS, Driver, FakeTopic, id_of


def test_groups_of_a_partition() -> None:
    driver = Driver()
    for number in range(20):
        driver.commit(group_id=f"g{number}")
    registry = driver.coordinator.registry
    found = [group.group_id for p in range(PARTITIONS) for group in registry.groups_in(p)]
    assert sorted(found) == sorted(f"g{number}" for number in range(20))
    assert len(found) == 20


def test_groups_by_kind() -> None:
    driver = Driver()
    driver.commit(group_id="classic")
    driver.consumer_heartbeat(group_id="consumer")
    registry = driver.coordinator.registry
    assert registry.classic("classic") is not None
    assert registry.classic("consumer") is None
    assert registry.consumer("consumer") is not None
    assert registry.consumer("classic") is None
    assert registry.classic("missing") is None


def test_what_is_removed_at_once_is_written_in_batches_g74() -> None:
    effects = Effects()
    for number in range(100):
        effects.write((b"%05d" % number) * 2_000, b"v" * 100 if number % 2 else None)
    effects.reply(1, "answer")
    batches = in_batches("g", effects)
    assert len(batches) == 3
    assert [record for _, one in batches for record in one.records] == effects.records
    assert [one.replies for _, one in batches] == [[], [], [(1, "answer")]]
    assert {group_id for group_id, _ in batches} == {"g"}
    for _, one in batches:
        size_bytes = sum(len(record.key) + len(record.value or b"") for record in one.records)
        assert size_bytes <= 500_000


def test_a_group_with_many_offsets_goes_in_several_batches_g104() -> None:
    driver = Driver()
    name = "t" * 200
    driver.topics.topics[name] = FakeTopic(name, id_of("t"), 4_000)
    driver.commit(topics=[(name, range(4_000))])
    del driver.log[:]
    assert driver.delete_groups("g") == {"g": 0}
    assert len(driver.log) == 2
    assert driver.fetch() == {}
