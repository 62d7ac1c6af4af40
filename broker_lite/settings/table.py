"""Settings as a table for people, for `broker-lite config` and the docs."""

import json
from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType
from typing import Final, NamedTuple

from broker_lite.settings.declared.declarations import SETTINGS
from broker_lite.settings.setting import Scope, Setting
from broker_lite.settings.settings import Settings
from broker_lite.settings.values import show


class Row(NamedTuple):
    """One setting, as texts; `value` and `source` are empty for a setting of topics."""

    name: str
    type: str
    default: str
    value: str
    source: str
    scope: str
    allowed: str
    meaning: str


def rows(settings: Settings) -> list[Row]:
    """Return all settings in the order of their names, except internal and ignored ones."""
    return [_row(settings, SETTINGS[name]) for name in sorted(SETTINGS) if _is_shown(name)]


def _is_shown(name: str) -> bool:
    return not (SETTINGS[name].internal or SETTINGS[name].ignored)


def _row(settings: Settings, setting: Setting) -> Row:
    on_broker = Scope.BROKER in setting.scope
    value = settings.value(setting.name) if on_broker else None
    meaning = setting.doc
    if setting.own:
        meaning += " (broker-lite's own.)"
    elif setting.kafka_default is not None:
        meaning += f" (Kafka's default: {setting.kafka_default}.)"
    return Row(
        setting.name,
        setting.kind.name.lower(),
        setting.default or "",
        "" if setting.is_sensitive else show(value) or "",
        settings.origin_of(setting.name) if on_broker else "",
        {Scope.BROKER: "broker", Scope.TOPIC: "topic"}.get(setting.scope, "broker, topic"),
        setting.allowed,
        meaning,
    )


def _text(settings: Settings) -> Iterator[str]:
    head = Row("NAME", "TYPE", "DEFAULT", "VALUE", "SOURCE", "SCOPE", "ALLOWED", "MEANING")
    table = [head, *rows(settings)]
    columns = ("name", "default", "value", "source")
    widths = [min(48, max(len(getattr(row, column)) for row in table)) for column in columns]
    for row in table:
        cells = (
            getattr(row, column).ljust(width) for column, width in zip(columns, widths, strict=True)
        )
        yield "  ".join((*cells, row.meaning)).rstrip()


def _markdown(settings: Settings) -> Iterator[str]:
    yield "| Setting | Type | Default | Scope | Allowed | Meaning |"
    yield "| --- | --- | --- | --- | --- | --- |"
    for row in rows(settings):
        default = f"`{row.default}`" if row.default else ""
        cells = (f"`{row.name}`", row.type, default, row.scope, row.allowed, row.meaning)
        yield f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"


def _json(settings: Settings) -> Iterator[str]:
    yield json.dumps([row._asdict() for row in rows(settings)], indent=2)


FORMATS: Final[Mapping[str, Callable[[Settings], Iterator[str]]]] = MappingProxyType(
    {"table": _text, "json": _json, "markdown": _markdown}
)
"""The formats of the table, by name; each function yields lines."""
