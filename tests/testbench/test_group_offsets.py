"""Offsets that are set for a group without members."""

from typing import Any

from broker_lite.record.batch import RecordBatch
from broker_lite.record.framing import walk
from broker_lite.testing import Broker


def test_many_offsets_are_set_in_several_commits() -> None:
    """Each of them takes a moment; other clients have their turn in between."""
    with Broker({"group.initial.rebalance.delay.ms": 0}) as broker:
        broker.create_topic("t", partitions=450)
        given = {"t": {str(index): index for index in range(450)}}
        view: Any = broker.control("PUT", "/v1/groups/g/offsets", given)
        assert len(view["offsets"]["t"]) == 450
        logs = [*broker.data_dir.glob("__consumer_offsets-*/*.log")]
        counts = [
            RecordBatch(data, entry.position, entry.size_bytes).record_count
            for data in (memoryview(log.read_bytes()) for log in logs if log.stat().st_size)
            for entry in walk(data)
        ]
    assert max(counts) == 200
