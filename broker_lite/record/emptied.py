"""The header that is written for a batch without records, when the header is still needed."""

import struct
from typing import Final

from broker_lite.record.batch import (
    ATTRIBUTES_OFFSET,
    CODEC_MASK,
    DELETE_HORIZON_FLAG,
    HEADER,
    LOG_OVERHEAD,
    NO_TIMESTAMP,
    RECORD_BATCH_OVERHEAD,
    RecordBatch,
)
from broker_lite.record.crc import crc32c

_CRC_POSITION: Final = 17
_CRC: Final = struct.Struct(">I")
_KEPT_FLAGS: Final = 0x7F & ~(CODEC_MASK | DELETE_HORIZON_FLAG)


def emptied(batch: RecordBatch) -> bytes:
    """Write the header of a batch without records.

    Rule: R-16 (DefaultRecordBatch.writeEmptyHeader).
    """
    data = bytearray(RECORD_BATCH_OVERHEAD)
    HEADER.pack_into(
        data,
        0,
        batch.base_offset,
        RECORD_BATCH_OVERHEAD - LOG_OVERHEAD,
        batch.leader_epoch,
        batch.magic,
        0,
        batch.attributes & _KEPT_FLAGS,
        batch.last_offset_delta,
        NO_TIMESTAMP,
        batch.max_timestamp,
        batch.producer_id,
        batch.producer_epoch,
        batch.base_sequence,
        0,
    )
    _CRC.pack_into(data, _CRC_POSITION, crc32c(memoryview(data)[ATTRIBUTES_OFFSET:]))
    return bytes(data)
