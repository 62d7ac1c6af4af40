from enum import StrEnum

import pytest

from broker_lite.pipeline.read.option_values import (
    Given,
    OptionError,
    duration_ms,
    names,
    positive,
    size_bytes,
    timestamp_ms,
)


class Colour(StrEnum):
    RED = "red"
    GREEN = "green"


@pytest.mark.parametrize(
    ("parse", "text", "value"),
    [
        (positive, "1", 1),
        (positive, "9223372036854775807", (1 << 63) - 1),
        (timestamp_ms, "-5", -5),
        (timestamp_ms, "1700000000000", 1_700_000_000_000),
        (size_bytes, "1", 1),
        (size_bytes, "64m", 64 << 20),
        (size_bytes, "2 GB", 2 << 30),
        (size_bytes, "3Kb", 3 << 10),
        (duration_ms, "250", 250),
        (duration_ms, "250ms", 250),
        (duration_ms, "15m", 900_000),
        (duration_ms, "2 MIN", 120_000),
        (duration_ms, "1h", 3_600_000),
        (duration_ms, "1d", 86_400_000),
        (names, " a, b,,c ", ("a", "b", "c")),
    ],
)
def test_a_value_is_read(parse, text, value):
    assert parse(text) == value


@pytest.mark.parametrize(
    ("parse", "texts", "message"),
    [
        (positive, ["", "0", "-1", "1.5", "x", "9223372036854775808"], "above 0 is allowed"),
        (timestamp_ms, ["", "1e3", "9223372036854775808", "now"], "milliseconds since 1970"),
        (size_bytes, ["", "0", "0m", "-1", "64x", "1.5g"], "a size above 0 is allowed"),
        (duration_ms, ["", "0s", "5 weeks", "-1s"], "a duration above 0 is allowed"),
        (names, ["", " , "], "at least one name is needed"),
    ],
)
def test_what_is_allowed_is_said(parse, texts, message):
    for text in texts:
        with pytest.raises(ValueError, match=message):
            parse(text)


def test_names_of_options_count_without_case():
    given = Given({"MINsize": " 7 ", "absent": None}, ["minSize", "absent", "other"])
    assert "minsize" in given
    assert "absent" not in given
    assert given.text("minSize") == "7"
    assert given.count("minSize") == 7
    assert given.count("other") is None


def test_an_unknown_name_is_an_error_and_a_near_one_is_proposed():
    with pytest.raises(OptionError, match=r"^option startingOffset: there is none .*, only start"):
        Given({"startingOffset": "1"}, ["startingOffsets", "endingOffsets"])
    with pytest.raises(OptionError, match=r"^option zzz: there is none of this name$"):
        Given({"zzz": "1"}, ["startingOffsets"])
    assert "kafka.x" in Given({"kafka.X": "1"}, [], lambda name: name.startswith("kafka."))


@pytest.mark.parametrize(("text", "value"), [("true", True), ("FALSE", False)])
def test_a_flag(text, value):
    assert Given({"flag": text}, ["flag"]).flag("flag", not value) is value
    assert Given({}, ["flag"]).flag("flag", value) is value


def test_a_choice():
    assert Given({"colour": "GREEN"}, ["colour"]).choice("colour", Colour.RED) is Colour.GREEN
    assert Given({}, ["colour"]).choice("colour", Colour.RED) is Colour.RED


@pytest.mark.parametrize(
    ("read", "text"),
    [
        (lambda given: given.flag("x", True), "option x='7 up': true or false is allowed"),
        (lambda given: given.count("x"), "option x='7 up': a whole number above 0 is allowed"),
        (
            lambda given: given.choice("x", Colour.RED),
            "option x='7 up': one of red, green is allowed",
        ),
    ],
)
def test_an_error_is_one_line_with_name_value_and_what_is_allowed(read, text):
    with pytest.raises(OptionError) as caught:
        read(Given({"X": "7 up"}, ["x"]))
    assert str(caught.value) == text
