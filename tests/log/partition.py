"""A partition without a file: appends as courses over its producer state."""

from broker_lite.errors import BrokerError
from broker_lite.log.producers.entry import AppendOrigin, CompletedTransaction
from broker_lite.log.producers.state import ProducerStateManager
from broker_lite.record.batch import RecordBatch
from broker_lite.record.control import (
    EndTransactionMarker,
    end_transaction_batch,
)
from tests.log.batches import BASE_TIMESTAMP, batch, records, writable

NOW_MS = BASE_TIMESTAMP + 1000


def view(data: bytes | bytearray) -> RecordBatch:
    return RecordBatch(writable(bytes(data)), 0, len(data))


class Partition:
    """A log end offset and the state; append() is what Log.append does with it."""

    def __init__(self) -> None:
        self.state = ProducerStateManager()
        self.end = 0
        self.written: list[RecordBatch] = []

    def append(
        self,
        sequence: int,
        *,
        count: int = 1,
        epoch: int = 0,
        producer_id: int = 1,
        transactional: bool = False,
        origin: AppendOrigin = AppendOrigin.CLIENT,
        timestamp: int = BASE_TIMESTAMP,
        **guard: object,
    ) -> tuple[int, int]:
        """Give code and base offset; log_append_time of a duplicate is checked here."""
        new = view(
            batch(
                records(count),
                count=count,
                timestamp=timestamp,
                attributes=0x10 if transactional else 0,
                producer=(producer_id, epoch, sequence),
            )
        )
        try:
            duplicate = self.state.check(new, origin, **guard)  # type: ignore[arg-type]
        except BrokerError as error:
            return error.code, -1 if error.message is None else -2
        if duplicate is not None:
            assert duplicate.timestamp_ms == BASE_TIMESTAMP
            assert duplicate.last_offset == duplicate.base_offset + count - 1
            return 0, duplicate.base_offset
        base_offset = self.end
        new.set_last_offset(base_offset + count - 1)
        self.state.apply(new, base_offset)
        self.written.append(new)
        self.end += count
        return 0, base_offset

    def end_transaction(
        self, marker: EndTransactionMarker, *, producer_id: int = 1, epoch: int = 0
    ) -> CompletedTransaction | None:
        self.state.check_marker(producer_id, epoch, marker.coordinator_epoch)
        completed = self.state.apply_marker(
            producer_id, epoch, marker, offset=self.end, timestamp_ms=NOW_MS
        )
        self.written.append(
            view(
                end_transaction_batch(
                    producer_id, epoch, marker, timestamp=NOW_MS, base_offset=self.end
                )
            )
        )
        self.end += 1
        self.state.high_watermark_moved(self.end)
        return completed

    @property
    def last_stable_offset(self) -> int:
        return self.state.last_stable_offset(self.end)
