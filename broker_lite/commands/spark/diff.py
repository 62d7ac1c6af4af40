"""`broker-lite spark diff`: compare two logs; exit code 0 if they are equal, 1 if not."""

import argparse

from broker_lite.commands.shared.flags import add_repeatable
from broker_lite.commands.shared.spark_options import (
    Session,
    add_source_options,
    assignments,
    source_options,
)
from broker_lite.errors import SettingsError

_COMPARED = ("key", "value", "headers", "timestamp", "timestampType")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the flags of the job."""
    parser.add_argument("left", help="the expected log: directory or URI")
    parser.add_argument("right", help="the actual log: directory or URI")
    add_source_options(parser)
    parser.add_argument(
        "--by",
        choices=("offset", "content"),
        default="offset",
        help="content for a mirror, which has its own offsets; default: %(default)s",
    )
    parser.add_argument(
        "--compare", default=",".join(_COMPARED), metavar="COLUMN,...", help="default: %(default)s"
    )
    add_repeatable(
        parser,
        "--renamed",
        metavar="LEFT=RIGHT",
        text="a topic that has another name in the right log; repeatable",
    )
    parser.add_argument(
        "--show", type=int, default=20, metavar="N", help="rows to print; default: %(default)s"
    )


def run(spark: Session, options: argparse.Namespace) -> int:
    """Compare two logs and print the differences."""
    from broker_lite.pipeline.spark.jobs.diff import By, diff

    columns = tuple(options.compare.split(","))
    unknown = set(columns).difference(_COMPARED)
    if unknown:
        raise SettingsError(f"--compare {min(unknown)}: only {', '.join(_COMPARED)}")
    found = diff(
        spark,
        options.left,
        options.right,
        source_options(options),
        by=By(options.by),
        columns=columns,
        renamed=assignments("--renamed", options.renamed),
    )
    if not found.is_none:
        for row in found.rows.limit(options.show).collect():
            times = f" ({row['count']} times)" if row["count"] > 1 else ""
            print(f"{row.status} {row.topic}-{row.partition} offset {row.offset}{times}")
    print(
        f"{found.equal} equal, {found.missing} missing, {found.extra} extra,"
        f" {found.different} different"
    )
    return 0 if found.is_none else 1
