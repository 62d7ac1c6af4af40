"""Handles standard descriptors that the caller closed or stopped reading."""

import os
import sys
from typing import Final

_STREAMS: Final = (("stdin", "r"), ("stdout", "w"), ("stderr", "w"))


def take_standard_descriptors() -> None:
    """Open closed descriptors among 0, 1 and 2, because libuv aborts if it closes one of these.

    Python has no stream for a descriptor that was closed at its start, so add that, too.
    """
    for number, (name, mode) in enumerate(_STREAMS):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)
        if getattr(sys, name) is None:
            setattr(sys, name, open(number, mode, encoding="utf-8", closefd=False))  # noqa: SIM115


def drop_output() -> None:
    """Discard further output, also of the interpreter's exit: the reader of the pipe has gone."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
