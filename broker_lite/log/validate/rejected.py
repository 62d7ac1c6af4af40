"""The errors of batches that are refused because of some of their records."""

from typing import NamedTuple

from broker_lite.errors import BrokerError, ErrorCode


class RecordError(NamedTuple):
    """The reason why a record was refused; batch_index is its place in the batch, from 0."""

    batch_index: int
    message: str


class RejectedRecords(BrokerError):
    """A batch is refused because of some of its records.

    See: V-44 (RecordValidationException).
    """

    def __init__(self, message: str, record_errors: list[RecordError]) -> None:
        super().__init__(message)
        self.record_errors = record_errors


class RejectedAsInvalid(RejectedRecords):
    """Records were refused, none of them for its timestamp (error code 87)."""

    code = ErrorCode.INVALID_RECORD


class RejectedByTimestamp(RejectedRecords):
    """Records were refused, at least one of them for its timestamp (error code 32)."""

    code = ErrorCode.INVALID_TIMESTAMP
