"""The wire room: bytes of the Kafka protocol to values and back.

In: buffers and versions. Out: structs (messages); by hand the Produce request, the parts of a Fetch
response, and ListOffsets. It never does I/O, knows no clock, and raises only DecodeError
for what a peer sent and EncodeError for what we tried to send.
"""

from broker_lite.wire.primitives import ZERO_UUID, Buffer, DecodeError, EncodeError

__all__ = ["ZERO_UUID", "Buffer", "DecodeError", "EncodeError"]
