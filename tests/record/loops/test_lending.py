"""When a compiled loop lends the interpreter, and what stands in for that in plain Python."""

import threading
import time
from collections.abc import Callable

import pytest

from broker_lite.record.implementation import form_of
from broker_lite.record.loops import lending
from broker_lite.record.loops import scan as imported_scan
from broker_lite.record.loops.canonical import are_canonical
from broker_lite.record.loops.refused import RefusedSearch
from broker_lite.record.loops.rewrite import RecordRewriter
from broker_lite.record.loops.scan import RecordCursor, scan_records
from tests.log.batches import record

COUNT = 3_000_000
DATA = memoryview(record(b"", None) * COUNT)
END = len(DATA)


def test_a_loop_in_plain_python_lends_nothing() -> None:
    """Both are used by many threads at once, so they keep nothing."""
    with lending.nogil, lending.nogil, lending.gil as nothing:
        assert nothing is None


def _measure() -> None:
    RecordRewriter(DATA, 0, END, COUNT, memoryview(b""), True).measure(0, False, 0, -1)


def _search() -> None:
    RefusedSearch(True, False, 0, 0, 0, 0, False, 0).next(RecordCursor(DATA, 0, END, True), COUNT)


@pytest.mark.parametrize(
    "walk",
    [
        pytest.param(lambda: scan_records(DATA, 0, END, COUNT, 0, True), id="scan_records"),
        pytest.param(lambda: are_canonical(DATA, 0, END, COUNT), id="are_canonical"),
        pytest.param(_measure, id="RecordRewriter"),
        pytest.param(_search, id="RefusedSearch"),
    ],
)
def test_other_threads_go_on_during_a_long_walk(walk: Callable[[], object]) -> None:
    """One that keeps the interpreter leaves others a few milliseconds before and after it."""
    if form_of(imported_scan) != "native":
        pytest.skip("not compiled here")
    # on a busy machine the other thread may not have a processor during a walk
    assert any(_share_of_another_thread(walk) > 0.25 for _ in range(20))


def _share_of_another_thread(walk: Callable[[], object]) -> float:
    """The processor time of this thread during a walk, relative to that of the walk."""
    began, ended = threading.Event(), threading.Event()
    walk_s = 0.0

    def work() -> None:
        nonlocal walk_s
        began.set()
        walk()
        walk_s = time.thread_time()
        ended.set()

    thread = threading.Thread(target=work)
    thread.start()
    began.wait()
    before_s = time.thread_time()
    while not ended.is_set():
        pass
    other_s = time.thread_time() - before_s
    thread.join()
    return other_s / walk_s
