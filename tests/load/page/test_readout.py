"""What is read of a result: numbers, and not too many."""

import pytest

from broker_lite.errors import SettingsError
from broker_lite.load.page.readout import POINTS_MAX, readout
from tests.load.page.results import result


def test_each_second_is_a_point() -> None:
    run = readout(result(10))
    assert (len(run.points), run.seconds_each, run.warmup_s) == (10, 1, 2)
    point = run.points[-1]
    assert (point.end_s, point.records_per_s, point.mb_per_s) == (10, 20, 2)
    assert point.max_ms == 50
    assert [cpu.client for cpu in run.cpu] == [0.25] * 9
    assert run.cpu[0].broker is None
    assert run.latencies[-1] == (50, 1)
    assert [share for _, share in run.latencies] == sorted(share for _, share in run.latencies)


def test_a_long_run_has_no_more_points() -> None:
    found = result(1001)
    run = readout(found)
    assert run.seconds_each == 6
    assert len(run.points) <= POINTS_MAX
    assert len(run.cpu) <= POINTS_MAX
    assert len(run.latencies) <= POINTS_MAX
    assert {point.max_ms for point in run.points[-100:]} != {50}
    # rates are means, latencies those of the worst second
    assert run.points[10].records_per_s == 20
    assert run.points[-1].max_ms == found["measured"]["latency_ms"]["max"]


def test_rates_are_read_by_people() -> None:
    run = readout(result(rate={"per_second": 5e7, "is_bytes": True}, loop=True, acks=1.0))
    rows = dict(run.table("settings"))
    assert (rows["rate"], rows["loop"], rows["acks"]) == ("50 MB/s", "yes", "1")
    rows = dict(readout(result(rate={"per_second": None, "is_bytes": False})).table("settings"))
    assert rows["rate"] == "max"
    assert readout(result()).table("missing") == ()


def test_tables_are_cut() -> None:
    run = readout(result(**{f"s{n}": "x" * 10_000 for n in range(100)}))
    rows = run.table("settings")
    assert len(rows) == 40
    assert max(len(text) for _, text in rows) == 600


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("seconds", {}),
        ("seconds", [1]),
        ("seconds", [{"end_s": 1}]),
        ("seconds", [{"end_s": 10**400}]),
        ("measured", {"latency_counts": {}}),
        ("measured", {"latency_counts": [[1]]}),
        ("measured", {"latency_counts": [[1, -1]]}),
        ("measured", {"latency_counts": [[float("nan"), 1]]}),
        ("cpu", {"samples": 5}),
        ("warmup", {"seconds": "much"}),
    ],
)
def test_what_is_no_result(name: str, value: object) -> None:
    with pytest.raises(SettingsError, match="it is not the result of a run"):
        readout({**result(), name: value})


def test_a_number_that_is_none() -> None:
    run = readout({**result(), "accepted_records": True})
    with pytest.raises(SettingsError, match="accepted_records is no number"):
        run.number("accepted_records")
    assert run.number("measured", "nothing") is None


def test_a_result_of_an_older_version() -> None:
    """It has no distribution, and no samples of CPU time."""
    found = result()
    del found["measured"]["latency_counts"], found["cpu"]["samples"]
    run = readout(found)
    assert (run.latencies, run.cpu) == ([], [])
