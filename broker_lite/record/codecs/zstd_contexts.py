"""The contexts of the zstd library that a thread keeps for the next batch.

It is a module of its own because a subclass of threading.local cannot be compiled.
"""

import threading
from typing import Final

import zstandard

CONTEXT_BYTES_MAX: Final = 4 << 20
"""Enough for the window of level 3, but not for those of the highest levels: up to 128 MB."""


class _Contexts(threading.local):
    """A thread's own contexts; making one takes as long as reading a batch of 16 KB."""

    def __init__(self) -> None:
        self.compressors: dict[int, zstandard.ZstdCompressor] = {}
        self.decompressor: zstandard.ZstdDecompressor | None = None


CONTEXTS: Final = _Contexts()
