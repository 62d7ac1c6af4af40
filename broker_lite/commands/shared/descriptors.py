"""The three standard descriptors, which a caller may have closed or stopped reading."""

import os
import sys
from typing import Final

_STREAMS: Final = (("stdin", "r"), ("stdout", "w"), ("stderr", "w"))


def take_standard_descriptors() -> None:
    """Open what the caller closed of 0, 1 and 2: libuv aborts when it gets to close one of them.

    Python has no stream for what was closed when it began; it gets one, too.
    """
    for number, (name, mode) in enumerate(_STREAMS):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)
        if getattr(sys, name) is None:
            setattr(sys, name, open(number, mode, encoding="utf-8", closefd=False))  # noqa: SIM115


def drop_output() -> None:
    """Who read our output has gone: nothing more is said, not even by the interpreter's exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
