"""What a read_committed consumer sees of a partition."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from broker_lite.record.batch import RecordBatch
from broker_lite.record.records import iterate_records
from broker_lite.wire import messages
from tests.fuzz.full_disk import batches
from tests.support.raw_client import RawClient

_BYTES_MAX = 4_000_000
_READ_COMMITTED = 1


class Committed(NamedTuple):
    """A partition as far as its last stable offset when the reading began."""

    values: list[bytes]
    last_stable_offset: int
    high_watermark: int


def read_committed(client: RawClient, topic: str, partition: int) -> Committed:
    """Read all records of committed transactions and of none; who writes on is not run after."""
    values: list[bytes] = []
    offset, end = 0, -1
    while True:
        read = _fetch(client, topic, partition, offset)
        assert read.error_code == 0, read
        end = read.last_stable_offset if end < 0 else end
        found = [each for each in batches(bytes(read.records or b"")) if each.base_offset < end]
        values += _visible(found, read.aborted_transactions or ())
        offset = found[-1].next_offset if found else end
        if offset >= end:
            return Committed(values, read.last_stable_offset, read.high_watermark)


def _fetch(client: RawClient, topic: str, partition: int, offset: int) -> Any:
    kind = messages.FetchRequest
    asked = kind.FetchPartition(
        partition=partition, fetch_offset=offset, partition_max_bytes=_BYTES_MAX
    )
    answer = client.call(
        "Fetch",
        11,
        max_wait_ms=0,
        max_bytes=_BYTES_MAX,
        isolation_level=_READ_COMMITTED,
        topics=[kind.FetchTopic(topic=topic, partitions=[asked])],
    )
    return answer.responses[0].partitions[0]


def _visible(found: Sequence[RecordBatch], aborted: Sequence[Any]) -> list[bytes]:
    """Leave out what the broker says was aborted, as clients do."""
    to_come = sorted((each.first_offset, each.producer_id) for each in aborted)
    open_ids: set[int] = set()
    values: list[bytes] = []
    for batch in found:
        while to_come and to_come[0][0] <= batch.last_offset:
            open_ids.add(to_come.pop(0)[1])
        if batch.is_control:
            open_ids.discard(batch.producer_id)
        elif not (batch.is_transactional and batch.producer_id in open_ids):
            values += [bytes(record.value or b"") for record in iterate_records(batch)]
    return values
