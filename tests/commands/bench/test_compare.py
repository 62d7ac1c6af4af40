"""`bench compare`: the table, the exit codes and the report.

Also tests: broker_lite.commands.bench.files.
"""

import json
from pathlib import Path

import pytest

from tests.support.command_line import CommandLine


@pytest.fixture
def compare(command: CommandLine, tmp_path: Path) -> CommandLine:
    """Compares a run of 200 MB/s with one of 150 MB/s."""
    for name, mb_per_s in (("a.json", 200), ("b.json", 150)):
        measured = {
            "requests_per_s": 10,
            "records_per_s": 1000,
            "mb_per_s": mb_per_s,
            "latency_ms": {"p50": 1, "p99": 2.5},
        }
        value = {"kind": "fetch", "loop": "closed", "measured": measured, "cpu": {}}
        (tmp_path / name).write_text(json.dumps(value))
    return command.of("bench", "compare", str(tmp_path / "a.json"), str(tmp_path / "b.json"))


def test_the_table(compare: CommandLine) -> None:
    assert [line.split() for line in compare.ok().splitlines()] == [
        ["a.json", "b.json", "B", "/", "A"],
        ["requests/s", "10.00", "10.00", "1.00"],
        ["records/s", "1,000.00", "1,000.00", "1.00"],
        ["MB/s", "200.00", "150.00", "0.75"],
        ["p50", "ms", "1.00", "1.00", "1.00"],
        ["p99", "ms", "2.50", "2.50", "1.00"],
        ["client", "CPU", "s/GB", "-", "-", "-"],
        ["broker", "CPU", "s/GB", "-", "-", "-"],
    ]


@pytest.mark.parametrize(("ratio", "code"), [("0.75", 0), ("0.76", 1)])
def test_the_exit_code(ratio: str, code: int, compare: CommandLine) -> None:
    done = compare("--fail-below", ratio)
    assert done.code == code
    assert done.err.count("\n") == code
    assert ("b.json: 0.750 of the throughput" in done.err) == bool(code)


def test_a_base_without_throughput(compare: CommandLine) -> None:
    path = Path(compare.beginning[2])
    path.write_text(path.read_text().replace('"mb_per_s": 200', '"mb_per_s": 0'))
    done = compare("--fail-below", "0.1")
    assert done.code == 1
    assert done.err.endswith("a.json: has no throughput with which to compare\n")


def test_mistakes_are_one_line(compare: CommandLine, tmp_path: Path) -> None:
    assert compare.fails("--fail-below", "0").endswith("0 is not a ratio above 0")
    assert compare.fails("--fail-below", "much").endswith("much is not a ratio above 0")
    (tmp_path / "b.json").unlink()
    assert compare.fails() == f"2: {tmp_path / 'b.json'}: No such file or directory"


def test_a_report_of_both(compare: CommandLine, tmp_path: Path) -> None:
    path = tmp_path / "report.html"
    compare.ok("--html", str(path))
    text = path.read_text()
    assert text.startswith("<!doctype html>")
    assert "B: b.json" in text
    assert "0.75" in text
    missing = tmp_path / "missing" / "report.html"
    assert (
        compare.fails("--html", str(missing)) == f"2: --html {missing}: No such file or directory"
    )


def test_a_report_of_what_is_no_result(compare: CommandLine, tmp_path: Path) -> None:
    path = Path(compare.beginning[3])
    path.write_text(path.read_text().replace('"cpu": {}', '"cpu": {}, "seconds": 5'))
    assert compare.fails("--html", str(tmp_path / "out")) == (
        f"2: {path}: it is not the result of a run: seconds"
    )
    assert not (tmp_path / "out").exists()
