"""The contexts of the zstd library that a thread keeps for the next batch.

In a module of its own since a class of threading.local's cannot be compiled.
"""

import threading
from typing import Final

import zstandard

CONTEXT_BYTES_MAX: Final = 4 << 20
"""Room for the window of level 3, and not for those of the highest levels: up to 128 MB."""


class _Contexts(threading.local):
    """A thread's own contexts: to make one takes as long as to read a batch of 16 KB."""

    def __init__(self) -> None:
        self.compressors: dict[int, zstandard.ZstdCompressor] = {}
        self.decompressor: zstandard.ZstdDecompressor | None = None


CONTEXTS: Final = _Contexts()
