"""Choosing topics by their names, as Kafka's tools do.

A choice is a list of regular expressions with commas between, each of which has to match a whole
name; blanks do not matter, nor do quotes around it. Source: TopicFilter of Kafka's server-common.
"""

import re
from collections.abc import Callable

from broker_lite.errors import SettingsError

Choice = Callable[[str], bool]


def choice_of(text: str | None) -> Choice:
    """Make the test of a name; without a text every name passes.

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
