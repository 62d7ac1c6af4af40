"""`broker-lite spark import`: its flags; what it does is tested beside the job."""

import argparse

import pytest

from broker_lite.commands.spark import import_records as spark_import


def parsed(*words: str) -> dict[str, object]:
    parser = argparse.ArgumentParser()
    spark_import.add_arguments(parser)
    return vars(parser.parse_args(words))


def test_flags() -> None:
    plain = {"table": "table", "path": "logs", "format": "parquet", "new_offsets": False}
    assert parsed("table", "logs") == {**plain, "option": []}
    words = ("--format", "delta", "--new-offsets", "--option", "sync=false")
    assert parsed("table", "logs", *words) == {
        **plain,
        "format": "delta",
        "new_offsets": True,
        "option": ["sync=false"],
    }


def test_another_format_is_refused() -> None:
    with pytest.raises(SystemExit):
        parsed("table", "logs", "--format", "csv")
