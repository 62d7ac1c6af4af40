from broker_lite.control.metadata import metadata_records as kinds
from broker_lite.control.metadata.metadata_batches import (
    SNAPSHOT_FOOTER,
    feature_records,
    make_batch,
    make_control_batch,
)
from broker_lite.record.batch import RecordBatch
from broker_lite.record.records import iterate_records

NOW_MS = 1_700_000_000_000


def test_records_of_one_change_are_one_batch() -> None:
    records = feature_records({"a": 2, "metadata.version": 25})
    data = make_batch(records, NOW_MS, base_offset=5)
    batch = RecordBatch(memoryview(data), 0, len(data))
    assert (batch.base_offset, batch.leader_epoch, batch.is_control) == (5, 0, False)
    found = [kinds.decode(record.value or b"").value for record in iterate_records(batch)]
    # Kafka asks for metadata.version first
    assert [(one.name, one.feature_level) for one in found] == [("metadata.version", 25), ("a", 2)]


def test_what_is_for_the_quorum_is_a_control_record() -> None:
    data = make_control_batch(SNAPSHOT_FOOTER, b"value", NOW_MS, base_offset=3)
    batch = RecordBatch(memoryview(data), 0, len(data))
    assert (batch.base_offset, batch.is_control) == (3, True)
    (record,) = iterate_records(batch)
    assert (record.key, record.value) == (b"\0\0\0\4", b"value")
