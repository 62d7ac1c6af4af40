"""The stopwatch."""

import pytest

from broker_lite import stopwatch
from broker_lite.stopwatch import Stopwatch


def test_it_adds_up_what_lies_between_start_and_stop(monkeypatch: pytest.MonkeyPatch) -> None:
    now = iter([10.0, 12.0, 100.0, 101.0, 103.0])
    monkeypatch.setattr(stopwatch, "monotonic", lambda: next(now))
    watch = Stopwatch()
    assert watch.seconds() == 0
    watch.start()
    assert watch.is_running
    watch.stop()
    assert not watch.is_running
    assert watch.seconds() == 2
    watch.start()
    assert watch.seconds() == 3
    watch.stop()
    assert watch.seconds() == 5


def test_it_may_be_told_the_same_again(monkeypatch: pytest.MonkeyPatch) -> None:
    now = iter([10.0, 12.0])
    monkeypatch.setattr(stopwatch, "monotonic", lambda: next(now))
    watch = Stopwatch()
    for goes_on in (False, True, True, False, False):
        watch.run(goes_on)
    assert watch.seconds() == 2
