"""On which requests a rule acts."""

from typing import Any

import msgspec
import pytest

from broker_lite.testbench.faults.rules import Rule
from broker_lite.testbench.faults.schedule import Schedule


def schedule(now: list[float] | None = None, **fields: Any) -> Schedule:
    clock = now or [0.0]
    return Schedule(msgspec.convert({"hold": True, **fields}, Rule), lambda: clock[0])


def acts(plan: Schedule, requests: int = 12) -> list[int]:
    """The numbers of the requests on which it acts, from 1 on."""
    return [
        number for number in range(1, requests + 1) if plan.pass_reason() is None and plan.hit()
    ]


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({}, [1]),
        ({"count": 0}, [1]),
        ({"count": 2}, [1, 2]),
        ({"skip": 3, "count": 2}, [4, 5]),
        ({"every": 3, "count": -1}, [3, 6, 9, 12]),
        ({"skip": 1, "every": 2, "count": 2}, [3, 5]),
        ({"probability": 0.0, "count": -1}, []),
        ({"probability": 1.0, "count": 2}, [1, 2]),
    ],
)
def test_counts(fields: dict[str, Any], expected: list[int]) -> None:
    assert acts(schedule(**fields)) == expected


def test_a_seed_decides_the_same_each_time() -> None:
    first, again, other = (
        acts(schedule(probability=0.3, seed=seed, count=-1), 200) for seed in (1, 1, 2)
    )
    assert first == again != other
    assert 30 < len(first) < 90


def test_a_seed_that_was_not_given_can_be_read_and_used_again() -> None:
    plan = schedule(probability=0.5, count=-1)
    seen = acts(plan, 50)
    assert acts(schedule(probability=0.5, count=-1, seed=plan.seed), 50) == seen


def test_what_is_left() -> None:
    plan = schedule(count=2)
    assert plan.left == 2
    acts(plan, 1)
    assert plan.left == 1
    acts(plan, 5)
    assert (plan.left, plan.is_over, plan.hits, plan.seen) == (0, True, 2, 2)
    assert schedule(count=-1).left == -1


def test_a_claim_is_no_hit_yet() -> None:
    plan = schedule(count=1)
    assert plan.pass_reason() is None
    assert (plan.left, plan.is_over, plan.hits) == (1, False, 0)
    assert plan.pass_reason() == "the rule is spent"  # that one claim would use it up
    plan.give_up()
    assert plan.pass_reason() is None
    assert plan.hit()
    assert (plan.left, plan.is_over, plan.hits) == (0, True, 1)


def test_claims_that_may_come_to_nothing_do_not_use_a_rule_up() -> None:
    plan = schedule(count=1, poison="bad-crc")
    assert [plan.pass_reason() for _ in range(3)] == [None] * 3
    plan.give_up()
    assert [plan.hit(), plan.hit()] == [True, False]
    assert (plan.hits, plan.left) == (1, 0)


def test_a_claim_is_no_hit_when_the_time_is_over() -> None:
    now = [0.0]
    plan = schedule(now, count=-1, for_ms=50)
    plan.begin()
    assert (plan.pass_reason(), plan.ends_in_ms) == (None, 50)
    now[0] = 60.0
    assert (plan.hit(), plan.hits, plan.ends_in_ms) == (False, 0, 0)


def test_a_rule_for_a_time() -> None:
    now = [100.0]
    plan = schedule(now, count=-1, for_ms=50)
    now[0] = 500.0
    plan.begin()
    plan.begin()
    assert acts(plan, 2) == [1, 2]
    now[0] = 550.0
    assert acts(plan, 2) == []
    assert (plan.is_over, plan.left) == (True, 0)


def test_a_replay_goes_by_the_number_of_the_request() -> None:
    plan = schedule(probability=0.5, count=-1)
    plan.replay = {2, 5}
    assert acts(plan) == [2, 5]
    assert plan.hits == 2


def test_delays() -> None:
    assert schedule(delay_ms=7).delay_ms() == 7
    assert schedule().delay_ms() == 0
    shape = {"median": 80, "sigma": 0.4, "seed": 3}
    first, again = (schedule(delay_ms=shape) for _ in range(2))
    delays = sorted(first.delay_ms() for _ in range(501))
    assert delays == sorted(again.delay_ms() for _ in range(501))
    assert 70 < delays[250] < 90
    assert delays[0] > 0
    longest = schedule(delay_ms={"median": 60_000, "sigma": 10, "seed": 2})
    assert max(longest.delay_ms() for _ in range(100)) == 24 * 3600 * 1000
    unseeded = schedule(delay_ms={"median": 80, "sigma": 0.4})
    same = schedule(delay_ms={"median": 80, "sigma": 0.4, "seed": unseeded.seed})
    assert unseeded.delay_ms() == same.delay_ms()
    assert "spent" in str(_spent().pass_reason())


def _spent() -> Schedule:
    plan = schedule()
    acts(plan, 1)
    return plan
