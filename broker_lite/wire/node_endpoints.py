"""The addresses of leaders at the end of Produce and Fetch responses (KIP-951)."""

from collections.abc import Sequence
from struct import Struct
from typing import Final, NamedTuple

from broker_lite.wire.primitives import (
    encode_nullable_string,
    encode_string,
    encode_tags,
    encode_uvarint,
)

_INT32: Final = Struct(">i").pack
_NO_TAGS: Final = bytes(1)


class NodeEndpoint(NamedTuple):
    """The address of a leader that an answer names as the current one."""

    node_id: int
    host: str
    port: int
    rack: str | None = None


def encode_node_endpoints(node_endpoints: Sequence[NodeEndpoint]) -> bytes:
    """Encode the tagged fields of a response, which are nothing but these; tag 0."""
    if not node_endpoints:
        return _NO_TAGS
    parts = [encode_uvarint(len(node_endpoints) + 1)]
    for node_id, host, port, rack in node_endpoints:
        parts += (_INT32(node_id), encode_string(host, flexible=True), _INT32(port))
        parts += (encode_nullable_string(rack, flexible=True), _NO_TAGS)
    return encode_tags([(0, b"".join(parts))], None)
