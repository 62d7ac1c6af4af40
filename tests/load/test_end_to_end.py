"""What is counted from when a request was due until its batch is seen."""

from broker_lite.load.end_to_end import EndToEnd
from broker_lite.load.lane import Request
from broker_lite.load.recorder import Recorder
from broker_lite.load.stamped import Batch, Filler
from tests.load.lanes import MS, SECOND, recorder
from tests.load.test_stamped import RUN, batch_of


class Case:
    """One process that writes and reads."""

    def __init__(self) -> None:
        self.seen, self.acknowledged = recorder(), recorder()
        self.both = EndToEnd(RUN, self.seen, self.acknowledged)

    def send(self, number: int, *, run: EndToEnd | None = None) -> memoryview:
        """Send a request that was due at its number of seconds; the batch as a reader has it."""
        stamp = (run or self.both).stamp(number, number * SECOND)
        return memoryview(b"".join(Filler(batch_of()).fill(None, -1, stamp)))

    def acknowledge(self, number: int, now_ns: int) -> None:
        request = Request(number * SECOND, number, (), 0)
        self.both.written(request, Batch(b"12345", 10), now_ns)

    def finish(self) -> Recorder:
        self.seen.finish(10 * SECOND)
        self.both.end(10 * SECOND)
        return self.seen


def test_from_due_until_seen() -> None:
    case = Case()
    batch = case.send(1)
    case.acknowledge(1, SECOND + 3 * MS)
    case.both.see(batch, 10, SECOND + 7 * MS)
    case.acknowledged.finish(2 * SECOND)
    seen = case.finish()
    assert seen.measured.latencies_ns.max == 7 * MS
    assert seen.accepted_records == 10
    assert case.acknowledged.measured.latencies_ns.max == 3 * MS
    assert case.both.totals() == {"written_records": 10, "repeated": 0, "unseen": 0}


def test_seen_before_it_is_acknowledged() -> None:
    case = Case()
    case.both.see(case.send(1), 10, SECOND + MS)
    assert not case.both.is_waiting
    case.send(1)  # again, because the answer was lost
    assert not case.both.is_waiting
    case.acknowledge(1, 2 * SECOND)
    case.finish()
    assert case.both.unseen == 0


def test_what_is_never_seen_counts_until_the_end() -> None:
    case = Case()
    case.send(2)
    case.acknowledge(2, 3 * SECOND)
    case.send(4)  # not acknowledged either
    assert case.both.is_waiting
    seen = case.finish()
    assert case.both.unseen == 1
    assert (seen.measured.latencies_ns.count, seen.measured.latencies_ns.max) == (2, 8 * SECOND)


def test_what_is_refused_is_not_expected() -> None:
    case = Case()
    case.send(1)
    case.both.refused(1)
    assert not case.both.is_waiting


def test_a_batch_that_is_seen_twice() -> None:
    case = Case()
    batch = case.send(1)
    for _ in range(2):
        case.both.see(batch, 10, 2 * SECOND)
    assert (case.both.repeated, case.finish().measured.requests) == (1, 1)


def test_batches_of_others_are_not_counted() -> None:
    case = Case()
    other = EndToEnd(b"other-id", recorder(), recorder())
    case.both.see(case.send(1, run=other), 10, 2 * SECOND)
    case.both.see(memoryview(bytes(100)), 10, 2 * SECOND)
    assert case.finish().measured.requests == 0
    assert case.both.repeated == 0
