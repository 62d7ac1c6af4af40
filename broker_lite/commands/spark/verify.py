"""`broker-lite spark verify`: check a log for damage; exit code 0 if it is sound, else 1."""

import argparse
import json
from typing import TYPE_CHECKING

from broker_lite.commands.shared.spark_options import (
    add_source_options,
    source_options,
    write_text,
)
from broker_lite.commands.shared.verification_text import tell

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the flags of the job."""
    parser.add_argument("path", help="a log directory, the directory of a partition, or a URI")
    add_source_options(parser)
    parser.add_argument("--deep", action="store_true", help="check each record, too")
    parser.add_argument(
        "--live", action="store_true", help="a broker is writing: an append may be unfinished"
    )
    parser.add_argument("--compacted", action="store_true", help="offsets may be missing anywhere")
    parser.add_argument(
        "--json", metavar="FILE", help="write the result as JSON; - for standard output"
    )
    parser.add_argument("--html", metavar="FILE", help="write the result as an HTML page")


def run(spark: "SparkSession", options: argparse.Namespace) -> int:
    """Verify a log and print the result."""
    from broker_lite.pipeline.audit.verification import verification_page
    from broker_lite.pipeline.spark.jobs.verify import verify

    verification = verify(
        spark,
        options.path,
        source_options(options),
        is_deep=options.deep,
        is_live=options.live,
        is_compacted=options.compacted,
    )
    if options.html:
        write_text(options.html, verification_page(verification))
    if options.json:
        write_text(options.json, json.dumps(verification.as_json(), indent=2) + "\n")
    if options.json != "-":
        tell(verification)
    return 0 if verification.is_sound else 1
