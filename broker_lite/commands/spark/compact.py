"""`broker-lite spark compact`: compact topics offline."""

import argparse
import time

from broker_lite.commands.shared.spark_options import Session
from broker_lite.pipeline.report.text import size_text


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the flags of the job."""
    parser.add_argument("path", help="a local log directory that no broker uses")
    parser.add_argument(
        "topics",
        nargs="+",
        help="topics with cleanup.policy=compact; records without a key are removed",
    )
    parser.add_argument(
        "--delete-retention-ms",
        type=int,
        default=86_400_000,
        metavar="MS",
        help="how long tombstones stay, as the topic's delete.retention.ms; default: %(default)s",
    )


def run(spark: Session, options: argparse.Namespace) -> int:
    """Compact logs."""
    from broker_lite.pipeline.spark.jobs.compact import compact

    groups = compact(
        spark,
        options.path,
        options.topics,
        now_ms=time.time_ns() // 1_000_000,
        delete_retention_ms=options.delete_retention_ms,
    )
    if not groups:
        print("Nothing to compact: the last segment of a log is never compacted.")
        return 0
    segments = [segment for group in groups for segment in group.segments]
    print(
        f"Compacted {len(segments)} segments with"
        f" {size_text(sum(segment.size_bytes for segment in segments))}"
        f" into {len(groups)}."
    )
    return 0
