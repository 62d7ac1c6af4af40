import pytest
from hypothesis import given
from hypothesis import strategies as st

from broker_lite.record.murmur2 import murmur2, partition_of_key


@pytest.mark.parametrize(
    ("data", "java_int"),
    [
        (b"21", -973932308),
        (b"foobar", -790332482),
        (b"a-little-bit-long-string", -985981536),
        (b"a-little-bit-longer-string", -1486304829),
        (b"lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8", -58897971),
        (b"abc", 479470107),
    ],
)
def test_hash_is_kafka_s(data: bytes, java_int: int) -> None:
    assert murmur2(data) == java_int % 2**32


@given(st.binary(max_size=40), st.integers(1, 1000))
def test_partition_is_one_of_those_there_are(key: bytes, count: int) -> None:
    assert 0 <= partition_of_key(key, count) < count
    assert partition_of_key(key, count) == (murmur2(key) % 2**31) % count
