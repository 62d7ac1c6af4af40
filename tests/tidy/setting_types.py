"""The types of the settings of brokers and of topics, by attribute: two modules that are made."""

from collections.abc import Iterable
from pathlib import Path
from typing import Final

from broker_lite.settings import BROKER_SETTINGS, TOPIC_SETTINGS, ConfigType, Setting
from tests.tidy.project_files import ROOT

_SETTINGS: Final = ROOT / "broker_lite" / "settings"

_OF_BROKERS = '''\
"""The settings of a broker as attributes with types.

Made by python -m tests.tidy.generate from the declarations.
"""


class SettingAttributes:
    """What Settings has by attribute; its values come from the settings themselves."""

    __slots__ = ()

'''

_OF_TOPICS = '''\
"""The settings of a topic as fields with types.

Made by python -m tests.tidy.generate from the declarations.
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicAttributes:
    """The fields of TopicConfig."""

'''

_TYPES = {
    ConfigType.BOOLEAN: "bool",
    ConfigType.DOUBLE: "float",
    ConfigType.LIST: "tuple[str, ...]",
    **dict.fromkeys((ConfigType.INT, ConfigType.LONG, ConfigType.SHORT), "int"),
    **dict.fromkeys((ConfigType.CLASS, ConfigType.PASSWORD, ConfigType.STRING), "str"),
}


def setting_types() -> dict[Path, str]:
    """The modules with their texts."""
    return {
        _SETTINGS / "attributes.py": _OF_BROKERS + _lines(BROKER_SETTINGS.values()),
        _SETTINGS / "configs" / "topic_attributes.py": _OF_TOPICS + _lines(TOPIC_SETTINGS.values()),
    }


def _lines(settings: Iterable[Setting]) -> str:
    return "".join(sorted(map(_line, settings)))


def _line(setting: Setting) -> str:
    null = " | None" if setting.default is None else ""
    return f"    {setting.attribute}: {_TYPES[setting.kind]}{null}\n"
