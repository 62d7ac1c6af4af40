"""When a compiled loop lends the interpreter to other threads; and a stand-in in plain Python.

A loop over many bytes releases the interpreter lock, so that the event loop goes on. A loop over
few bytes keeps the lock, because a thread that releases it may wait for milliseconds to get it
back.

Compiled modules import Cython's own `cython`, of which the compiler leaves nothing. If they run as
plain Python, this module stands in for it.
"""

from contextlib import nullcontext
from typing import Final

LENT_BYTES_MIN: Final = 262_144
"""A walk over more bytes than these releases the interpreter lock; they take about 1 ms."""

nogil: Final = nullcontext()
"""Does nothing: in plain Python the interpreter changes threads by itself."""

gil: Final = nullcontext()
"""Takes the lock back inside nogil; in plain Python it does nothing, too."""
