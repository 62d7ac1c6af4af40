"""`broker-lite spark generate`: generate logs of any size from a seed.

With --broker the directory is a broker's data directory, created if missing. Missing topics are
created first, in its metadata log, so that `broker-lite serve --data-dir` serves the records.
"""

import argparse
import sys
import tomllib
from itertools import groupby
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING

from broker_lite.commands.shared.flags import add_repeatable
from broker_lite.commands.shared.spark_options import Session, assignments
from broker_lite.commands.shared.umask import add_umask_flag
from broker_lite.commands.spark.broker_topics import make_topics
from broker_lite.errors import SettingsError

if TYPE_CHECKING:
    from broker_lite.pipeline.write.commit import CommittedPartition


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the flags of the job."""
    parser.add_argument("path", help="the log directory to write to, or its URI")
    source = parser.add_mutually_exclusive_group(required=True)
    source.add_argument("--spec", metavar="FILE", help="a specification, TOML or JSON; - is stdin")
    source.add_argument("--topic", metavar="NAME", help="one topic, described by --set")
    add_repeatable(
        parser,
        "--set",
        metavar="FIELD=VALUE",
        text="of --topic: a field as in a specification, such as bytes=10g; repeatable",
    )
    parser.add_argument("--seed", type=int, help="replaces the seed of the specification")
    parser.add_argument("--sync", action="store_true", help="fsync before the commit")
    parser.add_argument(
        "--broker",
        action="store_true",
        help="PATH is the data directory of a stopped broker, or a new one: create missing topics",
    )
    add_repeatable(
        parser,
        "--topic-config",
        text="of topics created by --broker; retention.ms is -1 unless it is given; repeatable",
    )
    parser.add_argument("--node-id", type=int, metavar="N", help="of a new data directory")
    add_umask_flag(parser)


def run(spark: Session, options: argparse.Namespace) -> int:
    """Generate logs, and print a summary."""
    from broker_lite.pipeline.generate.distributions import SpecError
    from broker_lite.pipeline.spark.jobs.generate import generate

    try:
        spec = specification(options)
        if options.broker:
            _make_topics(spec, options)
        elif options.topic_config or options.node_id is not None:
            raise SettingsError("--topic-config and --node-id need --broker")
        added = generate(spark, spec, options.path, sync=options.sync)
    except SpecError as error:
        raise SettingsError(f"spark generate: {error}") from error
    for topic, partitions in groupby(added, attrgetter("topic")):
        print(_told(topic, list(partitions)))
    return 0


def _make_topics(spec: dict[str, object], options: argparse.Namespace) -> None:
    from broker_lite.pipeline.files.file_io import LocalFileIO
    from broker_lite.pipeline.files.open_file_io import open_file_io
    from broker_lite.pipeline.generate.spec import GenerateSpec

    io, root = open_file_io(options.path)
    if not isinstance(io, LocalFileIO):
        raise SettingsError(f"--broker: {options.path} is not a local directory")
    counts = {topic.name: topic.partitions for topic in GenerateSpec.parse(spec).topics}
    # generated records have timestamps of 2023, unless the specification says otherwise
    configs = {"retention.ms": "-1", **assignments("--topic-config", options.topic_config)}
    make_topics(Path(root), counts, configs, options.node_id)


def specification(options: argparse.Namespace) -> dict[str, object]:
    """Read the specification from a file, or make one from the flags.

    Raises:
        SettingsError: the file cannot be read, or a flag has no value.
        SpecError: the file is neither TOML nor JSON.
    """
    from broker_lite.pipeline.generate.spec import read_spec

    if options.topic is not None:
        fields = {n: _value(text) for n, text in assignments("--set", options.set).items()}
        found: dict[str, object] = {"topics": [{**fields, "name": options.topic}]}
    elif options.set:
        raise SettingsError("--set needs --topic; it cannot change a specification")
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
    """Parse a TOML value; anything else, such as 10g, is text."""
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
