import pytest

from broker_lite.client.deadline import Deadline


def test_time_to_come() -> None:
    deadline = Deadline(1000)
    assert deadline.timeout_s == 1000
    assert 0 < deadline.remaining_s <= 1000
    assert deadline.pause(0)


@pytest.mark.parametrize("timeout_s", [0, -1])
def test_it_is_over_at_once(timeout_s: float) -> None:
    deadline = Deadline(timeout_s)
    assert deadline.remaining_s == 0
    assert not deadline.pause(1000)


def test_a_pause_ends_with_it() -> None:
    deadline = Deadline(0.01)
    assert deadline.pause(1000)
    assert deadline.remaining_s == 0
