"""`broker-lite spark report`: write a self-contained HTML page about a log."""

import argparse
from importlib.util import find_spec

from broker_lite.commands.shared.spark_options import (
    Session,
    add_source_options,
    source_options,
    write_text,
)
from broker_lite.errors import SettingsError


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the flags of the job."""
    parser.add_argument("path", help="a log directory, the directory of a partition, or a URI")
    parser.add_argument("output", help="the new file, such as report.html; - for standard output")
    add_source_options(parser)
    records = parser.add_mutually_exclusive_group()
    records.add_argument(
        "--no-records",
        action="store_true",
        help="read only batch headers: no compression ratios, sizes of values, or keys",
    )
    records.add_argument(
        "--all-records",
        action="store_true",
        help="read all records for ratios, sizes and keys, not only the newest 32 MB or so",
    )


def run(spark: Session, options: argparse.Namespace) -> int:
    """Write the page."""
    if find_spec("matplotlib") is None:
        raise SettingsError("spark report: needs matplotlib: pip install 'broker-lite[spark]'")
    from broker_lite.pipeline.report.log_page import log_page
    from broker_lite.pipeline.spark.jobs.report import SAMPLE_BYTES, report

    measured = report(
        spark,
        options.path,
        source_options(options),
        with_records=not options.no_records,
        sample_bytes=None if options.all_records else SAMPLE_BYTES,
    )
    write_text(options.output, log_page(measured))
    if options.output != "-":
        print(f"Wrote {options.output}.")
    return 0
