"""The stall watch itself."""

import socket
import time
from pathlib import Path

import pytest

from tests.support.broker_process import BrokerProcess
from tests.support.stall_watch import NO_STALL, Stall, StallWatch, longest, ping, until_calm


def test_the_longest_round_trip_and_the_most_cpu_are_kept() -> None:
    cpu_ms = iter([0.0, 1.0, 1.0, 21.0, 22.0, 23.0])
    asked = iter([False, False, True])

    def spin() -> None:
        until = time.perf_counter() + 0.002
        while time.perf_counter() < until:
            pass

    stall = longest(spin, lambda: next(cpu_ms), lambda: next(asked))
    assert stall.pings == 3
    assert stall.wall_ms >= 2
    assert stall.cpu_ms <= stall.wall_ms, "work of before the ping does not count"


def test_an_answer_that_does_not_come_whole_is_an_end() -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        theirs.sendall(b"\0\0\0\x09abc")
        theirs.shutdown(socket.SHUT_WR)
        with pytest.raises(EOFError):
            ping(ours)


def test_a_running_broker_is_watched_until_it_is_gone(tmp_path: Path) -> None:
    with BrokerProcess(tmp_path / "data") as broker:
        with StallWatch(broker.port, broker.pid) as watch:
            first = watch.lap()
            assert first.pings >= 1
            assert 0 <= first.cpu_ms <= first.wall_ms
        with StallWatch(broker.port, broker.pid) as watch:
            broker.stop()
            with pytest.raises(RuntimeError, match="does not answer"):
                watch.lap()


def test_a_stall_tells_both_figures() -> None:
    assert str(Stall(61.6, 12.2, 3)) == "62 ms (12 ms of the broker's processor time)"


def test_stalls_of_several_times_are_put_together() -> None:
    assert Stall(5, 1, 10).longest(Stall(3, 2, 4)) == (5, 2, 14)
    assert NO_STALL.longest(Stall(3, 2, 4)) == (3, 2, 4)


@pytest.mark.parametrize(
    ("stalls", "tried"),
    [([50, 60], [50]), ([60, 51, 9], [60, 51, 9]), ([51, 70, 60, 1], [51, 70, 60])],
)
def test_what_stalls_is_measured_again_thrice_at_most(stalls: list[int], tried: list[int]) -> None:
    assert until_calm(stalls.__getitem__, min) == tried
