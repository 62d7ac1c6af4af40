import argparse
from pathlib import Path

import pytest

from broker_lite.commands.shared.flags import (
    add_actions,
    add_alias,
    add_repeatable,
    properties_of,
)


def test_flags_under_several_names(tmp_path: Path) -> None:
    parser = argparse.ArgumentParser()
    add_repeatable(parser, "--new-property", "--property", text="", dest="pairs")
    parser.add_argument("--file", type=Path)
    add_alias(parser, "--old-file", dest="file", metavar="FILE", kind=Path)
    options = parser.parse_args(["--property", "a=1", "--new-property", "b=2=3"])
    assert (options.pairs, options.file) == (["a=1", "b=2=3"], None)
    assert parser.parse_args(["--old-file", str(tmp_path)]).file == tmp_path


def test_exactly_one_action_is_needed() -> None:
    parser = argparse.ArgumentParser()
    add_actions(parser, {"list": "", "delete-all": ""}).add_argument("--check")
    assert parser.parse_args(["--delete-all"]).action == "delete-all"
    assert parser.parse_args(["--check", "x"]).action is None
    for arguments in ([], ["--list", "--delete-all"], ["--list", "--check", "x"]):
        with pytest.raises(SystemExit):
            parser.parse_args(arguments)


def test_the_command_line_wins_over_the_file(tmp_path: Path) -> None:
    path = tmp_path / "properties"
    path.write_text("a = 1\nb = 2\n")
    assert properties_of(["b=3=4", "c", "d="], path) == {"a": "1", "b": "3=4", "c": "", "d": ""}
    assert properties_of([]) == {}
