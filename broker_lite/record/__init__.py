"""Record batches: parse, check and write their bytes.

The room takes a buffer that holds batches, or records to write. It returns header views, the result
of a scan over the records of a batch, single records for slow paths, decompressed and compressed
bytes, and new batches. It never touches a file or a clock, and it does not decide whether a sound
batch may be appended.

The codecs and the messages of old releases (magic 0 and 1) have rooms of their own: codecs, legacy.
"""

from broker_lite.record.implementation import implementations

__all__ = ["implementations"]
