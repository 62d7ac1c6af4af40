"""`broker-lite spark generate`: a specification from a file, from standard input, from flags."""

import argparse
from pathlib import Path

import pytest

from broker_lite.commands.spark import generate as spark_generate
from broker_lite.errors import SettingsError
from tests.support.command_line import typing

SPEC = 'seed = 3\n[[topics]]\nname = "t"\nrecords = 10\npartitions = 2\n'
FLAGS = ["--topic", "t", "--set", "records=10", "--set", "partitions=2", "--seed", "3"]


def parsed(*words: str) -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    spark_generate.add_arguments(parser)
    return parser.parse_args(words)


def test_a_file_standard_input_and_flags_say_the_same(tmp_path: Path) -> None:
    (tmp_path / "load.toml").write_text(SPEC)
    with typing(SPEC):
        given = [
            spark_generate.specification(parsed("logs", *words))
            for words in (["--spec", str(tmp_path / "load.toml")], ["--spec", "-"], FLAGS)
        ]
    expected = {"seed": 3, "topics": [{"name": "t", "records": 10, "partitions": 2}]}
    assert given == [expected] * 3


def test_values_of_flags_are_those_of_toml() -> None:
    words = ["bytes=10g", "torn_tail=true", 'codecs=["lz4"]', "gap_share=0.5"]
    sets = [word for one in words for word in ("--set", one)]
    found = spark_generate.specification(parsed("logs", "--topic", "t", *sets))
    topic = {"name": "t", "bytes": "10g", "torn_tail": True, "codecs": ["lz4"], "gap_share": 0.5}
    assert found == {"topics": [topic]}


def test_what_cannot_be_read(tmp_path: Path) -> None:
    for words, text in (
        (["--spec", str(tmp_path / "missing")], "No such file"),
        (["--spec", "load.toml", "--set", "records=1"], "--set needs --topic; it cannot"),
        (["--topic", "t", "--set", "records"], "NAME=VALUE is expected"),
    ):
        with pytest.raises(SettingsError, match=text):
            spark_generate.specification(parsed("logs", *words))
    (tmp_path / "bytes").write_bytes(b"\xff")
    with pytest.raises(SettingsError, match="bytes: no text"):
        spark_generate.specification(parsed("logs", "--spec", str(tmp_path / "bytes")))
