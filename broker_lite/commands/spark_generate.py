"""`broker-lite spark generate`: make logs of any size from a seed."""

import argparse
import sys
import tomllib
from itertools import groupby
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING

from broker_lite.commands.spark_options import assignments
from broker_lite.errors import SettingsError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from broker_lite.pipeline.write.commit import CommittedPartition


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the flags of the job."""
    parser.add_argument("path", help="the log directory to write to, or its URI")
    source = parser.add_mutually_exclusive_group(required=True)
    source.add_argument("--spec", metavar="FILE", help="a specification, TOML or JSON; - is stdin")
    source.add_argument("--topic", metavar="NAME", help="one topic, described by --set")
    parser.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="FIELD=VALUE",
        help="of --topic: a field as in a specification, such as bytes=10g; repeatable",
    )
    parser.add_argument("--seed", type=int, help="instead of that of the specification")
    parser.add_argument(
        "--sync", action="store_true", help="put everything on disk before it counts"
    )


def run(spark: "SparkSession", options: argparse.Namespace) -> int:
    """Generate logs, and tell what came to be."""
    from broker_lite.pipeline.generate.distributions import SpecError
    from broker_lite.pipeline.spark.jobs.generate import generate

    try:
        added = generate(spark, specification(options), options.path, sync=options.sync)
    except SpecError as error:
        raise SettingsError(f"spark generate: {error}") from error
    for topic, partitions in groupby(added, attrgetter("topic")):
        print(_told(topic, list(partitions)))
    return 0


def specification(options: argparse.Namespace) -> dict[str, object]:
    """Read the specification of a file, or make that of the flags.

    Raises:
        SettingsError: the file cannot be read, or a flag has no value.
        SpecError: the file is neither TOML nor JSON.
    """
    from broker_lite.pipeline.generate.spec import read_spec

    if options.topic is not None:
        fields = {n: _value(text) for n, text in assignments("--set", options.set).items()}
        found: dict[str, object] = {"topics": [{**fields, "name": options.topic}]}
    elif options.set:
        raise SettingsError("--set describes --topic; a specification says everything itself")
    else:
        found = dict(read_spec(_text(options.spec)))
    return found if options.seed is None else {**found, "seed": options.seed}


def _text(place: str) -> str:
    if place == "-":
        return sys.stdin.read()
    try:
        return Path(place).read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise SettingsError(f"{place}: {getattr(error, 'strerror', 'no text')}") from error


def _value(text: str) -> object:
    """Read a value of TOML; what is none, such as 10g, is text."""
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        return text


def _told(topic: str, partitions: "list[CommittedPartition]") -> str:
    records = sum(one.record_count for one in partitions)
    size_bytes = sum(one.size_bytes for one in partitions)
    segments = sum(one.segment_count for one in partitions)
    return (
        f"{topic}: partitions={len(partitions)} records={records} bytes={size_bytes}"
        f" segments={segments}"
    )
