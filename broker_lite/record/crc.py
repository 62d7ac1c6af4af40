"""CRC-32C (Castagnoli), the checksum of a v2 batch.

See: R-11 (DefaultRecordBatch.computeChecksum).
"""

from collections.abc import Callable
from typing import Final

from crc32c import crc32c as _crc32c

crc32c: Final[Callable[[bytes | bytearray | memoryview], int]] = _crc32c
"""Return the checksum of the whole buffer, 0 to 2**32 - 1. It is the compiled function itself."""
