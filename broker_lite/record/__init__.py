"""Record batches: bytes in, views, checks and bytes out.

Comes in: a buffer that holds batches, or records to write. Goes out: header views, the result of a
scan over the records of a batch, single records for slow paths, decompressed and compressed bytes,
new batches. Never: a file, a clock, a decision whether a sound batch may be appended.

The codecs and the messages of old releases (magic 0 and 1) have rooms of their own: codecs, legacy.
"""

from broker_lite.record.implementation import implementations

__all__ = ["implementations"]
