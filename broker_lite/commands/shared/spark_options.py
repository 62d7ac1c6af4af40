"""Flags and types that several jobs of `broker-lite spark` share."""

import argparse
import sys
from collections.abc import Iterable, Mapping
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


def check_log(path: str, options: Mapping[str, str]) -> None:
    """Look for the partitions of a log before Spark does, which would tell an error less well.

    Raises:
        SettingsError: there is no partition.
        ValueError: an option is wrong, or a named topic is missing.
        OSError: the directory is missing or cannot be listed.
    """
    from broker_lite.pipeline.files.open_file_io import open_file_io
    from broker_lite.pipeline.read.options import ReadOptions
    from broker_lite.pipeline.read.ranges import find_logs

    io, root = open_file_io(path)
    if not find_logs(io, root, ReadOptions.parse({**options, "path": path})):
        raise SettingsError(f"{path}: there is no partition of a topic that is asked for")


def tell_notes(notes: Iterable[str]) -> None:
    """Print what a job left out, or what needs care, to standard error: a line for each kind."""
    for note in notes:
        print(f"broker-lite: {note}", file=sys.stderr)


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
