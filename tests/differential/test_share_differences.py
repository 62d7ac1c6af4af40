"""Differences of share groups that are known, and those that are not."""

from typing import Any

import pytest

from tests.differential.share_differences import AFTER_ABORT, Step, known_difference

ABORT: Step = ("transact", (0, 5, "abort"))
SAY: Step = ("say", ("a", [(6, 9, [1])], False, 0))
TAKE: Step = ("take", ("a", 10, 500, False, (0, [(6, 9, [1])])))
DESCRIBE: Step = ("describe", ())
GONE, PAST = "Batch record not found. A.", "Batch record not found. B."


@pytest.mark.parametrize(
    ("step", "kafka", "ours"),
    [
        (SAY, [(42, PAST)], [(121, GONE)]),
        (SAY, [(121, PAST)], [(121, GONE)]),
        (TAKE, {0: (0, 42, [(13, 16, 1)])}, {0: (0, 121, [(13, 16, 1)])}),
        (("close_with", ("a", 0, [])), ([(42, PAST)], []), ([(121, GONE)], [])),
        (DESCRIBE, {0: (2, 28), 1: (3, 4)}, {0: (7, 28), 1: (3, 4)}),
    ],
)
def test_k19_the_start_moves_behind_aborted_records(step: Step, kafka: Any, ours: Any) -> None:
    assert known_difference([ABORT, step], "read_committed", kafka, ours) == AFTER_ABORT
    assert known_difference([ABORT, step], None, kafka, ours) is None
    assert known_difference([step], "read_committed", kafka, ours) is None


@pytest.mark.parametrize(
    ("step", "kafka", "ours"),
    [
        (SAY, [(0, None)], [(121, GONE)]),
        (TAKE, {0: (0, 42, [(13, 16, 1)])}, {0: (0, 121, [(13, 16, 2)])}),
        (TAKE, {0: (0, 0, [(42, 50, 1)])}, {0: (0, 0, [(121, 130, 1)])}),
        (DESCRIBE, {0: (7, 28)}, {0: (2, 28)}),
        (DESCRIBE, {0: (2, 28)}, {0: (7, 27)}),
        (DESCRIBE, {0: (2, 28)}, {}),
    ],
)
def test_other_differences_are_not_known(step: Step, kafka: Any, ours: Any) -> None:
    assert known_difference([ABORT, step], "read_committed", kafka, ours) is None
