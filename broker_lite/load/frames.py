"""The frames of a load: a Produce request of one batch around bytes that are there already.

Only the bytes in front of the batch differ from request to request. They are joined from parts that
are made once for each partition; the batch itself is never copied in Python.
"""

import struct
from typing import Final, NamedTuple

from broker_lite.wire import messages
from broker_lite.wire.primitives import encode_count, encode_nullable_string, encode_string

PRODUCE_VERSION_MAX: Final = 12
"""The last version with topic names."""
FETCH_VERSION_MAX: Final = 12
"""The last version with topic names."""
_HEAD = struct.Struct(">ihhi")  # size, api key, version, correlation id
_HEAD_BYTES_AFTER_SIZE: Final = 8
_NO_TAGS: Final = b"\x00"
_INDEX = struct.Struct(">i")
_ACKS_AND_TIMEOUT = struct.Struct(">hi")
_CODE = struct.Struct(">h")
_CLIENT_ID_BYTES: Final = 2
_TAGS_OF_PRODUCE: Final = 3  # of the partition, the topic and the request


def frame_head(
    request: messages.MessageType, version: int, correlation_id: int, client_id: bytes, size: int
) -> bytes:
    """Encode what comes before the body of a request.

    Args:
        request: a message type.
        version: of the request.
        correlation_id: for its answer.
        client_id: in UTF-8.
        size: of the body.
    """
    assert request.api_key is not None
    tags = _NO_TAGS if is_flexible(request, version) else b""
    total = _HEAD_BYTES_AFTER_SIZE + _CLIENT_ID_BYTES + len(client_id) + len(tags) + size
    head = _HEAD.pack(total, request.api_key, version, correlation_id)
    return b"".join((head, _CODE.pack(len(client_id)), client_id, tags))


def is_flexible(request: messages.MessageType, version: int) -> bool:
    """Tell whether a version has compact lengths and tagged fields."""
    return request.flexible_from is not None and version >= request.flexible_from


class Around(NamedTuple):
    """The bytes of a Produce request before and after its records."""

    before: bytes
    after: bytes


class ProduceFrames:
    """Produce requests of one topic, in one version."""

    def __init__(self, topic: str, *, version: int, acks: int, timeout_ms: int) -> None:
        """Encode what all requests have in common.

        Args:
            topic: its name.
            version: 3 to PRODUCE_VERSION_MAX.
            acks: -1 for all.
            timeout_ms: how long the broker may wait for replicas.
        """
        self.version = version
        self._flexible = flexible = is_flexible(messages.ProduceRequest, version)
        self._start = b"".join(
            (
                encode_nullable_string(None, flexible=flexible),
                _ACKS_AND_TIMEOUT.pack(acks, timeout_ms),
                encode_count(1, flexible=flexible),
                encode_string(topic, flexible=flexible),
                encode_count(1, flexible=flexible),
            )
        )
        # count of topics, name, count of partitions, index, error code
        name_bytes = len(encode_string(topic, flexible=flexible))
        count_bytes = len(encode_count(1, flexible=flexible))
        self._code_position = flexible + count_bytes + name_bytes + count_bytes + _INDEX.size

    def around(self, partition: int, records_bytes: int) -> Around:
        """Encode the body of a request for a partition, without its records."""
        size = encode_count(records_bytes, flexible=self._flexible)
        after = _NO_TAGS * _TAGS_OF_PRODUCE if self._flexible else b""
        return Around(self._start + _INDEX.pack(partition) + size, after)

    def error_code(self, body: memoryview) -> int:
        """Return the error code of the only partition of an answer.

        It is read at its place, because decoding all fields takes ten times as long.

        Args:
            body: what follows the correlation id.

        Raises:
            struct.error: the answer ends before.
        """
        (code,) = _CODE.unpack_from(body, self._code_position)
        return int(code)

    def throttle_ms(self, body: memoryview) -> int:
        """Return for how long the broker asks the client to send nothing.

        It is the last field, in front of the tags; an answer with tags is decoded.

        Args:
            body: what follows the correlation id.

        Raises:
            struct.error: the answer ends before.
            DecodeError: it cannot be read.
        """
        if self._flexible and (not body or body[-1]):
            answer, _ = messages.ProduceResponse.decode(body[1:], self.version)
            return answer.throttle_time_ms
        (found,) = _INDEX.unpack_from(body, len(body) - _INDEX.size - self._flexible)
        return int(found)
