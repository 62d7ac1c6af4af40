import pytest

from broker_lite.client.property_values import boolean, integer, one_of
from broker_lite.errors import SettingsError


def test_defaults() -> None:
    assert boolean({}, "a", default=True)
    assert one_of({}, "a", ("x", "y"), "y") == "y"
    assert integer({}, "a", 7) == 7


def test_what_is_given() -> None:
    given = {"a": " False ", "b": "X", "c": " -12 "}
    assert not boolean(given, "a", default=True)
    assert one_of(given, "b", ("x", "y"), "y") == "x"
    assert integer(given, "c", 7, minimum=-20) == -12


def test_what_is_no_word() -> None:
    with pytest.raises(SettingsError, match="a=maybe: must be one of true, false"):
        boolean({"a": "maybe"}, "a", default=True)


@pytest.mark.parametrize("text", ["", "x", "1.5", "--1", "٣", "9" * 20])
def test_what_is_no_number(text: str) -> None:
    with pytest.raises(SettingsError, match="not a whole number"):
        integer({"a": text}, "a", 7)


def test_too_small_a_number() -> None:
    with pytest.raises(SettingsError, match="a=-1: less than 0"):
        integer({"a": "-1"}, "a", 7)
