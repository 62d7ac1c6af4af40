"""The errors of refused batches, with texts for the broker's log that say what is wrong.

The compiled checks of a batch only compare numbers. If a check fails, it gets its error here. For a
batch that is accepted, nothing in this module is called.
"""

from broker_lite.errors import (
    BrokerError,
    CorruptMessage,
    DecompressedTooLarge,
    InvalidRecord,
    MessageTooLarge,
    RecordListTooLarge,
    TooManyRecords,
    UnknownServerError,
)
from broker_lite.log.validate.rejected import RejectedRecords
from broker_lite.record.batch import CONTROL_FLAG, RECORD_BATCH_OVERHEAD, RecordBatch
from broker_lite.record.codecs.compression import Codec
from broker_lite.record.loops.scan_status import ScanStatus

_STRUCTURE = {
    ScanStatus.INVALID: "its fields do not fit its length",
    ScanStatus.ENDED: "the batch ends within it",
    ScanStatus.LENGTH_TOO_LONG: "its length has more than five bytes",
}


def wrong_base_offset(base_offset: int) -> InvalidRecord:
    """The error for a batch whose base offset is not 0."""
    return InvalidRecord().because(
        "V-20", "the base offset is {base_offset}, a producer sends 0", base_offset=base_offset
    )


def too_large(size_bytes: int, max_message_bytes: int) -> MessageTooLarge:
    """The error for a batch above the topic's limit."""
    return MessageTooLarge().because(
        "V-20",
        "the batch of {size_bytes:,} bytes is above max.message.bytes={max_message_bytes}",
        size_bytes=size_bytes,
        max_message_bytes=max_message_bytes,
    )


def rebuilt_too_large(size_bytes: int, max_message_bytes: int) -> MessageTooLarge:
    """The error for a batch that is above the topic's limit after it was rebuilt."""
    return MessageTooLarge().because(
        "V-50",
        "with the topic's codec or format the batch takes {size_bytes:,} bytes, which is above"
        " max.message.bytes={max_message_bytes}",
        size_bytes=size_bytes,
        max_message_bytes=max_message_bytes,
    )


def decompresses_too_large(bytes_max: int, parts_max: int) -> DecompressedTooLarge:
    """The error for a batch that decompresses to too many bytes, or has too many parts."""
    return DecompressedTooLarge().because(
        "V-45",
        "the batch decompresses to more than {bytes_max:,} bytes"
        " (broker.lite.decompressed.max.bytes), or has more than {parts_max:,} frames and blocks",
        bytes_max=bytes_max,
        parts_max=parts_max,
    )


def rewritten_too_large(bytes_max: int) -> DecompressedTooLarge:
    """The error for a batch whose records become too large when they are rewritten."""
    return DecompressedTooLarge().because(
        "V-45",
        "the rewritten records take more than {bytes_max:,} bytes"
        " (broker.lite.decompressed.max.bytes)",
        bytes_max=bytes_max,
    )


def too_many_records(count: int, records_max: int) -> TooManyRecords:
    """The error for a batch with too many records."""
    return TooManyRecords().because(
        "V-45",
        "the batch has {record_count:,} records, above broker.lite.batch.records.max={records_max}",
        record_count=count,
        records_max=records_max,
    )


def larger_than_segment(size_bytes: int, segment_bytes: int) -> RecordListTooLarge:
    """The error for a batch that no segment of the topic can hold."""
    return RecordListTooLarge().because(
        "V-52",
        "the batch of {size_bytes:,} bytes is above segment.bytes={segment_bytes}",
        size_bytes=size_bytes,
        segment_bytes=segment_bytes,
    )


def wrong_crc(stored: int, computed: int) -> CorruptMessage:
    """The error for a batch with a wrong checksum: its bytes were changed on the way."""
    return CorruptMessage().because(
        "V-20",
        "the CRC-32C of the bytes is {computed:#010x}, the batch says {stored:#010x}",
        stored=stored,
        computed=computed,
    )


def invalid_entry(magic: int, position: int, size_bytes: int) -> CorruptMessage:
    """The error for an entry of an old message set that is too short or has a wrong checksum."""
    return CorruptMessage().because(
        "V-20",
        "the entry of magic {magic} and {size_bytes:,} bytes at byte {position} of the set has a"
        " wrong checksum, or ends in its header",
        magic=magic,
        size_bytes=size_bytes,
        position=position,
    )


def short_batch(size_bytes: int) -> CorruptMessage:
    """The error for a batch that is shorter than its header."""
    return CorruptMessage().because(
        "V-21",
        "the batch has {size_bytes} bytes, its header alone takes {header_bytes}",
        size_bytes=size_bytes,
        header_bytes=RECORD_BATCH_OVERHEAD,
    )


def unknown_codec(codec: int) -> UnknownServerError:
    """The error for a codec id that does not exist."""
    return UnknownServerError().because("V-20", "there is no codec {codec}", codec=codec)


def old_magic(magic: int) -> InvalidRecord:
    """The error for a message of magic 0 or 1 where only v2 batches are allowed."""
    return InvalidRecord().because(
        "V-31", "a message of magic {magic} where a v2 batch was expected", magic=magic
    )


def not_one_batch(count: int) -> InvalidRecord:
    """The error for a set without a batch, or with several."""
    return InvalidRecord().because(
        "V-31", "{batch_count} batches where exactly one was expected", batch_count=count
    )


def wrong_header(batch: RecordBatch) -> InvalidRecord:
    """The error for a batch whose header has values that a client must not send.

    See: V-32 (LogValidator).
    """
    error = InvalidRecord()
    count, last_offset_delta = batch.record_count, batch.last_offset_delta
    if count <= 0 or last_offset_delta + 1 != count:
        return error.because(
            "V-32",
            "the header says {record_count} records and a last offset delta of {last_offset_delta},"
            " where one record or more was expected, and a delta that is one less",
            record_count=count,
            last_offset_delta=last_offset_delta,
        )
    if batch.attributes & CONTROL_FLAG:
        return error.because("V-32", "only the broker may write control batches")
    return error.because(
        "V-32",
        "producer {producer_id} epoch {producer_epoch} sends the sequence {base_sequence}, which is"
        " below 0",
        producer_id=batch.producer_id,
        producer_epoch=batch.producer_epoch,
        base_sequence=batch.base_sequence,
    )


def wrong_structure(
    error: BrokerError,
    batch: RecordBatch,
    status: int,
    codec_failed: bool,
    position: int,
    records_read: int,
) -> BrokerError:
    """Add a text to an error that says which record cannot be read.

    Args:
        error: the error, without a text.
        batch: the batch of the records.
        status: the status of the scan.
        codec_failed: the codec stopped with an error after the records that were read.
        position: where the last readable record ends, in the uncompressed records.
        records_read: how many records were readable.
    """
    facts = {"record": records_read, "record_count": batch.record_count, "position": position}
    if codec_failed and status in (ScanStatus.OK, ScanStatus.ENDED):
        text = "record {record} of {record_count} cannot be decompressed: the {codec} data is wrong"
        return error.because("V-45", text, codec=Codec(batch.codec).name.lower(), **facts)
    if status == ScanStatus.REMAINING:
        text = "the header says {record_count} records, and more follow at byte {position} of them"
        return error.because("V-36", text, **facts)
    text = "record {record} of {record_count}, at byte {position} of the records: "
    return error.because("V-36", text + _STRUCTURE[ScanStatus(status)], **facts)


def wrong_records(
    error: RejectedRecords, record_count: int, offset_delta: int, wrong: str
) -> RejectedRecords:
    """Add a text to an error that says which record is the first wrong one.

    Args:
        error: the error, with its list of records.
        record_count: number of records in the batch.
        offset_delta: offset delta of the first wrong record.
        wrong: what is wrong with that one, its key or its timestamp; `explain` looks for it.

    See: V-33, V-34.
    """
    index, problem = error.record_errors[0]
    return error.because(
        "V-44",
        "record {record} of {record_count}, offset {offset_delta} in its batch: {problem}"
        " ({wrong_records} in all are wrong)",
        record=index,
        record_count=record_count,
        offset_delta=offset_delta,
        problem=problem.rstrip("."),
        wrong_records=len(error.record_errors),
        wrong=wrong,
    )


def unordered_offsets() -> UnknownServerError:
    """The error for a compressed batch whose offsets Kafka would have to correct."""
    return UnknownServerError().because(
        "V-42", "the offset deltas of a compressed batch are not 0, 1, 2 and so on"
    )


def not_buildable(batch: RecordBatch, min_timestamp: int) -> UnknownServerError:
    """The error for a batch that, as in Kafka, cannot be rebuilt with the topic's codec.

    See: R-50.
    """
    error = UnknownServerError()
    if min_timestamp < 0:
        return error.because(
            "V-42", "a record's timestamp is {timestamp}, below 0", timestamp=min_timestamp
        )
    return error.because(
        "V-42",
        "producer id {producer_id}, epoch {producer_epoch} and sequence {base_sequence} do not go"
        " together",
        producer_id=batch.producer_id,
        producer_epoch=batch.producer_epoch,
        base_sequence=batch.base_sequence,
    )
