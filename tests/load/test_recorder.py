"""What is counted in which second and phase."""

from broker_lite.load.recorder import Recorder, Second
from tests.load.lanes import MS, SECOND


def test_warm_up_and_measured_are_apart() -> None:
    seconds: list[Second] = []
    calls: list[str] = []
    recorder = Recorder(
        warmup_s=1.5,
        on_second=seconds.append,
        on_measured=lambda: calls.append("measured"),
        on_finished=lambda: calls.append("finished"),
    )
    recorder.begin(0)
    recorder.answered(SECOND // 2, SECOND // 2 - MS, 10, 1000)
    recorder.answered(SECOND * 5 // 4, SECOND * 5 // 4 - 2 * MS, 20, 2000)
    assert calls == []
    recorder.answered(SECOND * 7 // 4, SECOND * 7 // 4 - 3 * MS, 30, 3000)
    assert calls == ["measured"]
    recorder.answered(SECOND * 3, SECOND * 3 - 4 * MS, 40, 4000)
    recorder.finish(SECOND * 15 // 4)
    assert calls == ["measured", "finished"]
    assert [(each.end_s, each.length_s, each.is_warmup, each.records) for each in seconds] == [
        (1.0, 1.0, True, 10),
        (1.5, 0.5, True, 20),
        (2.5, 1.0, False, 30),
        (3.5, 1.0, False, 40),
        (3.75, 0.25, False, 0),
    ]
    assert seconds == recorder.seconds
    warmup, measured = recorder.warmup, recorder.measured
    assert (warmup.length_s, warmup.requests, warmup.records, warmup.bytes) == (1.5, 2, 30, 3000)
    assert (measured.length_s, measured.requests, measured.bytes) == (2.25, 2, 7000)
    assert (warmup.latencies_ns.max, measured.latencies_ns.max) == (2 * MS, 4 * MS)
    assert recorder.accepted_records == 100


def test_a_second_has_its_own_percentiles() -> None:
    recorder = Recorder(warmup_s=0)
    recorder.begin(0)
    recorder.answered(MS, 0, 1, 1)
    recorder.answered(SECOND + 5 * MS, SECOND, 1, 1)
    recorder.tick(2 * SECOND)
    assert [each.max_ms for each in recorder.seconds] == [1, 5]
    assert recorder.measured.latencies_ns.count == 2


def test_seconds_without_answers_are_there() -> None:
    recorder = Recorder(warmup_s=0)
    recorder.begin(0)
    recorder.tick(3 * SECOND)
    assert [each.requests for each in recorder.seconds] == [0, 0, 0]


def test_late_answers_count_in_the_latencies_only() -> None:
    recorder = Recorder(warmup_s=0)
    recorder.begin(0)
    recorder.finish(SECOND)
    recorder.answered(2 * SECOND, SECOND // 2, 10, 1000)
    assert recorder.measured.requests == 0
    assert recorder.measured.latencies_ns.max == SECOND * 3 // 2
    assert recorder.accepted_records == 10


def test_the_end_in_the_warm_up_leaves_nothing_measured() -> None:
    recorder = Recorder(warmup_s=5)
    recorder.begin(0)
    recorder.answered(MS, 0, 1, 1)
    recorder.finish(SECOND)
    assert (recorder.warmup.requests, recorder.measured.requests) == (1, 0)
    assert recorder.measured.length_s == 0


def test_errors_by_name_with_the_last_reason() -> None:
    recorder = Recorder(warmup_s=0)
    recorder.begin(0)
    recorder.error("NOT_LEADER_OR_FOLLOWER")
    recorder.error("no connection", "first")
    recorder.error("no connection", "second")
    recorder.finish(SECOND)
    assert recorder.errors == {"NOT_LEADER_OR_FOLLOWER": 1, "no connection": 2}
    assert recorder.reasons == {"no connection": "second"}
    assert recorder.seconds[0].errors == 3


def test_many_requests_that_never_left_are_counted_in_steps() -> None:
    recorder = Recorder(warmup_s=0)
    recorder.begin(0)
    recorder.finish(10 * SECOND)
    recorder.never_sent(5 * SECOND, 10 * SECOND, 1_000_001, 10 * SECOND)
    recorder.never_sent(9 * SECOND, 9 * SECOND, 1, 10 * SECOND)
    latencies_ns = recorder.measured.latencies_ns
    assert recorder.unsent == latencies_ns.count == 1_000_002
    assert latencies_ns.max == 5 * SECOND
    assert 2.4 * SECOND < latencies_ns.mean < 2.6 * SECOND
