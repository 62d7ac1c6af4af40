"""F-16: runs are made once for each shape, shared, and dropped when nobody needs them."""

import gc
from pathlib import Path

import pytest

from broker_lite.errors import KafkaStorageError
from broker_lite.log.canned import runs as module
from broker_lite.log.canned.run import CannedRun, make_run
from broker_lite.log.canned.runs import CannedRuns, RunPlace
from broker_lite.record.canned import CannedShape

SHAPE = CannedShape(1000, 1000)
OTHER = CannedShape(1000, 999)


def never() -> None:
    raise AssertionError("nobody waits")


def test_equal_shapes_share_a_run() -> None:
    runs = CannedRuns()
    assert not runs.is_used
    place = runs.place_of(SHAPE)
    assert runs.is_used
    assert runs.place_of(CannedShape(1000, 1000)) is place
    run = runs.want(place, never)
    assert run is not None
    assert runs.want(place, never) is run
    assert runs.size_bytes == run.size_bytes


def test_a_run_is_dropped_when_no_topic_uses_it() -> None:
    runs = CannedRuns()
    place = runs.place_of(SHAPE)
    assert runs.want(place, never) is not None
    del place
    gc.collect()
    assert runs.size_bytes == 0


def test_in_the_background_the_reader_is_called() -> None:
    runs = CannedRuns()
    started: list[RunPlace] = []
    called: list[str] = []
    runs.start = started.append
    place = runs.place_of(SHAPE)

    def one() -> None:
        called.append("one")

    assert runs.want(place, one) is None
    assert runs.want(place, one) is None
    assert runs.want(place, lambda: called.append("other")) is None
    assert started == [place]
    runs.ended(place, make_run(SHAPE))
    assert called == ["one", "other"]
    assert runs.want(place, never) is place.run


def test_if_it_cannot_be_made_the_next_reader_tries_again() -> None:
    runs = CannedRuns()
    started: list[RunPlace] = []
    runs.start = started.append
    place = runs.place_of(SHAPE)
    assert runs.want(place, never) is None
    runs.ended(place, None)
    assert runs.want(place, lambda: None) is None
    assert started == [place, place]


def test_without_memory_there_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(shape: CannedShape, directory: Path | None) -> CannedRun:
        raise OSError("no memory")

    monkeypatch.setattr(module, "make_run", fail)
    runs = CannedRuns()
    with pytest.raises(KafkaStorageError):
        runs.want(runs.place_of(SHAPE), never)


def test_the_memory_of_all_runs_is_bounded() -> None:
    runs = CannedRuns(bytes_max=9_000_000)
    first, second = runs.place_of(SHAPE), runs.place_of(OTHER)
    made = runs.want(first, never)
    assert runs.want(second, never) is second.run is not None
    assert first.run is None
    again = runs.want(first, never)
    assert again is not made
    assert second.run is None
    assert runs.size_bytes <= 9_000_000


def test_within_the_bound_all_runs_stay() -> None:
    runs = CannedRuns()
    first, second = runs.place_of(SHAPE), runs.place_of(OTHER)
    assert runs.want(first, never) is first.run is not None
    assert runs.want(second, never) is second.run is not None
    assert first.run is not None
    assert runs.size_bytes == first.run.size_bytes + second.run.size_bytes


def test_one_run_may_take_more_than_that() -> None:
    runs = CannedRuns(bytes_max=1)
    place = runs.place_of(SHAPE)
    assert runs.want(place, never) is place.run is not None
