"""What is wrong with a batch, in words and numbers, for the broker's log.

The checks of a batch are compiled and look at numbers only. When one of them fails it asks here for
its error. Nothing of this is called for a batch that is accepted.
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
from broker_lite.log.validate.validated import RejectedRecords
from broker_lite.record.batch import CONTROL_FLAG, RECORD_BATCH_OVERHEAD, RecordBatch
from broker_lite.record.codecs.compression import Codec
from broker_lite.record.loops.scan_status import ScanStatus

_STRUCTURE = {
    ScanStatus.INVALID: "its fields do not fit its length",
    ScanStatus.ENDED: "the batch ends within it",
    ScanStatus.LENGTH_TOO_LONG: "its length has more than five bytes",
}


def wrong_base_offset(base_offset: int) -> InvalidRecord:
    """A producer does not give offsets."""
    return InvalidRecord().because(
        "V-20", "the base offset is {base_offset}, a producer sends 0", base_offset=base_offset
    )


def too_large(size_bytes: int, max_message_bytes: int) -> MessageTooLarge:
    """A batch above the topic's limit."""
    return MessageTooLarge().because(
        "V-20",
        "the batch of {size_bytes:,} bytes is above max.message.bytes={max_message_bytes}",
        size_bytes=size_bytes,
        max_message_bytes=max_message_bytes,
    )


def rebuilt_too_large(size_bytes: int, max_message_bytes: int) -> MessageTooLarge:
    """A batch above the topic's limit after it got the topic's codec or format."""
    return MessageTooLarge().because(
        "V-50",
        "with the topic's codec or format the batch takes {size_bytes:,} bytes, which is above"
        " max.message.bytes={max_message_bytes}",
        size_bytes=size_bytes,
        max_message_bytes=max_message_bytes,
    )


def decompresses_too_large(bytes_max: int, parts_max: int) -> DecompressedTooLarge:
    """A batch that grows too much, or costs too much for what it gives."""
    return DecompressedTooLarge().because(
        "V-45",
        "the batch decompresses to more than {bytes_max:,} bytes"
        " (broker.lite.decompressed.max.bytes), or has more than {parts_max:,} frames and blocks",
        bytes_max=bytes_max,
        parts_max=parts_max,
    )


def rewritten_too_large(bytes_max: int) -> DecompressedTooLarge:
    """A batch that grows too much when its records are written anew."""
    return DecompressedTooLarge().because(
        "V-45",
        "written anew the records take more than {bytes_max:,} bytes"
        " (broker.lite.decompressed.max.bytes)",
        bytes_max=bytes_max,
    )


def too_many_records(count: int, records_max: int) -> TooManyRecords:
    """A batch of very many records."""
    return TooManyRecords().because(
        "V-45",
        "the batch has {record_count:,} records, above broker.lite.batch.records.max={records_max}",
        record_count=count,
        records_max=records_max,
    )


def larger_than_segment(size_bytes: int, segment_bytes: int) -> RecordListTooLarge:
    """A batch that no segment of the topic can hold."""
    return RecordListTooLarge().because(
        "V-52",
        "the batch of {size_bytes:,} bytes is above segment.bytes={segment_bytes}",
        size_bytes=size_bytes,
        segment_bytes=segment_bytes,
    )


def wrong_crc(stored: int, computed: int) -> CorruptMessage:
    """A batch that was changed on its way."""
    return CorruptMessage().because(
        "V-20",
        "the CRC-32C of the bytes is {computed:#010x}, the batch says {stored:#010x}",
        stored=stored,
        computed=computed,
    )


def invalid_entry(magic: int, position: int, size_bytes: int) -> CorruptMessage:
    """An entry of a set of an old version that is cut short or was changed on its way."""
    return CorruptMessage().because(
        "V-20",
        "the entry of magic {magic} and {size_bytes:,} bytes at byte {position} of the set has a"
        " wrong checksum, or ends in its header",
        magic=magic,
        size_bytes=size_bytes,
        position=position,
    )


def short_batch(size_bytes: int) -> CorruptMessage:
    """A batch without a whole header."""
    return CorruptMessage().because(
        "V-21",
        "the batch has {size_bytes} bytes, its header alone takes {header_bytes}",
        size_bytes=size_bytes,
        header_bytes=RECORD_BATCH_OVERHEAD,
    )


def unknown_codec(codec: int) -> UnknownServerError:
    """A codec of the future."""
    return UnknownServerError().because("V-20", "there is no codec {codec}", codec=codec)


def old_magic(magic: int) -> InvalidRecord:
    """A message of an old format where only batches may be."""
    return InvalidRecord().because(
        "V-31", "a message of magic {magic} where a v2 batch was expected", magic=magic
    )


def not_one_batch(count: int) -> InvalidRecord:
    """A set with no batch, or several."""
    return InvalidRecord().because(
        "V-31", "{batch_count} batches where exactly one was expected", batch_count=count
    )


def wrong_header(batch: RecordBatch) -> InvalidRecord:
    """A batch whose header says what a client may not say.

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
    """Say which record cannot be read.

    Args:
        error: of the protocol, without a text.
        batch: of the records.
        status: of the scan.
        codec_failed: the codec stopped with an error after the records that were read.
        position: after the last record that could be read, in the plain records.
        records_read: how many could.
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


def wrong_records(error: RejectedRecords, record_count: int, offset_delta: int) -> RejectedRecords:
    """Say which record is the first wrong one.

    Args:
        error: with what is wrong with each.
        record_count: of the batch.
        offset_delta: of the first wrong one.

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
    )


def unordered_offsets() -> UnknownServerError:
    """A compressed batch whose offsets Kafka would have to correct."""
    return UnknownServerError().because(
        "V-42", "the offset deltas of a compressed batch are not 0, 1, 2 and so on"
    )


def not_buildable(batch: RecordBatch, min_timestamp: int) -> UnknownServerError:
    """A batch that cannot be written with the topic's codec, as Kafka cannot.

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
