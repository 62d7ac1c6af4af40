"""The flags of both commands that verify a log, and their output."""

import argparse
import json
from typing import Final

from broker_lite.commands.shared.spark_options import write_text
from broker_lite.pipeline.audit.verification import Verification, verification_page
from broker_lite.pipeline.report.text import size_text

_SHOWN_MAX: Final = 50


def add_verification_flags(parser: argparse.ArgumentParser, *, live: str) -> None:
    """Add the flags for what is checked, and for tell(); `live` is the help text of --live."""
    parser.add_argument("--deep", action="store_true", help="check each record, too")
    parser.add_argument("--live", action="store_true", help=live)
    parser.add_argument("--compacted", action="store_true", help="offsets may be missing anywhere")
    parser.add_argument(
        "--json", metavar="FILE", help="write the result as JSON; - for standard output"
    )
    parser.add_argument("--html", metavar="FILE", help="write the result as an HTML page")


def tell(verification: Verification, options: argparse.Namespace) -> int:
    """Write the files that the flags name, and print the result.

    Returns:
        The exit code: 0 if the log is sound.

    Raises:
        SettingsError: a file cannot be written.
    """
    if options.html:
        write_text(options.html, verification_page(verification))
    if options.json:
        write_text(options.json, json.dumps(verification.as_json(), indent=2) + "\n")
    if options.json != "-":
        _print(verification)
    return 0 if verification.is_sound else 1


def _print(verification: Verification) -> None:
    """Print the findings, at most 50 of them, and a summary."""
    findings = verification.findings
    for finding in findings[:_SHOWN_MAX]:
        print(finding.line)
    if len(findings) > _SHOWN_MAX:
        print(f"... and {len(findings) - _SHOWN_MAX} more: --json and --html have all of them")
    count = f"{len(findings)} findings" if findings else "sound"
    print(
        f"{count}: {verification.partitions} partitions, {verification.segments} segments,"
        f" {verification.batches} batches, {verification.records} records,"
        f" {size_text(verification.size_bytes)}"
    )
