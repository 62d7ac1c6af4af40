"""What a worker does before its first tasks."""

import subprocess
import sys

_THREE_TASKS = """
import gc
from broker_lite.pipeline.spark.worker import settle_worker
kept = []
for _ in range(3):
    settle_worker()
    print(gc.get_freeze_count())
    gc.collect()
    kept += [[] for _ in range(1000)]
"""


def test_what_is_imported_is_collected_no_more() -> None:
    """In a process of its own; what later tasks make stays to be collected."""
    told = subprocess.run(
        [sys.executable, "-c", _THREE_TASKS], capture_output=True, text=True, check=True
    )
    first, second, third = map(int, told.stdout.split())
    assert first > 1000
    assert second >= first + 1000
    assert third == second


def test_the_driver_is_left_alone() -> None:
    """It is a user's program, which imports the source to register it."""
    program = "import gc, broker_lite.pipeline.spark.source; print(gc.get_freeze_count())"
    told = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert told.stdout == "0\n"
