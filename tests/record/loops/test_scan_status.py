"""R-35, R-37: which error a status is."""

import pytest

from broker_lite.errors import ErrorCode
from broker_lite.record.loops.scan_status import ScanStatus, scan_error

INVALID, UNKNOWN = ErrorCode.INVALID_RECORD, ErrorCode.UNKNOWN_SERVER_ERROR


@pytest.mark.parametrize(
    ("status", "compressed", "codec_failed", "code"),
    [
        (ScanStatus.OK, False, False, None),
        (ScanStatus.OK, True, True, UNKNOWN),
        (ScanStatus.INVALID, False, False, INVALID),
        (ScanStatus.INVALID, True, True, INVALID),
        (ScanStatus.ENDED, False, False, INVALID),
        (ScanStatus.ENDED, True, False, INVALID),
        (ScanStatus.ENDED, True, True, UNKNOWN),
        (ScanStatus.LENGTH_TOO_LONG, False, False, UNKNOWN),
        (ScanStatus.LENGTH_TOO_LONG, True, False, INVALID),
        (ScanStatus.LENGTH_TOO_LONG, True, True, INVALID),
        (ScanStatus.REMAINING, False, False, INVALID),
        (ScanStatus.REMAINING, True, True, INVALID),
    ],
)
def test_r_35(
    status: ScanStatus, compressed: bool, codec_failed: bool, code: ErrorCode | None
) -> None:
    error = scan_error(status, compressed=compressed, codec_failed=codec_failed)
    assert (error.code if error else None) == code
