"""V-44: what is said of records that are refused."""

from broker_lite.errors import ErrorCode
from broker_lite.log.validate.rejected import RecordError, RejectedAsInvalid, RejectedByTimestamp


def test_v44_records_that_are_refused_are_told() -> None:
    for kind, code in ((RejectedAsInvalid, ErrorCode.INVALID_RECORD), (RejectedByTimestamp, 32)):
        error = kind("all of them", [RecordError(0, "too old")])
        assert (error.code, error.message) == (code, "all of them")
        assert error.record_errors == [(0, "too old")]
