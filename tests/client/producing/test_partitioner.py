from broker_lite.client.producing.partitioner import StickyPartition


def test_a_partition_is_kept_for_a_batch() -> None:
    drawn = iter([1, 0, 2])
    sticky = StickyPartition(3, 100, lambda count: next(drawn) % count)
    partitions = []
    for size_bytes in (60, 39, 1, 99, 1, 5):
        partitions.append(sticky.partition)
        sticky.add(size_bytes)
    assert partitions == [1, 1, 1, 0, 0, 2]


def test_partitions_are_drawn_by_chance() -> None:
    sticky = StickyPartition(4, 1)
    seen = set()
    for _ in range(400):
        seen.add(sticky.partition)
        sticky.add(1)
    assert seen == {0, 1, 2, 3}
