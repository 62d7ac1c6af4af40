"""`bench turns`: the same load at two brokers, round by round."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from broker_lite.commands.bench.turns import _median
from broker_lite.testing import Broker
from tests.support.command_line import CommandLine

LOAD = ("produce", "--topic", "t", "--duration", "0.3", "--warmup", "0.1")


@pytest.fixture(scope="module")
def brokers() -> Iterator[tuple[Broker, Broker]]:
    with Broker() as first, Broker() as second:
        yield first, second


@pytest.fixture
def turns(command: CommandLine) -> CommandLine:
    return command.of("bench", "turns")


@pytest.fixture
def both(brokers: tuple[Broker, Broker]) -> tuple[str, ...]:
    return tuple(each.bootstrap for each in brokers)


def test_both_brokers_have_their_rounds(
    turns: CommandLine, brokers: tuple[Broker, Broker], both: tuple[str, ...], tmp_path: Path
) -> None:
    pids = [str(each.pid) for each in brokers]
    html = tmp_path / "both.html"
    words = ("--rounds", "2", "--folder", str(tmp_path), "--html", str(html))
    told = turns.ok(*words, "--broker-pid", *pids, *both, *LOAD).splitlines()
    rounds = [line for line in told if line.startswith("round ")]
    assert rounds == [
        f"round {number} of 2, broker {each.bootstrap}" for number in (1, 2) for each in brokers
    ]
    assert [line.split()[0] for line in told if "CPU s/GB" in line] == ["client", "broker"]
    results = [json.loads((tmp_path / f"{name}.json").read_text()) for name in ("A-1", "B-2")]
    assert [each["settings"]["bootstrap"] for each in results] == [
        each.bootstrap for each in brokers
    ]
    assert "A: A-" in html.read_text()


def test_the_second_broker_is_judged(
    turns: CommandLine, both: tuple[str, ...], tmp_path: Path
) -> None:
    words = ("--rounds", "1", "--folder", str(tmp_path), "--fail-below")
    assert turns(*words, "0.001", *both, *LOAD).code == 0
    done = turns(*words, "1000", *both, *LOAD)
    assert done.code == 1
    assert "which is below 1000" in done.err


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ((), "give a load behind the brokers: produce, fetch, e2e, with its flags"),
        (("idle",), "give a load behind the brokers: produce, fetch, e2e, with its flags"),
        (("produce", "--json", "x"), "--json: give it before the brokers, if at all"),
        (("produce", "--bootstrap=x"), "--bootstrap=x: give it before the brokers, if at all"),
        (LOAD, "--folder nowhere: there is no such folder"),
    ],
)
def test_what_is_wrong_is_told(turns: CommandLine, words: tuple[str, ...], told: str) -> None:
    assert turns.fails("--folder", "nowhere", "a:1", "b:2", *words) == f"2: {told}"


def test_a_load_that_fails_ends_all(turns: CommandLine, tmp_path: Path) -> None:
    done = turns("--folder", str(tmp_path), "a:1", "b:2", "produce", "--rate", "nothing")
    assert done.code == 1
    assert "ended with exit code 2" in done.err


def test_the_round_of_the_median_throughput_counts(tmp_path: Path) -> None:
    paths = []
    for number, mb_per_s in enumerate((5, 1, 9, 7)):
        latency = {"p50": 1, "p99": 1}
        measured = {"requests_per_s": 1, "records_per_s": 1, "mb_per_s": mb_per_s}
        found = {"kind": "fetch", "measured": {**measured, "latency_ms": latency}, "cpu": {}}
        paths.append(tmp_path / f"{number}.json")
        paths[-1].write_text(json.dumps(found))
    assert _median(paths) == paths[0]
    assert _median(paths[1:]) == paths[3]
