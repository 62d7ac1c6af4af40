"""Scripts of Kafka's that broker-lite does not have."""

import pytest

from broker_lite.commands.kafka.missing import MISSING, MISSING_SCRIPTS
from broker_lite.commands.kafka.tools import TOOLS
from broker_lite.commands.scripts import as_command
from tests.support.command_line import CommandLine


def test_a_tool_is_here_or_it_is_not() -> None:
    assert not MISSING.keys() & TOOLS.keys()


@pytest.mark.parametrize("script", MISSING_SCRIPTS.values())
@pytest.mark.parametrize("arguments", [(), ("--help",), ("--bootstrap-server", "a:1", "x")])
def test_one_line_says_what_to_use(
    command: CommandLine, script: str, arguments: tuple[str, ...]
) -> None:
    line = command.fails(*as_command(f"{script}.sh", arguments))
    assert line.startswith(f"1: {script}: ")
