"""broker_lite/settings/attributes.py: the type of each setting of a broker, by its attribute."""

from broker_lite.settings import BROKER_SETTINGS, ConfigType, Setting
from tests.tidy.project_files import ROOT

ATTRIBUTES = ROOT / "broker_lite" / "settings" / "attributes.py"

_HEAD = '''\
"""The settings of a broker as attributes with types.

Made by python -m tests.tidy.generate from the declarations.
"""


class SettingAttributes:
    """What Settings has by attribute; its values come from the settings themselves."""

    __slots__ = ()

'''

_TYPES = {
    ConfigType.BOOLEAN: "bool",
    ConfigType.DOUBLE: "float",
    ConfigType.LIST: "tuple[str, ...]",
    **dict.fromkeys((ConfigType.INT, ConfigType.LONG, ConfigType.SHORT), "int"),
    **dict.fromkeys((ConfigType.CLASS, ConfigType.PASSWORD, ConfigType.STRING), "str"),
}


def setting_types() -> str:
    """The text of the module."""
    return _HEAD + "".join(sorted(map(_line, BROKER_SETTINGS.values())))


def _line(setting: Setting) -> str:
    null = " | None" if setting.default is None else ""
    return f"    {setting.attribute}: {_TYPES[setting.kind]}{null}\n"
