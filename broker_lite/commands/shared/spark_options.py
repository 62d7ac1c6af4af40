"""Flags and types that several jobs of `broker-lite spark` share."""

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from broker_lite.commands.shared.flags import add_repeatable
from broker_lite.errors import SettingsError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Session: TypeAlias = "SparkSession"
"""Spark's session; its package is only imported when a job runs."""


def add_source_options(parser: argparse.ArgumentParser) -> None:
    """Add --topics and --option, for jobs that read with the data source."""
    parser.add_argument("--topics", metavar="NAME,...", help="only these topics; default: all")
    add_repeatable(
        parser, "--option", text="an option of the data source kafka_segments; repeatable"
    )


def source_options(options: argparse.Namespace) -> dict[str, str]:
    """Return the options of the data source from the flags of add_source_options()."""
    found = assignments("--option", options.option)
    return {**found, "subscribe": options.topics} if options.topics else found


def assignments(flag: str, texts: list[str]) -> dict[str, str]:
    """Parse NAME=VALUE.

    Raises:
        SettingsError: one of them is not of this form.
    """
    for text in texts:
        if text.find("=") < 1:
            raise SettingsError(f"{flag} {text}: NAME=VALUE is expected")
    return {name: value for name, _, value in (text.partition("=") for text in texts)}


def write_text(place: str, text: str) -> None:
    """Write a file, or to standard output if the place is -.

    Raises:
        SettingsError: the file cannot be written.
    """
    if place == "-":
        sys.stdout.write(text)
        return
    try:
        Path(place).write_text(text, "utf-8")
    except OSError as error:
        raise SettingsError(f"{place}: {error.strerror}") from error
