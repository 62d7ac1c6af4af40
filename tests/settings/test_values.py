import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from broker_lite.settings.values import (
    Between,
    ConfigType,
    GzipLevel,
    InvalidValue,
    OneOf,
    ThrottledReplicas,
    Value,
    Word,
    parse,
    show,
)


@pytest.mark.parametrize(
    ("kind", "text", "value"),
    [
        (ConfigType.BOOLEAN, " True ", True),
        (ConfigType.INT, "-2147483648", -(1 << 31)),
        (ConfigType.SHORT, "32767", 32767),
        (ConfigType.LONG, " 9223372036854775807", (1 << 63) - 1),
        (ConfigType.DOUBLE, "1e3d", 1000.0),
        (ConfigType.DOUBLE, "-Infinity", float("-inf")),
        (ConfigType.LIST, "", ()),
        (ConfigType.LIST, " a , b,a ", ("a", "b")),
        (ConfigType.STRING, " a b ", "a b"),
        (ConfigType.PASSWORD, "p", "p"),
        (ConfigType.CLASS, "a.B", "a.B"),
    ],
)
def test_parse(kind: ConfigType, text: str, value: Value) -> None:
    assert parse("n", kind, text, None) == value


@pytest.mark.parametrize(
    ("kind", "text", "message"),
    [
        (ConfigType.BOOLEAN, "1", "Invalid value 1 for configuration n: Expected value to be"),
        (ConfigType.INT, "2147483648", "Not a number of type INT"),
        (ConfigType.SHORT, "32768", "Not a number of type SHORT"),
        (ConfigType.LONG, "9223372036854775808", "Not a number of type LONG"),
        (ConfigType.LONG, "1" * 5000, "Not a number of type LONG"),
        (ConfigType.DOUBLE, "1_0", "Not a number of type DOUBLE"),
        (ConfigType.LIST, "a,,b", "Configuration 'n' values must not be empty."),
    ],
)
def test_parse_refuses(kind: ConfigType, text: str, message: str) -> None:
    with pytest.raises(InvalidValue, match=message):
        parse("n", kind, text, None)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, None),
        (True, "true"),
        (False, "false"),
        (0.5, "0.5"),
        (1.7976931348623157e308, "1.7976931348623157E308"),
        (1e-5, "1.0E-5"),
        (float("nan"), "NaN"),
        (float("inf"), "Infinity"),
        (("a", "b"), "a,b"),
        ((), ""),
        (7, "7"),
        ("x", "x"),
    ],
)
def test_show(value: Value, text: str | None) -> None:
    assert show(value) == text


@pytest.mark.parametrize(
    "validator",
    [
        Between(0),
        Between(0, 1),
        Between(None, 5),
        GzipLevel(),
        OneOf(("a", "")),
        Word(),
        ThrottledReplicas(),
    ],
)
def test_validators_describe_themselves(
    validator: Between | GzipLevel | OneOf | ThrottledReplicas | Word,
) -> None:
    assert validator.describe()


def test_one_of_without_case() -> None:
    OneOf(("upgrade",), ignore_case=True).check("n", "UpGrade")
    with pytest.raises(InvalidValue, match="String must be one of: upgrade"):
        OneOf(("upgrade",)).check("n", "UpGrade")


@pytest.mark.parametrize("text", ["", "a b", "a\tb", "\u00e9"])
def test_a_word_is_one_word(text: str) -> None:
    Word().check("n", "4L6g3nShT-eMCtK--X86sw")
    Word().check("n", None)
    with pytest.raises(InvalidValue, match="It must be one word of ASCII"):
        Word().check("n", text)


@settings(max_examples=200)
@given(st.text(max_size=12), st.sampled_from(list(ConfigType)))
def test_any_text_is_a_value_or_refused(text: str, kind: ConfigType) -> None:
    try:
        value = parse("n", kind, text, None)
    except InvalidValue:
        return
    assert show(value) is not None
