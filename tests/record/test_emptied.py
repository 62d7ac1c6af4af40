"""R-16: the header that is left of a batch without records."""

import pytest

from broker_lite.record.builder import BatchBuilder
from broker_lite.record.emptied import emptied
from broker_lite.record.records import iterate_records
from tests.record.support import batch_of


@pytest.mark.parametrize("append_time", [None, 77])
@pytest.mark.parametrize("codec", [0, 4])
def test_r_16_what_stays(append_time: int | None, codec: int) -> None:
    builder = BatchBuilder(
        base_offset=10,
        codec=codec,
        log_append_time_ms=append_time,
        producer_id=7,
        producer_epoch=3,
        base_sequence=40,
        is_transactional=True,
        leader_epoch=2,
        delete_horizon_ms=5,
    )
    for _ in range(3):
        builder.append(99, b"k", b"v")
    given = batch_of(builder.build())
    found = batch_of(emptied(given))
    assert (found.size_bytes, found.record_count, list(iterate_records(found))) == (61, 0, [])
    assert (found.base_offset, found.last_offset, found.leader_epoch) == (10, 12, 2)
    assert (found.producer_id, found.producer_epoch, found.base_sequence) == (7, 3, 40)
    assert (found.base_timestamp, found.max_timestamp) == (-1, given.max_timestamp)
    assert (found.codec, found.has_delete_horizon, found.is_transactional) == (0, False, True)
    assert found.is_log_append_time == given.is_log_append_time
    assert found.crc_is_valid()
    assert emptied(found) == found.data
