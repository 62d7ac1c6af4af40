"""Messages of magic 0 and 1 as batches of today, for readers that know only these."""

from collections.abc import Iterator
from itertools import groupby
from operator import attrgetter

from broker_lite.errors import BrokerError
from broker_lite.pipeline.read.measured import PLAIN_BYTES_MAX, Unsound
from broker_lite.record.batch import RecordBatch
from broker_lite.record.builder import BatchBuilder
from broker_lite.record.codecs.decompressed import Bounds
from broker_lite.record.legacy.messages import LOG_APPEND_TIME, LegacyMessage, iterate_legacy


def current_batches(message: LegacyMessage) -> Iterator[RecordBatch]:
    """Yield the records of a message or of a wrapper, one v2 batch for each type of timestamp.

    Raises:
        Unsound: a message cannot be read.

    See: R-64 to R-68.
    """
    try:
        records = list(iterate_legacy(message, bounds=Bounds(PLAIN_BYTES_MAX)))
        for timestamp_type, run in groupby(records, key=attrgetter("timestamp_type")):
            first, *others = run
            builder = BatchBuilder(
                base_offset=first.offset,
                log_append_time_ms=first.timestamp if timestamp_type == LOG_APPEND_TIME else None,
            )
            for record in (first, *others):
                builder.append(record.timestamp, record.key, record.value, offset=record.offset)
            data = builder.build()
            yield RecordBatch(memoryview(data), 0, len(data))
    except BrokerError as error:
        raise Unsound("R-68" if message.is_wrapper else "R-06", str(error)) from error
