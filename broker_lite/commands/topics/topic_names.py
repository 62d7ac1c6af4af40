"""Selects topics by name, as Kafka's tools do.

A choice is a comma-separated list of regular expressions that have to match a whole name; blanks
and surrounding quotes are ignored. Source: TopicFilter of Kafka's server-common.
"""

import re
from collections.abc import Callable

from broker_lite.errors import SettingsError

Choice = Callable[[str], bool]


def choice_of(text: str | None) -> Choice:
    """Return a function that takes a name; without a text, every name passes.

    Raises:
        SettingsError: not a regular expression.
    """
    if text is None:
        return lambda _name: True
    pattern = text.strip().replace(",", "|").replace(" ", "").strip("\"'")
    try:
        compiled = re.compile(pattern)
    except re.error as error:
        raise SettingsError(f"{text}: not a regular expression: {error}") from error
    return lambda name: compiled.fullmatch(name) is not None
