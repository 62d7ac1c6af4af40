"""How far groups are in their partitions, when some of them cannot be looked at."""

import pytest

from broker_lite.errors import KafkaStorageError, NotLeaderOrFollower, UnknownTopicOrPartition
from broker_lite.testbench.group_lags import Lags, OffsetView


def test_a_lag_is_what_is_left_and_not_done() -> None:
    lags = Lags()
    lags.add(("t", 0), 10, 4, 4, done=2, metadata="m")
    lags.add(("t", 1), 7, 2, None)
    lags.add(("u", 0), 3, 5, 5)  # a client may commit any offset
    assert lags.offsets == {
        "t": {
            "0": OffsetView(committed=4, end=10, lag=4, metadata="m"),
            "1": OffsetView(committed=None, end=7, lag=5, metadata=""),
        },
        "u": {"0": OffsetView(committed=5, end=3, lag=0, metadata="")},
    }
    assert lags.sum == 9


def test_the_lag_of_no_partition_is_not_known() -> None:
    assert Lags().sum is None


@pytest.mark.parametrize("error", [NotLeaderOrFollower(), KafkaStorageError()])
@pytest.mark.parametrize("is_end", [True, False])
def test_the_lag_is_not_known_if_that_of_one_partition_is_not(
    error: NotLeaderOrFollower | KafkaStorageError, is_end: bool
) -> None:
    lags = Lags()
    lags.add(("t", 0), 10, 4, 4)
    lags.add(("t", 1), error if is_end else 10, 4 if is_end else error, None)
    assert (lags.sum, lags.unknown, [*lags.offsets["t"]]) == (None, 1, ["0"])


def test_a_partition_that_was_deleted_does_not_count() -> None:
    lags = Lags()
    lags.add(("t", 0), 10, 4, 4)
    lags.add(("t", 1), UnknownTopicOrPartition(), 4, 4)
    assert (lags.sum, lags.unknown) == (6, 0)
