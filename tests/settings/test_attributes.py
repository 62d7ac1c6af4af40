from typing import get_type_hints

import pytest

from broker_lite.settings import BROKER_SETTINGS, Settings
from broker_lite.settings.attributes import SettingAttributes

TYPES = get_type_hints(SettingAttributes)


def test_every_setting_has_a_type() -> None:
    assert set(TYPES) == {setting.attribute for setting in BROKER_SETTINGS.values()}


@pytest.mark.parametrize("attribute", TYPES)
def test_a_default_has_its_type(attribute: str) -> None:
    value = getattr(Settings(), attribute)
    plain = {tuple[str, ...]: tuple, tuple[str, ...] | None: tuple | None}
    expected = TYPES[attribute]
    assert isinstance(value, plain.get(expected, expected))
