"""The error of a caller tells its place."""

from broker_lite.testbench.errors import ControlError


def test_the_place_comes_first() -> None:
    error = ControlError(400, "there is no error 'X'", "rules[0].error")
    assert str(error) == "rules[0].error: there is no error 'X'"
    assert (error.status, error.text, error.at) == (400, "there is no error 'X'", "rules[0].error")
    assert str(ControlError(404, "gone")) == "gone"
