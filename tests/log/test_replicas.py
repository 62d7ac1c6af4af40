"""Replicas as numbers: what each of them has, and how far the high watermark may go."""

import pytest

from broker_lite.log.replicas import ENDS_MAX, STOPPED, Lag, Replicas

FROZEN = Lag(is_frozen=True)


class Leader:
    """A log whose followers are 2 and 3, and a clock that the test sets."""

    def __init__(self, end_offset: int = 10, *, ends_max: int = ENDS_MAX) -> None:
        self.now_ms = 1000
        self.appended = 0
        self.end_offset = self.high_watermark = end_offset
        self.replicas = Replicas(
            [2, 3], end_offset, lambda: self.now_ms, self._on_append, ends_max=ends_max
        )

    def _on_append(self) -> None:
        self.appended += 1

    def append(self, count: int = 1, *, after_ms: int = 0) -> int:
        self.now_ms += after_ms
        self.end_offset += count
        return self.look()

    def look(self) -> int:
        self.high_watermark = self.replicas.high_watermark(self.end_offset, self.high_watermark)
        return self.high_watermark


def test_c50_the_high_watermark_is_the_lowest_end_in_the_isr() -> None:
    leader = Leader()
    replicas = leader.replicas
    assert (bool(replicas), leader.append()) == (False, 11)
    replicas.fall_behind(2, FROZEN)
    assert (bool(replicas), leader.append(), leader.append(3)) == (True, 11, 11)
    replicas.fall_behind(3, FROZEN)
    assert (leader.append(), replicas.end_of(2), replicas.end_of(3)) == (11, 11, 15)
    replicas.isr = frozenset([3])
    assert leader.look() == 15
    replicas.isr = frozenset()
    assert (leader.look(), leader.appended) == (16, 4)


def test_c50_the_high_watermark_never_goes_back() -> None:
    leader = Leader()
    leader.replicas.fall_behind(2, FROZEN, 4)
    assert (leader.look(), leader.append()) == (10, 10)
    leader.replicas.catch_up(2)
    assert leader.look() == 11


def test_c50_below_the_minimum_it_stands_still() -> None:
    leader = Leader()
    leader.replicas.is_short = True
    assert (bool(leader.replicas), leader.append(), leader.append()) == (True, 10, 10)
    leader.replicas.is_short = False
    assert (bool(leader.replicas), leader.look()) == (False, 12)


def test_what_waits_for_a_flush_is_not_shown() -> None:
    leader = Leader(end_offset=10)
    leader.replicas.fall_behind(2, FROZEN)
    leader.replicas.isr = frozenset([3])
    assert leader.replicas.high_watermark(7, 5) == 7
    assert leader.replicas.high_watermark(11, 7) == 11


def test_a_lag_by_records() -> None:
    leader = Leader()
    leader.replicas.fall_behind(2, Lag(records=5))
    assert (leader.append(4), leader.append(1), leader.append(1)) == (10, 10, 10)
    assert leader.append(4) == 15  # 15 is the largest end that is not above 20 - 5
    assert leader.append(100) == 20
    assert leader.replicas.next_change_ms() is None


def test_a_replica_never_loses_what_it_had() -> None:
    leader = Leader()
    leader.append()
    leader.replicas.fall_behind(2, Lag(records=1_000_000))
    assert leader.replicas.end_of(2) == 11
    leader.append()
    leader.replicas.fall_behind(2, Lag(ms=1_000_000))
    assert leader.replicas.end_of(2) == 11


def test_a_lag_by_time() -> None:
    leader = Leader()
    leader.replicas.fall_behind(2, Lag(ms=100))
    assert leader.replicas.next_change_ms() is None
    assert (leader.append(), leader.append(after_ms=50)) == (10, 10)
    assert leader.replicas.next_change_ms() == 1100
    leader.now_ms = 1099
    assert leader.look() == 10
    leader.now_ms = 1100
    assert (leader.look(), leader.replicas.next_change_ms()) == (11, 1150)
    leader.now_ms = 9999
    assert leader.replicas.next_change_ms() == 1150  # it may have passed
    assert (leader.look(), leader.replicas.next_change_ms()) == (12, None)


def test_the_earliest_of_several_changes() -> None:
    leader = Leader()
    leader.replicas.fall_behind(2, Lag(ms=100))
    leader.replicas.fall_behind(3, Lag(ms=30))
    leader.append()
    assert leader.replicas.next_change_ms() == 1030
    leader.now_ms = 1030
    assert (leader.look(), leader.replicas.next_change_ms()) == (10, 1100)


def test_without_a_leader_nobody_gets_records() -> None:
    leader = Leader()
    replicas = leader.replicas
    replicas.fall_behind(2, Lag(ms=100))
    leader.append()
    replicas.stop()
    leader.now_ms += 50
    replicas.stop()  # again: it stands still since the first time
    leader.now_ms += 500
    assert (replicas.is_stopped, replicas.end_of(2), replicas.next_change_ms()) == (True, 10, None)
    replicas.go_on()
    assert (replicas.is_stopped, replicas.end_of(2)) == (False, 11)


def test_c51_since_when_a_replica_is_behind() -> None:
    leader = Leader()
    replicas = leader.replicas
    assert replicas.behind_since_ms(2) is None
    replicas.fall_behind(2, FROZEN)
    replicas.fall_behind(3, Lag(records=2))
    leader.now_ms = 5000
    assert replicas.behind_since_ms(2) is None  # nothing is missing
    leader.append(after_ms=5000)
    assert replicas.behind_since_ms(2) == 1000  # its last fetch, as in Kafka
    assert replicas.behind_since_ms(3) == 10_000
    leader.append(5, after_ms=1)
    assert replicas.behind_since_ms(3) == 10_001
    replicas.catch_up(2)
    assert replicas.behind_since_ms(2) is None


def test_c51_another_lag_does_not_make_a_replica_younger() -> None:
    leader = Leader()
    replicas = leader.replicas
    replicas.fall_behind(2, Lag(records=3))
    leader.append()
    leader.now_ms = 7000
    replicas.fall_behind(2, FROZEN)
    leader.now_ms = 9000
    replicas.fall_behind(2, STOPPED)
    assert (replicas.behind_since_ms(2), replicas.lag_of(2)) == (1000, STOPPED)


def test_c52_the_lags_of_those_that_have_less_than_a_new_leader() -> None:
    leader = Leader()
    replicas = leader.replicas
    replicas.fall_behind(2, FROZEN, 4)
    replicas.fall_behind(3, Lag(ms=100), 7)
    assert replicas.lags_below(7) == {2: (FROZEN, 4)}
    assert replicas.lags_below(4) == {}
    assert replicas.lags_below(8) == {2: (FROZEN, 4), 3: (Lag(ms=100), 7)}
    assert replicas.lag_of(1) is None
    assert set(replicas.behind) == {2, 3}


def test_old_ends_are_forgotten_but_none_that_a_replica_may_get() -> None:
    leader = Leader()
    replicas = leader.replicas
    replicas.fall_behind(2, Lag(ms=100))
    for _ in range(10):
        leader.append(after_ms=50)
    replicas.forget_old_ends()
    assert (replicas.ends, leader.look()) == ([(18, 1400), (19, 1450), (20, 1500)], 18)
    replicas.fall_behind(2, FROZEN)
    replicas.forget_old_ends()
    assert (replicas.ends, replicas.end_of(2)) == ([(20, 1500)], 18)
    replicas.fall_behind(2, Lag(ms=1))
    leader.now_ms += 1
    assert (replicas.end_of(2), replicas.behind_since_ms(2)) == (20, None)


@pytest.mark.parametrize("lag", [FROZEN, Lag(records=40), Lag(ms=1000)])
def test_many_appends_cost_no_memory(lag: Lag) -> None:
    leader = Leader(end_offset=0, ends_max=8)
    leader.replicas.fall_behind(2, lag)
    ends = []
    for _ in range(500):
        leader.append(after_ms=1)
        ends.append(leader.replicas.end_of(2))
        assert len(leader.replicas.ends) <= 8
        assert leader.replicas.ends[-1] == (leader.end_offset, leader.now_ms)
    assert ends == sorted(ends)
    assert all(end <= 500 for end in ends)
