"""Work in threads sees that it is to stop."""

import pytest

from broker_lite.record.stopping import NEVER, Stop, WorkStopped


def test_a_stop_stays() -> None:
    stop = Stop()
    stop.check()
    stop.set()
    for _ in range(2):
        assert stop.is_set
        with pytest.raises(WorkStopped):
            stop.check()
    NEVER.check()


def test_a_compiled_loop_is_told_while_it_runs() -> None:
    stop, told = Stop(), []
    with stop.telling(lambda: told.append("a loop that is over")):
        pass
    assert not told
    with pytest.raises(WorkStopped), stop.telling(lambda: told.append("a loop")):
        stop.set()
    assert told == ["a loop"]
    with pytest.raises(WorkStopped), stop.telling(lambda: told.append("too late")):
        told.append("the body of none")
    assert told == ["a loop"]
