"""`broker-lite spark import`: write a table of records as logs."""

import argparse

from broker_lite.commands.shared.flags import add_repeatable
from broker_lite.commands.shared.spark_options import Session, assignments, tell_notes


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the flags of the job."""
    parser.add_argument("table", help="directory or URI of an exported table")
    parser.add_argument("path", help="the log directory to write to, or its URI")
    parser.add_argument(
        "--format",
        choices=("parquet", "delta", "iceberg"),
        default="parquet",
        help="default: %(default)s",
    )
    parser.add_argument(
        "--new-offsets", action="store_true", help="assign new offsets; default: keep offsets"
    )
    add_repeatable(
        parser,
        "--option",
        text="an option of the writer of kafka_segments, such as compression=zstd; repeatable",
    )


def run(spark: Session, options: argparse.Namespace) -> int:
    """Import a table."""
    from broker_lite.pipeline.spark.jobs.import_ import import_table

    keeps = "false" if options.new_offsets else "true"
    given = {"keepOffsets": keeps, **assignments("--option", options.option)}
    notes = import_table(spark, options.table, options.path, given, table_format=options.format)
    tell_notes(notes)
    print(f"Imported {options.table} into {options.path}.")
    return 0
