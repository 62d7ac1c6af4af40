"""CRC-32C (Castagnoli), the checksum of a v2 batch.

Rule: R-11 (DefaultRecordBatch.computeChecksum).
"""

from crc32c import crc32c as _crc32c


def crc32c(buffer: bytes | bytearray | memoryview) -> int:
    """Checksum of the whole buffer, 0 to 2**32 - 1."""
    checksum: int = _crc32c(buffer)
    return checksum
