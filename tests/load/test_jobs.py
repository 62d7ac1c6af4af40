"""Jobs in threads, whose results come to the thread that collects them."""

import threading

import pytest

from broker_lite.errors import ClientError, SettingsError
from broker_lite.load.jobs import Jobs

WAIT_S = 20


def test_results_come_when_they_are_collected() -> None:
    jobs, found = Jobs(), list[object]()
    may_end, has_ended = threading.Event(), threading.Event()

    def job() -> int:
        assert may_end.wait(WAIT_S)
        return threading.get_ident()

    jobs.start(job, lambda result: found.extend((result, threading.get_ident())))
    jobs.start(has_ended.set, lambda _: found.append("second"))
    assert has_ended.wait(WAIT_S)
    while not found:
        jobs.collect(WAIT_S)
    assert found == ["second"]
    assert jobs.running == 1
    jobs.collect()
    may_end.set()
    jobs.collect(WAIT_S)
    assert jobs.running == 0
    assert found[1] != found[2] == threading.get_ident()


@pytest.mark.parametrize("kind", [ClientError, SettingsError])
def test_an_error_is_a_result(kind: type[Exception]) -> None:
    jobs, found = Jobs(), list[object]()

    def fail() -> None:
        raise kind("no")

    jobs.start(fail, found.append)
    jobs.collect(WAIT_S)
    assert [(type(error), str(error)) for error in found] == [(ClientError, "no")]


@pytest.mark.timeout(WAIT_S)
def test_without_a_job_nobody_waits() -> None:
    Jobs().collect()
    Jobs().collect(2 * WAIT_S)


@pytest.mark.timeout(WAIT_S)
def test_nobody_waits_for_what_has_been_collected() -> None:
    jobs, found = Jobs(), list[object]()
    jobs.start(lambda: 1, found.append)
    jobs.collect(WAIT_S)
    jobs.collect(2 * WAIT_S)
    assert found == [1]


def test_a_job_may_take_longer_than_one_waits() -> None:
    jobs, may_end = Jobs(), threading.Event()
    jobs.start(lambda: may_end.wait(WAIT_S), lambda _: None)
    jobs.collect(0.001)
    assert jobs.running == 1
    may_end.set()
    jobs.collect(WAIT_S)
    assert jobs.running == 0


@pytest.mark.parametrize("count", [1, 5])
def test_all_that_is_there_is_collected_at_once(count: int) -> None:
    jobs, found = Jobs(), list[object]()
    for number in range(count):
        jobs.start(lambda number=number: number, found.append)  # type: ignore[misc]
    while jobs.running:
        jobs.collect(WAIT_S)
    assert sorted(found) == list(range(count))  # type: ignore[type-var]
