"""When a compiled loop lends the interpreter to other threads, and what that is in plain Python.

While it walks many bytes, a loop gives up the interpreter lock, so that the event loop goes on.
Over few bytes it keeps the lock: whoever gives it up may wait for milliseconds to have it back.

Compiled modules import Cython's own `cython`, of which the compiler leaves nothing; where they run
as they are written, this module stands in for it.
"""

from contextlib import nullcontext
from typing import Final

LENT_BYTES_MIN: Final = 262_144
"""A walk over more bytes than these lends the interpreter; they take about 1 ms."""

nogil: Final = nullcontext()
"""Plain Python has nothing to lend: the interpreter changes threads by itself."""

gil: Final = nullcontext()
"""Takes the lock back inside nogil."""
