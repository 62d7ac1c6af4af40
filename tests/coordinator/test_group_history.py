"""What groups did, and why, is kept for people, within a bound."""

from broker_lite.coordinator.group_history import KEPT_MAX, GroupHistory, Note, shown


def test_the_steps_of_a_group_in_their_order() -> None:
    history = GroupHistory()
    history.add(5, [Note("g", 1, "a"), Note("h", 7, "b")])
    history.add(6, [Note("g", 2, "c")])
    assert history.of("g") == [(5, Note("g", 1, "a")), (6, Note("g", 2, "c"))]
    assert history.of("nothing") == []


def test_only_the_newest_are_kept() -> None:
    history = GroupHistory()
    for number in range(KEPT_MAX + 1):
        history.add(number, [Note("g", number, "")])
    assert len(history.of("g")) == KEPT_MAX
    assert history.of("g")[0][0] == 1


def test_long_names_take_no_memory() -> None:
    history = GroupHistory()
    history.add(5, [Note("g" * 32_000, 1, "a")])
    assert history.of("g" * 32_000) == []
    assert len(shown("m" * 32_000)) < 100
    assert shown("m") == "m"
