"""`broker-lite spark verify`: check a log for damage; exit code 0 if it is sound, 1 if not."""

import argparse

from broker_lite.commands.shared.spark_options import Session, add_source_options, source_options
from broker_lite.commands.shared.verification_text import add_verification_flags, tell


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the flags of the job."""
    parser.add_argument("path", help="a log directory, the directory of a partition, or a URI")
    add_source_options(parser)
    add_verification_flags(parser, live="a broker is writing: an append may be unfinished")


def run(spark: Session, options: argparse.Namespace) -> int:
    """Verify a log and print the result."""
    from broker_lite.pipeline.spark.jobs.verify import verify

    verification = verify(
        spark,
        options.path,
        source_options(options),
        is_deep=options.deep,
        is_live=options.live,
        is_compacted=options.compacted,
    )
    return tell(verification, options)
