"""Flags that jobs share, and the files that they write."""

import argparse
from pathlib import Path

import pytest

from broker_lite.commands.shared.spark_options import (
    add_source_options,
    assignments,
    check_log,
    source_options,
    tell_notes,
    write_text,
)
from broker_lite.errors import SettingsError
from broker_lite.pipeline.read.ranges import PlanError
from tests.pipeline.support import Partition


def parsed(*arguments: str) -> dict[str, str]:
    parser = argparse.ArgumentParser()
    add_source_options(parser)
    return source_options(parser.parse_args(arguments))


def test_options_of_the_source() -> None:
    assert parsed() == {}
    assert parsed("--topics", "a,b") == {"subscribe": "a,b"}
    given = ("--option", "isolationLevel=read_committed", "--option", 'assign={"a=b": [0]}')
    assert parsed(*given) == {"isolationLevel": "read_committed", "assign": '{"a=b": [0]}'}


@pytest.mark.parametrize("text", ["x", "=x", ""])
def test_no_assignment(text: str) -> None:
    with pytest.raises(SettingsError, match="NAME=VALUE is expected"):
        assignments("--option", [text])


def test_an_empty_value() -> None:
    assert assignments("--conf", ["a="]) == {"a": ""}


def test_a_file_or_the_output(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_text(str(tmp_path / "file"), "text")
    assert (tmp_path / "file").read_text() == "text"
    write_text("-", "text")
    assert capsys.readouterr().out == "text"
    with pytest.raises(SettingsError, match="No such file or directory"):
        write_text(str(tmp_path / "missing" / "file"), "text")


def test_notes_are_lines_of_the_errors(capsys: pytest.CaptureFixture[str]) -> None:
    tell_notes(("one", "two"))
    assert capsys.readouterr().err == "broker-lite: one\nbroker-lite: two\n"


def test_a_log_that_is_there(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        check_log(str(tmp_path / "missing"), {})
    with pytest.raises(SettingsError, match="there is no partition"):
        check_log(str(tmp_path), {})
    with Partition(tmp_path):
        pass
    check_log(str(tmp_path), {"subscribe": "topic"})
    with pytest.raises(PlanError, match="there is no other"):
        check_log(str(tmp_path), {"subscribe": "other"})
