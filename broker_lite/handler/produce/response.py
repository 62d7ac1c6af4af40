"""The Produce response by hand, versions 0-13: with small requests it is a good part of the cost.

A test compares it with messages.ProduceResponse in all versions.
"""

from collections.abc import Mapping, Sequence
from struct import Struct
from typing import Final, NamedTuple, TypeAlias

from broker_lite.errors import ErrorCode, Why
from broker_lite.wire.primitives import encode_count, encode_nullable_string, encode_string

_THROTTLE_FROM: Final = 1
_APPEND_TIME_FROM: Final = 2
_LOG_START_FROM: Final = 5
_RECORD_ERRORS_FROM: Final = 8
_FLEXIBLE_FROM: Final = 9

PartitionKey: TypeAlias = tuple[str | bytes, int]
"""Topic name (up to v12) or topic id (v13) and partition index."""

_INT32: Final = Struct(">i").pack
# index, error code, base offset [, log append time [, log start offset [, no errors, no message]]]
_PARTITION_V0: Final = Struct(">ihq").pack
_PARTITION_V2: Final = Struct(">ihqq").pack
_PARTITION_V5: Final = Struct(">ihqqq").pack
_PARTITION_V8: Final = Struct(">ihqqqih").pack
_PARTITION_V9: Final = Struct(">ihqqqBBx").pack
_NO_THROTTLE: Final = bytes(4)
_NO_THROTTLE_FLEXIBLE: Final = bytes(5)
_END_OF_TOPIC: Final = bytes(1)


class PartitionAnswer(NamedTuple):
    """What one partition is answered.

    Rule: V-14.
    """

    error_code: int = 0
    base_offset: int = -1
    log_append_time_ms: int = -1
    log_start_offset: int = -1
    record_errors: Sequence[tuple[int, str]] = ()
    error_message: str | None = None
    why: Why | None = None
    """For the log; a refusal without it was told where it happened."""

    def with_errors_up_to(self, count: int) -> "PartitionAnswer":
        """The same answer with so many record errors at most."""
        if len(self.record_errors) <= count:
            return self
        return self._replace(record_errors=self.record_errors[:count])


def refusal(
    code: ErrorCode, message: str | None = None, *, why: Why | None = None
) -> PartitionAnswer:
    """The answer of a partition that failed before its log was looked at."""
    return PartitionAnswer(code, error_message=message, why=why)


def encode_produce_response(answers: Mapping[PartitionKey, PartitionAnswer], version: int) -> bytes:
    """Encode the response body.

    Args:
        answers: by topic and partition; partitions of one topic need not be neighbours.
        version: 0 to 13; 13 takes topic ids in the keys, all others names.

    See: V-01.
    """
    flexible = version >= _FLEXIBLE_FROM
    end = _END_OF_TOPIC if flexible else b""
    topics: dict[str | bytes, list[bytes]] = {}
    for (topic, index), answer in answers.items():
        encoded = _partition(index, answer, version)
        if topic in topics:
            topics[topic].append(encoded)
        else:
            topics[topic] = [encoded]
    parts = [encode_count(len(topics), flexible=flexible)]
    for topic, partitions in topics.items():
        name = topic if isinstance(topic, bytes) else encode_string(topic, flexible=flexible)
        parts += (name, encode_count(len(partitions), flexible=flexible), *partitions, end)
    if version >= _THROTTLE_FROM:
        parts.append(_NO_THROTTLE_FLEXIBLE if flexible else _NO_THROTTLE)
    return b"".join(parts)


def _partition(index: int, answer: PartitionAnswer, version: int) -> bytes:
    code, base_offset, append_time_ms, start_offset, record_errors, message, _ = answer
    if version >= _FLEXIBLE_FROM and not record_errors and message is None:
        return _PARTITION_V9(index, code, base_offset, append_time_ms, start_offset, 1, 0)
    if version < _LOG_START_FROM:
        if version < _APPEND_TIME_FROM:
            return _PARTITION_V0(index, code, base_offset)
        return _PARTITION_V2(index, code, base_offset, append_time_ms)
    if version < _RECORD_ERRORS_FROM:
        return _PARTITION_V5(index, code, base_offset, append_time_ms, start_offset)
    if not record_errors and message is None:
        return _PARTITION_V8(index, code, base_offset, append_time_ms, start_offset, 0, -1)
    return _with_errors(index, answer, flexible=version >= _FLEXIBLE_FROM)


def _with_errors(index: int, answer: PartitionAnswer, *, flexible: bool) -> bytes:
    code, base_offset, append_time_ms, start_offset, record_errors, message, _ = answer
    end = _END_OF_TOPIC if flexible else b""
    parts = [
        _PARTITION_V5(index, code, base_offset, append_time_ms, start_offset),
        encode_count(len(record_errors), flexible=flexible),
    ]
    for batch_index, text in record_errors:
        parts += (_INT32(batch_index), encode_nullable_string(text, flexible=flexible), end)
    parts += (encode_nullable_string(message, flexible=flexible), end)
    return b"".join(parts)
