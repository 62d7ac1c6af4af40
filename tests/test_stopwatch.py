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
    watch.stop()
    assert watch.seconds() == 2
    watch.start()
    assert watch.seconds() == 3
    watch.stop()
    assert watch.seconds() == 5
