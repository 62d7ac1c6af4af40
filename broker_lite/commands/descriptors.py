"""The three standard descriptors, which a caller may have closed or stopped reading."""

import os
import sys


def take_standard_descriptors() -> None:
    """Open what the caller closed of 0, 1 and 2: libuv aborts when it gets to close one of them."""
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)


def drop_output() -> None:
    """Who read our output has gone: nothing more is said, not even by the interpreter's exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
