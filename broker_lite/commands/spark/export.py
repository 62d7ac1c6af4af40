"""`broker-lite spark export`: write the records of a log as a table."""

import argparse

from broker_lite.commands.shared.spark_options import (
    Session,
    add_source_options,
    source_options,
    tell_notes,
)
from broker_lite.errors import SettingsError


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the flags of the job."""
    parser.add_argument("path", help="a log directory, the directory of a partition, or a URI")
    parser.add_argument("target", help="directory or URI of the table")
    add_source_options(parser)
    parser.add_argument(
        "--format",
        choices=("parquet", "delta", "iceberg"),
        default="parquet",
        help="delta and iceberg add what the table does not have yet; default: %(default)s",
    )
    parser.add_argument(
        "--catalog",
        metavar="NAME",
        help="for iceberg: a catalog of pyiceberg's configuration; the target is a table of it",
    )
    parser.add_argument("--compression", default="zstd", help="default: %(default)s")
    parser.add_argument(
        "--mode",
        choices=("errorifexists", "overwrite", "append", "ignore"),
        default="errorifexists",
        help="what to do if a Parquet table exists; default: %(default)s",
    )
    parser.add_argument(
        "--committed",
        action="store_true",
        help="leave out the records of aborted and open transactions, as isolationLevel="
        "read_committed does; default: all records, as Kafka's consumers read",
    )
    parser.add_argument("--batches", metavar="TARGET", help="also write a table of batch headers")


def run(spark: Session, options: argparse.Namespace) -> int:
    """Export a log."""
    from broker_lite.pipeline.spark.jobs.export import export
    from broker_lite.pipeline.spark.jobs.export_lake import export_lake

    given = source_options(options)
    if options.committed:
        given["isolationLevel"] = "read_committed"
    if options.format != "parquet":
        if options.mode != "errorifexists" or options.batches:
            raise SettingsError(f"--format {options.format}: --mode and --batches are for parquet")
        added = export_lake(
            spark,
            options.path,
            options.target,
            given,
            table_format=options.format,
            catalog=options.catalog,
            compression=options.compression,
        )
        tell_notes(added.notes)
        print(f"Added {added.records} records of {options.path} to {options.target}.")
        return 0
    if options.catalog:
        raise SettingsError("--catalog: is for --format iceberg")
    exported = export(
        spark,
        options.path,
        options.target,
        given,
        compression=options.compression,
        mode=options.mode,
        batches_target=options.batches,
    )
    tell_notes(exported.notes)
    if exported.records is not None:
        print(f"Exported {exported.records} records of {options.path} to {options.target}.")
    return 0
