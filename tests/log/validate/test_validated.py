"""V-44: what is said of records that are refused."""

from broker_lite.errors import ErrorCode
from broker_lite.log.validate.validated import (
    RecordError,
    RejectedAsInvalid,
    RejectedByTimestamp,
    ValidatedRecords,
)
from tests.log.logs import T0, batch_bytes, validated


def test_v44_records_that_are_refused_are_told() -> None:
    for kind, code in ((RejectedAsInvalid, ErrorCode.INVALID_RECORD), (RejectedByTimestamp, 32)):
        error = kind("all of them", [RecordError(0, "too old")])
        assert (error.code, error.message) == (code, "all of them")
        assert error.record_errors == [(0, "too old")]


def test_v34_the_time_of_the_append_is_told() -> None:
    found: ValidatedRecords = validated(batch_bytes())
    assert not found.is_append_time
    assert found._replace(log_append_time_ms=T0).is_append_time
