"""The usual Produce request in a short form, and its answer: one topic, one partition.

Nearly all requests are like this. What is decoded and encoded here is what produce.py decodes and
encodes for any request, which takes several times as long.

See: P-178, V-01.
"""

from struct import Struct
from typing import Final

from broker_lite.wire.only_partition import find_only_partition
from broker_lite.wire.produce import (
    FLEXIBLE_FROM,
    TOPIC_IDS_FROM,
    VERSION_MAX,
    PartitionAnswer,
    Partitions,
    ProduceRequest,
    decode_produce_request,
    encode_produce_response,
)

# error code, base offset, log append time, log start offset, no errors, no message; then the ends
# of partition and topic, no throttle time, and the end of the answer
_ANSWER: Final = Struct(">hqqqB8x").pack


class OnlyPartition:
    """A Produce request of one topic and one partition, without a transactional id.

    Attributes:
        acks: of the request.
        timeout_ms: of the request.
        topic: its name, or its id from version 13 on.
        index: of the partition.
        records: a view of the frame.
        head: the bytes from the array of topics to the index; a flexible answer begins with the
            same bytes. Empty if the version is not flexible, or the request has an unusual form.
    """

    __slots__ = ("acks", "head", "index", "records", "timeout_ms", "topic")

    def __init__(
        self,
        acks: int,
        timeout_ms: int,
        topic: str | bytes,
        index: int,
        records: "memoryview",
        head: bytes,
    ) -> None:
        self.acks = acks
        self.timeout_ms = timeout_ms
        self.topic = topic
        self.index = index
        self.records = records
        self.head = head

    def to_request(self) -> ProduceRequest:
        """Return what decode_produce_request() returns for it."""
        partitions: Partitions = [(self.index, self.records)]
        topic = self.topic
        name, topic_id = (topic, None) if isinstance(topic, str) else (None, topic)
        return ProduceRequest(None, self.acks, self.timeout_ms, [(name, topic_id, partitions)])


def decode_only_partition(
    body: memoryview, version: int, position: int = 0
) -> OnlyPartition | ProduceRequest:
    """Decode a Produce request, and return it in its short form if it has one.

    Args:
        body: see decode_produce_request(), as the other arguments and the errors.
        version: see there.
        position: see there.

    See: P-178.
    """
    found = None
    by_id = version >= TOPIC_IDS_FROM
    if FLEXIBLE_FROM <= version <= VERSION_MAX:
        found = find_only_partition(body, position, by_id)
    if found is None:
        return _shortened(decode_produce_request(body, version, position))
    acks, timeout_ms, start, end, index, records_start, records_end = found
    head = body[start:end].tobytes()
    topic = head[1:17] if by_id else head[2:-5].decode("utf-8", "replace")
    return OnlyPartition(acks, timeout_ms, topic, index, body[records_start:records_end], head)


def _shortened(request: ProduceRequest) -> OnlyPartition | ProduceRequest:
    transactional_id, acks, timeout_ms, topics = request
    if transactional_id is None and len(topics) == 1 and len(topics[0][2]) == 1:
        name, topic_id, partitions = topics[0]
        index, records = partitions[0]
        if records is not None:
            return OnlyPartition(acks, timeout_ms, topic_id or name or "", index, records, b"")
    return request


def encode_only_answer(request: OnlyPartition, answer: PartitionAnswer, version: int) -> bytes:
    """Encode the response body for a request of one partition, which was answered without an error.

    Args:
        request: the request.
        answer: its answer; without record errors and message.
        version: of the request.

    See: V-01.
    """
    if not request.head:
        return encode_produce_response({(request.topic, request.index): answer}, version)
    code, base_offset, append_time_ms, start_offset, _, _, _ = answer
    return request.head + _ANSWER(code, base_offset, append_time_ms, start_offset, 1)
