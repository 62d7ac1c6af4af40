"""The closed form of a generated log is what counting it batch by batch gives."""

import pytest

from broker_lite.pipeline.generate.plan import PartitionShape, shape_of, tasks_of
from broker_lite.pipeline.generate.spec import GenerateSpec

SHAPES = [
    pytest.param(PartitionShape(1003, 100, 10, 1, 0, 7), id="plain"),
    pytest.param(PartitionShape(1003, 100, 10, 3, 0, 7), id="producers"),
    pytest.param(PartitionShape(1003, 100, 10, 3, 6, 12), id="transactions"),
    pytest.param(PartitionShape(5, 100, 10, 3, 6, 12), id="less than a batch"),
    pytest.param(PartitionShape(720, 100, 10, 3, 6, 12), id="whole cycles"),
]


@pytest.mark.parametrize("shape", SHAPES)
def test_offsets_of_segments(shape: PartitionShape) -> None:
    offset, records, markers = 0, 0, 0
    for number in range(shape.segment_count):
        segment = shape.segment(number)
        assert segment.base_offset == offset
        assert segment.first_batch < segment.end_batch
        for batch in range(segment.first_batch, segment.end_batch):
            first, count = shape.records_of(batch)
            assert first == records
            records += count
            markers += len(shape.markers_after(batch))
            offset = records + markers
    assert records == shape.record_count


@pytest.mark.parametrize("shape", SHAPES)
def test_every_transaction_ends(shape: PartitionShape) -> None:
    is_open = set()
    for batch in range(shape.batch_count):
        if shape.cycle_batches:
            is_open.add(batch % shape.lanes)
        is_open -= set(shape.markers_after(batch))
        if (batch + 1) % shape.segment_batches == 0:
            assert not is_open, "a segment has whole transactions"
    assert not is_open


def spec_of(**topic: object) -> GenerateSpec:
    return GenerateSpec.parse({"topics": [{"name": "t", **topic}]})


def test_sizes_of_a_specification() -> None:
    (topic,) = spec_of(
        bytes="100m",
        partitions=3,
        key_bytes=20,
        value_bytes=980,
        batch_bytes="10k",
        segment_bytes="1m",
        producers=2,
        transaction_batches=5,
    ).topics
    shapes = [shape_of(topic, partition) for partition in range(3)]
    assert sum(shape.record_count for shape in shapes) == (100 << 20) // 1000
    assert {shape.batch_records for shape in shapes} == {10}
    assert {shape.segment_batches % 10 for shape in shapes} == {0}
    assert all(900_000 < shape.segment_bytes < 1 << 20 for shape in shapes)


@pytest.mark.parametrize("task_bytes", [1, 100_000, 1 << 40])
def test_tasks_have_every_segment_once(task_bytes: int) -> None:
    spec = spec_of(records=5000, partitions=3, value_bytes=100, segment_bytes="50k")
    tasks = list(tasks_of(spec, task_bytes=task_bytes))
    found = [
        (piece.partition, number)
        for task in tasks
        for piece in task
        for number in range(piece.first_segment, piece.end_segment)
    ]
    counts = [shape_of(spec.topics[0], partition).segment_count for partition in range(3)]
    assert found == [(p, number) for p, count in enumerate(counts) for number in range(count)]
    assert (len(tasks) == 1) == (task_bytes == 1 << 40)


def test_partitions_without_records_have_no_segments() -> None:
    tasks = list(tasks_of(spec_of(records=2, partitions=50)))
    assert [piece.partition for task in tasks for piece in task] == [0, 1]
