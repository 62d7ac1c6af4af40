"""Who may read what a command makes in a data directory: its owner, unless asked otherwise."""

import argparse
import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from broker_lite.errors import SettingsError
from broker_lite.settings.values import InvalidValue, Umask

OWNER_ONLY: Final = "077"


def add_umask_flag(parser: argparse.ArgumentParser) -> None:
    """Add --umask; None says that nobody gave it."""
    parser.add_argument(
        "--umask",
        metavar="OCTAL",
        help="what others may not do with new files and directories, as broker.lite.umask;"
        f" default: {OWNER_ONLY} in a data directory",
    )


@contextmanager
def masked(digits: str | None) -> Iterator[None]:
    """Let new files and directories lack permissions as long as the context lasts.

    Processes that are started meanwhile do the same, as those of a Spark session.

    Args:
        digits: octal; None leaves it as it is.

    Raises:
        SettingsError: that is no umask that leaves the owner everything.
    """
    if digits is None:
        yield
        return
    try:
        Umask().check("--umask", digits)
    except InvalidValue as error:
        raise SettingsError(str(error)) from error
    before = os.umask(int(digits, 8))
    try:
        yield
    finally:
        os.umask(before)
