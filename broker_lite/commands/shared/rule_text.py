"""Rules and selectors as a person types them: keys=produce,topic=orders,count=3.

A word without = belongs to the list before it (keys=produce,fetch), or is a flag (hold). A dot
leads into a member: where.acks=1. A text that begins with { or [ is JSON.
"""

import json
from typing import Final

from broker_lite.errors import SettingsError

LISTS: Final = frozenset(("keys", "nodes", "partitions", "split", "versions"))
FLAGS: Final = frozenset(("applied", "hold", "observe", "reset", "silence", "top_level"))
NUMBERS: Final = frozenset(
    (
        *("count", "cut_at", "delay_ms", "every", "for_ms"),
        *("probability", "room_bytes", "seed", "skip", "throttle_ms"),
    )
)
MEMBERS: Final = frozenset(("delay_ms", "rewrite", "where"))


def parsed_rule(text: str) -> object:
    """Return the JSON that a text stands for.

    Raises:
        SettingsError: it stands for none; the text is one line.
    """
    if text.lstrip().startswith(("{", "[")):
        return parsed_json(text)
    found: dict[str, object] = {}
    before: list[object] | None = None
    for word in text.split(","):
        name, equals, value = (each.strip() for each in word.partition("="))
        if not equals and before is not None and name not in FLAGS:
            before.append(_value(name))
            continue
        if not name or (not equals and name not in FLAGS):
            raise SettingsError(f"{word.strip()!r} in {text!r}: write NAME=VALUE, or a flag")
        before = _add(found, name, value if equals else "true")
    return found


def parsed_json(text: str) -> object:
    """Return the value of JSON.

    Raises:
        SettingsError: it is none.
    """
    try:
        return json.loads(text)
    except ValueError as error:
        raise SettingsError(f"not JSON: {error}") from None


def _add(found: dict[str, object], name: str, value: str) -> list[object] | None:
    """Add a member; return its value if that is a list."""
    outer, _, inner = name.partition(".")
    if inner and outer in MEMBERS:
        members = found.setdefault(outer, {})
        if not isinstance(members, dict):
            raise SettingsError(f"{outer} is given in two ways")
        members[inner] = _value(value)
        return None
    if name in found:
        raise SettingsError(f"{name} is given twice")
    if name in LISTS:
        values = [_value(value)]
        found[name] = values
        return values
    found[name] = _value(value) if name in FLAGS | NUMBERS else value
    return None


def _value(text: str) -> object:
    """Return a number, true, false or null as JSON has it; else the text."""
    try:
        value: object = json.loads(text)
    except ValueError:
        return text
    return text if isinstance(value, dict | list) else value
