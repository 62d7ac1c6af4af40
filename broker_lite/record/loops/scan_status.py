"""The possible results of a record scan, and the protocol error for each.

The numbers are written as literals in scan.py: constants typed in its .pxd would not exist at run
time, untyped ones would be looked up as Python objects for every record. A test checks that both
agree.
"""

from enum import IntEnum

from broker_lite.errors import BrokerError, InvalidRecord, UnknownServerError


class ScanStatus(IntEnum):
    """Outcome of reading one record or all records of a batch."""

    OK = 0
    INVALID = 1
    """The structure is wrong, whatever bytes would follow."""
    ENDED = 2
    """The bytes end inside a record, or before the declared number of records."""
    LENGTH_TOO_LONG = 3
    """A record's length field has more than five bytes."""
    REMAINING = 4
    """All declared records were read, and bytes are left."""


_TEXTS = {
    ScanStatus.INVALID: "Found invalid record structure",
    ScanStatus.ENDED: "Incorrect declared batch size, premature EOF reached",
    ScanStatus.LENGTH_TOO_LONG: "Incorrect declared batch size, premature EOF reached",
    ScanStatus.REMAINING: "Incorrect declared batch size, records still remaining in file",
}


def scan_error(
    status: int, *, compressed: bool = False, codec_failed: bool = False
) -> BrokerError | None:
    """Return the error that Kafka raises for a scan status, None if the records are good.

    Args:
        status: of scan_records, a ScanStatus.
        compressed: the scanned bytes came out of a codec.
        codec_failed: the codec stopped with an error after these bytes; it counts only if the
            reader got as far as the end of them.

    Rule: R-35 (DefaultRecord, DefaultRecordBatch).
    See: R-37.
    """
    if status in (ScanStatus.OK, ScanStatus.ENDED) and codec_failed:
        return UnknownServerError("Failed to decompress record stream")
    if status == ScanStatus.OK:
        return None
    if status == ScanStatus.LENGTH_TOO_LONG and not compressed:
        return UnknownServerError("Varint is too long")
    return InvalidRecord(_TEXTS[ScanStatus(status)])
