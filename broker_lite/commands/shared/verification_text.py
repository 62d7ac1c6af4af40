"""What a verification found, for a person."""

from typing import Final

from broker_lite.pipeline.audit.verification import Verification
from broker_lite.pipeline.report.text import size_text

_SHOWN_MAX: Final = 50


def tell(verification: Verification) -> None:
    """Print the findings, the first of them if they are many, and what was looked at."""
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
