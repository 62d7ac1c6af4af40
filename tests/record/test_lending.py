"""What stands in for the compiler's module where loops run as they are written."""

from broker_lite.record import lending


def test_a_loop_in_plain_python_lends_nothing() -> None:
    """Both are used by many threads at once, so they keep nothing."""
    with lending.nogil, lending.nogil, lending.gil as nothing:
        assert nothing is None
