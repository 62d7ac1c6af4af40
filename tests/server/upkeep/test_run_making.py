"""F-16: runs are made in a thread, and who waits for one is called in the loop's."""

import threading
from pathlib import Path

import anyio
import pytest

from broker_lite.log.canned.run import CannedRun, make_run
from broker_lite.log.canned.runs import CannedRuns
from broker_lite.record.canned import CannedShape
from broker_lite.server.upkeep import run_making
from broker_lite.server.upkeep.run_making import RunMaking

pytestmark = pytest.mark.anyio
SHAPE = CannedShape(1000, 1000)


async def test_the_waiter_is_called_when_the_run_is_made() -> None:
    runs = CannedRuns()
    place = runs.place_of(SHAPE)
    done = anyio.Event()
    async with RunMaking(runs):
        assert runs.want(place, done.set) is None
        with anyio.fail_after(10):
            await done.wait()
        assert place.run is not None
    assert runs.start is None


async def test_it_is_made_in_another_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    threads: list[int] = []

    def make(shape: CannedShape, directory: Path | None) -> CannedRun:
        threads.append(threading.get_ident())
        return make_run(shape, directory)

    monkeypatch.setattr(run_making, "make_run", make)
    runs, done = CannedRuns(), anyio.Event()
    place = runs.place_of(SHAPE)
    async with RunMaking(runs):
        runs.want(place, done.set)
        with anyio.fail_after(10):
            await done.wait()
    assert threads != [threading.get_ident()]


async def test_a_failure_is_logged_and_the_next_reader_tries_again(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    failed = threading.Event()

    def fail(shape: CannedShape, directory: Path | None) -> CannedRun:
        failed.set()
        raise OSError("no memory")

    runs, done = CannedRuns(), anyio.Event()
    place = runs.place_of(SHAPE)
    async with RunMaking(runs):
        with monkeypatch.context() as patch:
            patch.setattr(run_making, "make_run", fail)
            runs.want(place, done.set)
            with anyio.fail_after(10):
                while place.is_wanted:
                    await anyio.lowlevel.checkpoint()
        assert failed.is_set()
        assert "no canned run made" in caplog.text
        assert not done.is_set()
        runs.want(place, done.set)
        with anyio.fail_after(10):
            await done.wait()


async def test_at_the_stop_what_is_not_begun_is_given_up() -> None:
    runs = CannedRuns()
    places = [runs.place_of(SHAPE._replace(record_bytes=size)) for size in (1000, 900, 800)]
    async with RunMaking(runs):
        for place in places:
            runs.want(place, lambda: None)
    await anyio.lowlevel.checkpoint()
    assert places[-1].run is None
