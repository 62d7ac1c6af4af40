"""Java's order among equals, as the JDK's own classes have it."""

import pytest

from broker_lite.coordinator.streams.java_order import JavaHeap, hash_order


def test_letters_are_in_the_order_of_their_buckets() -> None:
    """U-16: 'p' is 112, so bucket 0 of 16; 'a' is 97, so bucket 1."""
    assert hash_order("abp") == ["p", "a", "b"]


def test_keys_of_one_bucket_stay_in_the_order_in_which_they_came() -> None:
    assert hash_order(["q", "a"]) == ["q", "a"]
    assert hash_order(["a", "q"]) == ["a", "q"]


@pytest.mark.parametrize(("capacity", "order"), [(16, "abcd"), (4, "abcd"), (1, "abcd")])
def test_a_small_map_grows_with_its_keys(capacity: int, order: str) -> None:
    """With four keys all of them have eight buckets or more, where 'd' (100) comes last."""
    assert hash_order("dcba", capacity) == list(order)


def test_a_map_that_has_not_grown_has_few_buckets() -> None:
    """Three keys fit into four buckets, where 'd' (100) is in bucket 0."""
    assert hash_order("abd", 4) == ["d", "a", "b"]


def test_high_bits_count() -> None:
    """'s1001-r0' and 's1001-c20' share a bucket only because their high bits are mixed in."""
    assert hash_order(["s1001-r0", "s1001-c20"]) == ["s1001-r0", "s1001-c20"]
    assert hash_order(["s1001-c20", "s1001-r0"]) == ["s1001-c20", "s1001-r0"]


def heap_of(*items: tuple[str, int]) -> JavaHeap[str]:
    heap: JavaHeap[str] = JavaHeap()
    for item, weight in items:
        heap.add(item, weight)
    return heap


def test_the_last_of_equals_follows_the_first() -> None:
    """java.util.PriorityQueue puts the last one to the top, and lets it sink past lighter ones."""
    heap = heap_of(*((item, 0) for item in "abc"))
    assert [heap.poll() for _ in range(4)] == ["a", "c", "b", None]
    assert len(heap) == 0


def test_lighter_items_come_first() -> None:
    heap = heap_of(*((str(weight), weight) for weight in (5, 3, 8, 1, 9, 2, 7)))
    heap.add("4", 4)
    assert "".join(heap.poll() or "" for _ in range(8)) == "12345789"


def test_an_item_comes_back_with_another_weight() -> None:
    """U-16: like a process that got a task. JDK 17 gives this order."""
    heap = heap_of(*((item, 0) for item in "abcdefg"))
    polled = []
    for turn in range(14):
        item = heap.poll() or ""
        polled.append(item)
        heap.add(item, 1 + turn // 7)
    assert "".join(polled) == "agbdecfcfbaged"
