"""Prints the result of a verification."""

from typing import Final

from broker_lite.pipeline.audit.verification import Verification
from broker_lite.pipeline.report.text import size_text

_SHOWN_MAX: Final = 50


def tell(verification: Verification) -> None:
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
