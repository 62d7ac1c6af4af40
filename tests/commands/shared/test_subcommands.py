"""Tables of commands."""

import argparse

import pytest

from broker_lite import cli
from broker_lite.commands.log import actions as log
from broker_lite.commands.shared.subcommands import Subcommand, add_subcommands
from broker_lite.commands.spark import jobs as spark

TABLE = {"offsets": Subcommand("broker_lite.commands.topics.offsets", "print offsets")}


def test_each_command_of_each_table_can_be_loaded() -> None:
    for table in (cli.COMMANDS, log.ACTIONS, spark.JOBS):
        for name, command in table.items():
            module = command.load()
            assert callable(module.add_arguments), name
            assert callable(module.run), name


def test_the_flags_of_a_command_are_its_own() -> None:
    parser = argparse.ArgumentParser()
    (added,) = add_subcommands(parser, TABLE, kind="action")
    added.add_argument("--further")
    options = parser.parse_args(["offsets", "--topic", "t", "--further", "x"])
    assert (options.action, options.topic, options.further) == ("offsets", "t", "x")


@pytest.mark.parametrize("arguments", [[], ["other"]])
def test_one_of_them_has_to_be_asked_for(
    arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    parser = argparse.ArgumentParser()
    add_subcommands(parser, TABLE, kind="action")
    with pytest.raises(SystemExit):
        parser.parse_args(arguments)
    assert "ACTION" in capsys.readouterr().err
