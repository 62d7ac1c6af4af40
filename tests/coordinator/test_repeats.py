"""A request that asks for the same again and again (G-67)."""

from broker_lite.coordinator.repeats import few_repeats
from broker_lite.wire import messages
from tests.coordinator.groups.groups_driver import Driver


def test_few_repeats_are_in_their_places() -> None:
    assert list(few_repeats("abab")) == ["a", "b", "a", "b"]
    assert list(few_repeats(["a"] * 11 + ["b"])) == ["a"] * 10 + ["b"]


def test_answers_stay_small() -> None:
    driver = Driver()
    driver.commit()
    coordinator = driver.coordinator
    fetch = messages.OffsetFetchRequest
    everything = fetch.OffsetFetchRequestGroup(group_id="g", topics=None)
    nothing = fetch.OffsetFetchRequestGroup(group_id="g", topics=[])
    asked = [everything] * 5000 + [nothing] * 20
    answer = coordinator.fetches.fetch(fetch(groups=asked), 8)
    assert [len(group.topics) for group in answer.groups] == [1] * 10 + [0] * 20
