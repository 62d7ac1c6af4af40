"""The page about faults: its commands end well, and its tests pass."""

import shlex
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.readme.printed_page import TIMEOUT_S, PrintedPage, run_tests
from tests.support.broker_process import BrokerProcess
from tests.support.command_line import environment, process_of

PAGE = PrintedPage("docs/use/faults.md")
START, USE = PAGE.blocks("sh")


@pytest.fixture
def url(tmp_path: Path) -> Iterator[str]:
    """The control API of the broker that the first command starts."""
    program, command, *flags = shlex.split(START)
    assert (program, command) == ("broker-lite", "serve")
    flags[flags.index("--control")] = "--control=127.0.0.1:0"
    with BrokerProcess(tmp_path / "data", arguments=flags) as started:
        yield started.control_url


def test_the_commands_end_well(url: str) -> None:
    printed = {}
    for line in USE.splitlines():
        program, command, *words = shlex.split(line)
        assert (program, command) == ("broker-lite", "control")
        printed[" ".join(words[:2])] = subprocess.run(
            process_of(["control", "--url", url, *words]),
            capture_output=True,
            text=True,
            check=True,
            env=environment(),
            timeout=TIMEOUT_S,
        ).stdout
    assert '"id": "f1"' in printed["faults list"]
    assert '"state": "Dead"' in printed["groups wait"]
    assert '"partitions": 3' in printed["get /v1/topics/orders"]


@pytest.mark.client
def test_the_tests_pass(tmp_path: Path, url: str) -> None:
    path = PAGE.write_tests(tmp_path)
    path.write_text(path.read_text("utf-8").replace("http://localhost:9099", url), "utf-8")
    run_tests(tmp_path)


def test_every_block_is_run() -> None:
    assert PAGE.languages() == {"sh", "python"}
    assert len(PAGE.printed_names()) == 16
