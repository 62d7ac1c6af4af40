"""Flags that jobs share, and the files that they write."""

import argparse
from pathlib import Path

import pytest

from broker_lite.commands.shared.spark_options import (
    add_source_options,
    assignments,
    source_options,
    write_text,
)
from broker_lite.errors import SettingsError


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
