"""`broker-lite spark export`: write the records of a log as a table."""

import argparse

from broker_lite.commands.shared.spark_options import Session, add_source_options, source_options


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the flags of the job."""
    parser.add_argument("path", help="a log directory, the directory of a partition, or a URI")
    parser.add_argument("target", help="directory or URI of the new table")
    add_source_options(parser)
    parser.add_argument(
        "--format", choices=("parquet", "delta"), default="parquet", help="default: %(default)s"
    )
    parser.add_argument("--compression", default="zstd", help="default: %(default)s")
    parser.add_argument(
        "--mode",
        choices=("errorifexists", "overwrite", "append", "ignore"),
        default="errorifexists",
        help="what to do if the table exists; default: %(default)s",
    )
    parser.add_argument("--batches", metavar="TARGET", help="also write a table of batch headers")


def run(spark: Session, options: argparse.Namespace) -> int:
    """Export a log."""
    from broker_lite.pipeline.spark.jobs.export import export

    export(
        spark,
        options.path,
        options.target,
        source_options(options),
        table_format=options.format,
        compression=options.compression,
        mode=options.mode,
        batches_target=options.batches,
    )
    print(f"Exported {options.path} to {options.target}.")
    return 0
