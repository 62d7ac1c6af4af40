import pytest

from broker_lite.settings.setting import ConfigSource, ConfigType, InvalidValue, Scope, Setting
from broker_lite.settings.values import Between


def test_attribute_is_the_name_in_snake_case() -> None:
    assert Setting("a.b-c", ConfigType.INT, "1", "doc").attribute == "a_b_c"


@pytest.mark.parametrize(
    ("setting", "allowed"),
    [
        (Setting("a", ConfigType.INT, "1", "doc", Between(1, 2)), "1 to 2"),
        (Setting("a", ConfigType.BOOLEAN, "true", "doc"), "true, false"),
        (Setting("a", ConfigType.STRING, "", "doc"), "string"),
    ],
)
def test_allowed(setting: Setting, allowed: str) -> None:
    assert setting.allowed == allowed


def test_passwords_are_sensitive() -> None:
    """P-123."""
    assert Setting("a", ConfigType.PASSWORD, None, "doc").is_sensitive
    assert not Setting("a", ConfigType.STRING, None, "doc").is_sensitive


def test_parse_and_default() -> None:
    setting = Setting("a", ConfigType.INT, "3", "doc", Between(0))
    assert setting.default_value() == 3
    assert setting.parse("4") == 4
    with pytest.raises(InvalidValue):
        setting.parse("-1")
    assert Setting("a", ConfigType.INT, None, "doc").default_value() is None


def test_numbers_are_the_protocol_s() -> None:
    """P-121."""
    assert [source.value for source in ConfigSource] == [1, 2, 3, 4, 5, 6, 7, 8]
    assert Scope.BROKER | Scope.TOPIC == Scope.BOTH
