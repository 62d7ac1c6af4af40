"""The wire room: bytes of the Kafka protocol to values and back.

It takes buffers and versions, and returns structs (messages). Written by hand are the Produce
request, the parts of a Fetch response, and ListOffsets. It never does I/O and has no clock. It
raises only DecodeError, for bytes that a peer sent, and EncodeError, for values that we tried to
send.
"""

from broker_lite.wire.primitives import ZERO_UUID, Buffer, DecodeError, EncodeError

__all__ = ["ZERO_UUID", "Buffer", "DecodeError", "EncodeError"]
