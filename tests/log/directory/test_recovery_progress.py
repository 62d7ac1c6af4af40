"""S-44: who waits for a recovery sees how far it is, by a bar on a terminal or lines in the log."""

import io

import pytest

from broker_lite.log.directory.recovery_progress import RecoveryProgress
from broker_lite.log.recovery.load_watch import LoadStopped

MB = 1_000_000


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


class Time:
    def __init__(self) -> None:
        self.ms = 1000

    def __call__(self) -> int:
        return self.ms


def test_a_log_that_takes_long_has_lines(caplog: pytest.LogCaptureFixture) -> None:
    """S-44: after a second, every five seconds then, and at its end; quick ones have none."""
    caplog.set_level("INFO", "broker_lite.log")
    time = Time()
    progress = RecoveryProgress(time, io.StringIO())
    quick, slow = progress.watch("quick-0"), progress.watch("slow-0")
    progress.watch("waiting-0")
    for watch in (quick, slow):
        watch.begin()
        watch.expect(4, 4000 * MB)
    quick.read(4000 * MB)
    time.ms += 999
    progress.tell()
    progress.finish(quick)
    assert caplog.messages == []
    slow.read(1000 * MB)
    slow.finish_segment()
    for wait_ms in (1, 1, 4000, 999, 5000):
        time.ms += wait_ms
        progress.tell()
    slow.read(3000 * MB)
    progress.finish(slow)
    progress.tell()
    assert caplog.messages == [
        "recovering partition=slow-0 segments=1/4 mb_per_s=1000 left_mb=3000 elapsed_ms=1000",
        "recovering partition=slow-0 segments=1/4 mb_per_s=166 left_mb=3000 elapsed_ms=6000",
        "recovering partition=slow-0 segments=1/4 mb_per_s=90 left_mb=3000 elapsed_ms=11000",
        "recovered partition=slow-0 segments=1/4 mb_per_s=363 left_mb=0 elapsed_ms=11000",
    ]


def test_a_terminal_has_a_bar() -> None:
    time, terminal = Time(), Terminal()
    progress = RecoveryProgress(time, terminal)
    watch = progress.watch("t-0")
    progress.watch("t-1")
    watch.begin()
    watch.expect(1, 100 * MB)
    watch.read(50 * MB)
    progress.tell()
    assert terminal.getvalue() == ""
    time.ms += 1000
    progress.tell()
    progress.tell()
    progress.finish(watch)
    line = "recovering [#####...............] 25 %, 0/2 partitions, 50 MB/s t-0"
    assert terminal.getvalue() == f"\r\x1b[K{line}\r\x1b[K"
    progress.clear()
    assert terminal.getvalue() == f"\r\x1b[K{line}\r\x1b[K"


def test_a_recovery_is_ended_at_its_next_read() -> None:
    progress = RecoveryProgress(Time(), io.StringIO())
    watch = progress.watch("t-0")
    watch.begin()
    watch.read(1)
    progress.stop()
    with pytest.raises(LoadStopped):
        watch.read(1)
    with pytest.raises(LoadStopped):
        progress.watch("t-1").begin()
