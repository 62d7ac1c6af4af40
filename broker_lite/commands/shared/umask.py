"""The umask for new files in a data directory: only the owner may read them, by default."""

import argparse
import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from broker_lite.errors import SettingsError
from broker_lite.settings.values import InvalidValue, Umask

OWNER_ONLY: Final = "077"


def add_umask_flag(parser: argparse.ArgumentParser) -> None:
    """Add --umask; None means not given."""
    parser.add_argument(
        "--umask",
        metavar="OCTAL",
        help="permissions that new files and directories lack, as broker.lite.umask;"
        f" default: {OWNER_ONLY} in a data directory",
    )


@contextmanager
def masked(digits: str | None) -> Iterator[None]:
    """Set the umask within the context.

    Processes started meanwhile inherit it, such as those of a Spark session.

    Args:
        digits: octal; None changes nothing.

    Raises:
        SettingsError: it is not a umask, or takes permissions from the owner.
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
