"""The page about several brokers: its commands end well, and its tests pass."""

import re
import shlex
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.readme.printed_page import PRINTED_ADDRESS, PrintedPage, run_tests
from tests.support.broker_process import BrokerProcess
from tests.support.command_line import environment, process_of

PAGE = PrintedPage("docs/use/brokers.md")
START, LOOK = PAGE.blocks("sh")


def words(line: str) -> list[str]:
    """The arguments of a printed command of broker-lite."""
    program, *arguments = shlex.split(line)
    assert program == "broker-lite"
    return arguments


@pytest.fixture(scope="module")
def bootstrap(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """An address of the cluster that the first command starts."""
    _, *flags = words(START)
    data_dir = tmp_path_factory.mktemp("cluster") / "data"
    with BrokerProcess(data_dir, arguments=flags) as started:
        yield started.bootstrap


def test_the_commands_end_well(bootstrap: str) -> None:
    printed = [
        subprocess.run(
            process_of(words(line.replace(PRINTED_ADDRESS, bootstrap))),
            capture_output=True,
            text=True,
            check=True,
            env=environment(),
        ).stdout
        for line in LOOK.splitlines()
    ]
    assert printed[0] == "Created topic orders.\n"
    leaders = re.findall(r"Leader: (\d)", printed[1])
    assert sorted(leaders) == ["1", "2", "3"]
    assert [line.split()[3] for line in printed[2].splitlines()[1:]] == ["a", "b", "c"]


@pytest.mark.client
def test_the_tests_pass(tmp_path: Path) -> None:
    PAGE.write_tests(tmp_path)
    assert f"{len(PAGE.printed_names())} passed" in run_tests(tmp_path)


def test_every_block_is_run() -> None:
    assert PAGE.languages() == {"sh", "python"}
    assert len(PAGE.printed_names()) == 15
