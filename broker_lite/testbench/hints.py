"""Names in the texts of errors: what was meant, and what is too long to be shown."""

import difflib
from collections.abc import Iterable
from typing import Final

_NAME_SHOWN: Final = 100


def did_you_mean(name: str, names: Iterable[str]) -> str:
    """Return "; did you mean 'X'?" for the name that is like another one, or nothing."""
    if len(name) > _NAME_SHOWN:
        return ""
    by_lower = {each.lower(): each for each in names}
    found = difflib.get_close_matches(name.lower(), by_lower, 1)
    return f"; did you mean {by_lower[found[0]]!r}?" if found else ""


def shortened(name: str | int) -> str | int:
    """Return what a caller named, cut off if it is too long for an error's text."""
    if isinstance(name, int) or len(name) <= _NAME_SHOWN:
        return name
    return f"{name[:_NAME_SHOWN]}..."
