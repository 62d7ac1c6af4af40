"""Counts that go from one process to another: nothing is lost, and sums are exact."""

import json
import random

from broker_lite.load.tally import Phase, Tally
from tests.load.lanes import MS


def random_tally(source: random.Random) -> Tally:
    tally = Tally()
    for _ in range(source.randint(1, 500)):
        tally.requests += 1
        tally.records += 10
        tally.bytes += 1000
        tally.latencies_ns.record(int(source.lognormvariate(14, 2)))
    tally.errors = source.randint(0, 3)
    return tally


def test_a_way_through_json() -> None:
    tally = random_tally(random.Random(1))
    again = Tally.from_data(json.loads(json.dumps(tally.as_data())))
    assert json.dumps(again.as_data()) == json.dumps(tally.as_data())
    assert again.latencies_ns.count == tally.latencies_ns.count
    assert again.latencies_ns.percentile(0.99) == tally.latencies_ns.percentile(0.99)


def test_the_sum_of_processes_is_as_of_one() -> None:
    """Percentiles of the sum are those of all values, not of percentiles."""
    source = random.Random(2)
    whole, merged = Tally(), Tally()
    for _ in range(5):
        part = random_tally(source)
        whole.add(part)
        merged.add(Tally.from_data(json.loads(json.dumps(part.as_data()))))
    assert merged.as_data() == whole.as_data()
    second = merged.second(end_s=3, length_s=1, is_warmup=False)
    assert (second.requests, second.errors) == (whole.requests, whole.errors)
    assert second.max_ms == whole.latencies_ns.max / MS


def test_a_phase_is_as_long_as_all_of_them() -> None:
    first, second = Phase(), Phase()
    first.began_ns, first.ended_ns, first.requests = 10, 20, 3
    second.began_ns, second.ended_ns, second.requests = 11, 22, 4
    both = Phase()
    for each in (first, second):
        both.add_data(json.loads(json.dumps(each.as_data())))
    assert (both.began_ns, both.ended_ns, both.requests) == (10, 22, 7)
