"""`broker-lite kafka`: which tools there are, and what the others say."""

import pytest

from broker_lite.commands.kafka.tools import TOOLS
from tests.support.command_line import CommandLine


@pytest.mark.parametrize("tool", TOOLS)
def test_a_tool_tells_its_flags(tool: str, capsys: pytest.CaptureFixture[str]) -> None:
    from broker_lite import cli

    with pytest.raises(SystemExit) as ended:
        cli.main(["kafka", tool, "--help"])
    assert ended.value.code == 0
    assert capsys.readouterr().out.startswith(f"usage: kafka-{tool} [-h]")


def test_a_wrong_flag(command: CommandLine) -> None:
    line = command.fails("kafka", "log-dirs", "--describe", "--fly")
    assert line == "2: unrecognized arguments: --fly"


def test_a_tool_that_nobody_knows(command: CommandLine) -> None:
    line = command.fails("kafka", "fly")
    assert line.startswith("2: argument TOOL: invalid choice: 'fly' (choose from ")


def test_the_help_names_every_tool(capsys: pytest.CaptureFixture[str]) -> None:
    from broker_lite import cli

    with pytest.raises(SystemExit):
        cli.main(["kafka", "--help"])
    printed = capsys.readouterr().out
    assert all(f"\n  {tool} " in printed for tool in TOOLS)
