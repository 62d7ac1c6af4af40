"""Made-up records: the same in both forms, by their number alone, spread as the tables say."""

from array import array
from itertools import pairwise
from types import ModuleType
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.record.conftest import load_native, load_python

T0 = 1_700_000_000_000
POOL = memoryview(b"the quick brown fox")
ALL = 1 << 32

Cells = list[tuple[int, bytes | None, bytes | None]]
TABLES = st.lists(st.integers(0, 300), min_size=5, max_size=5).map(lambda n: sorted(n * 205))


def table(number: int) -> memoryview:
    return memoryview(array("q", [number] * 1025))


def rising(numbers: list[int]) -> memoryview:
    return memoryview(array("q", numbers))


def source(module: ModuleType, **changes: Any) -> Any:
    arguments: dict[str, Any] = {
        "seed": 7,
        "keys": rising(list(range(0, 10250, 10))),
        "key_sizes": table(6),
        "null_keys": 0,
        "value_sizes": table(30),
        "null_values": 0,
        "pool": POOL,
        "start_timestamp": T0,
        "interval_us": 500,
        "jitter_ms": 0,
    }
    return module.SyntheticRecords(*{**arguments, **changes}.values())


def nullable(bits: Any, ends: Any, data: Any) -> list[bytes | None]:
    return [
        bytes(data[start:end]) if bits[row >> 3] >> (row & 7) & 1 else None
        for row, (start, end) in enumerate(pairwise(ends))
    ]


def cells(made: Any, first: int, count: int) -> Cells:
    made.fill(first, count)
    keys = nullable(made.key_bits, made.key_ends, made.key_data)
    values = nullable(made.value_bits, made.value_ends, made.value_data)
    return list(zip(made.timestamps, keys, values, strict=True))


@given(
    seed=st.integers(0, 2**64 - 1),
    first=st.integers(0, 2**40),
    keys=TABLES,
    sizes=TABLES,
    nulls=st.integers(0, ALL),
    jitter=st.integers(0, 10_000),
)
@settings(max_examples=20, deadline=None)
def test_both_forms_make_the_same(
    seed: int, first: int, keys: list[int], sizes: list[int], nulls: int, jitter: int
) -> None:
    changes = {
        "seed": seed,
        "keys": rising(keys),
        "key_sizes": rising(sizes),
        "null_keys": nulls,
        "value_sizes": rising(sizes),
        "null_values": nulls,
        "jitter_ms": jitter,
    }
    native, python = (
        cells(source(module, **changes), first, 20)
        for module in (load_native("synthetic"), load_python("synthetic"))
    )
    assert native == python


def test_a_record_follows_from_its_number(synthetic: ModuleType) -> None:
    made = source(synthetic, jitter_ms=50, null_values=ALL // 2)
    whole = cells(made, 1000, 60)
    parts = [cell for first in range(1000, 1060, 20) for cell in cells(made, first, 20)]
    assert parts == whole
    assert cells(source(synthetic, seed=8), 1000, 60) != whole


def test_keys_and_values_begin_with_their_number(synthetic: ModuleType) -> None:
    number = 0xFEDCBA98
    found = cells(source(synthetic, key_sizes=table(16), keys=table(0x76543210)), number, 1)
    ((timestamp, key, value),) = found
    assert key == b"0123456700000000"
    assert value is not None
    assert value[:16] == b"89abcdef00000000"
    assert value[16:] in bytes(POOL) * 3
    assert timestamp == T0 + number // 2


@pytest.mark.parametrize("size_bytes", [0, 3, 16, 17, 5000])
def test_sizes(synthetic: ModuleType, size_bytes: int) -> None:
    found = cells(source(synthetic, value_sizes=table(size_bytes)), 0, 5)
    assert [len(value or b"") for _, _, value in found] == [size_bytes] * 5
    if size_bytes > 2:
        assert len({value for _, _, value in found}) == 5


def test_records_of_one_key_have_the_same_bytes(synthetic: ModuleType) -> None:
    made = source(
        synthetic, keys=rising([0] * 512 + [1] * 513), key_sizes=rising([20, *[40] * 1024])
    )
    assert len({key for _, key, _ in cells(made, 0, 200)}) == 2


def test_nulls(synthetic: ModuleType) -> None:
    found = cells(source(synthetic, null_keys=ALL, null_values=ALL // 4), 0, 400)
    assert all(key is None for _, key, _ in found)
    assert 60 < sum(value is None for _, _, value in found) < 140


def test_numbers_are_drawn_as_the_table_says(synthetic: ModuleType) -> None:
    numbers = rising([0] * 257 + [100] * 256 + list(range(100, 612)))
    drawn = [synthetic.drawn_from(numbers, synthetic.mixed(n)) for n in range(4000)]
    assert 0.22 < sum(number == 0 for number in drawn) / 4000 < 0.28
    assert 0.46 < sum(number > 100 for number in drawn) / 4000 < 0.54
    assert max(drawn) < 612
    assert synthetic.drawn_from(table(9), 2**64 - 1) == 9
    assert synthetic.drawn_from(rising([0] * 1024 + [2**31 - 1]), 2**64 - 1) == 2**31 - 2


def test_mixed_is_splitmix64(synthetic: ModuleType) -> None:
    """The first numbers of the generator with seed 0, as its description gives them."""
    golden = 0x9E3779B97F4A7C15
    assert [synthetic.mixed(golden * step % 2**64) for step in range(3)] == [
        0xE220A8397B1DCDAF,
        0x6E789E6AA1B965F4,
        0x06C45D188009454F,
    ]


def test_jitter_makes_timestamps_earlier(synthetic: ModuleType) -> None:
    plain = [cell[0] for cell in cells(source(synthetic), 0, 200)]
    early = [cell[0] for cell in cells(source(synthetic, jitter_ms=10), 0, 200)]
    differences = {one - other for one, other in zip(plain, early, strict=True)}
    assert differences == set(range(11))


def test_what_cannot_be_made(synthetic: ModuleType) -> None:
    with pytest.raises(ValueError, match="1025 numbers"):
        source(synthetic, keys=rising([1, 2]))
    with pytest.raises(ValueError, match="bytes to cut from"):
        source(synthetic, pool=memoryview(b""))
    with pytest.raises(OverflowError, match="larger than 2 GB"):
        source(synthetic, value_sizes=table(1 << 30)).fill(0, 2)
