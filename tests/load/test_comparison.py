"""The files of two runs beside each other."""

import json
from pathlib import Path

import pytest

from broker_lite.errors import SettingsError
from broker_lite.load.comparison import Figure, Outcome, compared


def result(
    mb_per_s: object = 100.0, *, kind: str = "produce", loop: str = "open", **cpu: object
) -> dict[str, object]:
    return {
        "kind": kind,
        "loop": loop,
        "measured": {
            "requests_per_s": 10.0,
            "records_per_s": 1000,
            "mb_per_s": mb_per_s,
            "latency_ms": {"p50": 1.0, "p99": 0},
        },
        "cpu": cpu,
    }


def outcome(folder: Path, name: str, value: object) -> Outcome:
    path = folder / name
    path.write_text(value if isinstance(value, str) else json.dumps(value))
    return Outcome(path)


def test_figures_and_their_ratios(tmp_path: Path) -> None:
    first = outcome(tmp_path, "a", result(200, client_s_per_gb=1.5))
    second = outcome(tmp_path, "b", result(150, client_s_per_gb=3, broker_s_per_gb=None))
    comparison = compared(first, second)
    assert comparison.throughput == Figure("MB/s", 200, 150)
    assert comparison.throughput.ratio == 0.75
    found = {figure.name: figure for figure in comparison.figures}
    assert found["client CPU s/GB"].ratio == 2
    assert found["broker CPU s/GB"] == Figure("broker CPU s/GB", None, None)
    assert found["broker CPU s/GB"].ratio is None
    assert found["p99 ms"].ratio is None  # nothing is a share of 0
    assert found["records/s"].ratio == 1


@pytest.mark.parametrize(
    ("other", "text"),
    [
        (result(kind="fetch"), "cannot be compared: kind produce and fetch"),
        (result(loop="closed"), "cannot be compared: loop open and closed"),
    ],
)
def test_runs_that_are_not_alike(other: dict[str, object], text: str, tmp_path: Path) -> None:
    first, second = outcome(tmp_path, "a", result()), outcome(tmp_path, "b", other)
    with pytest.raises(SettingsError, match=text):
        compared(first, second)


@pytest.mark.parametrize(
    ("content", "text"),
    [
        ("{", "is not JSON"),
        ("\xff", "is not JSON"),
        ("[]", "is not the result of a run"),
        ("{}", "is not the result of a run: no measured.requests_per_s"),
        (result("100"), "no measured.mb_per_s"),
        (result(True), "no measured.mb_per_s"),
        ({**result(), "measured": 5}, "no measured.requests_per_s"),
        (result(client_s_per_gb="much"), "no cpu.client_s_per_gb"),
    ],
)
def test_a_file_that_is_none(content: object, text: str, tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match=text):
        outcome(tmp_path, "a", content)


def test_a_file_that_is_missing(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="No such file"):
        Outcome(tmp_path / "missing")
