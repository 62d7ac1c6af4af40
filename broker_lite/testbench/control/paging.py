"""The pages of lists: how many elements one answer may have."""

from typing import Final

from broker_lite.testbench.errors import ControlError

LISTED_MAX: Final = 10_000


def check_limit(limit: int) -> None:
    """Demand that a page has at least one element, and not too many.

    Raises:
        ControlError: the limit is out of its range.
    """
    if not 0 < limit <= LISTED_MAX:
        raise ControlError(400, f"limit is from 1 to {LISTED_MAX}", "?limit")
