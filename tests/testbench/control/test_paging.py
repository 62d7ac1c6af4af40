"""The limit of a page."""

import pytest

from broker_lite.testbench.control.paging import LISTED_MAX, check_limit
from broker_lite.testbench.errors import ControlError


@pytest.mark.parametrize("limit", [1, LISTED_MAX])
def test_a_limit_within_its_range(limit: int) -> None:
    check_limit(limit)


@pytest.mark.parametrize("limit", [-1, 0, LISTED_MAX + 1])
def test_a_limit_out_of_its_range(limit: int) -> None:
    with pytest.raises(ControlError, match="limit is from 1 to 10000") as caught:
        check_limit(limit)
    assert (caught.value.status, caught.value.at) == (400, "?limit")
