"""TV-91 to TV-94; R-22, R-23, R-24, R-25."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from broker_lite.record import varint
from tests.record.support import check_values

INT32 = st.integers(-(2**31), 2**31 - 1)
INT64 = st.integers(-(2**63), 2**63 - 1)


@pytest.mark.parametrize("row", check_values("TV-91"), ids=lambda row: f"TV-91-{row['value']}")
def test_tv_91(row: dict[str, Any]) -> None:
    data = bytes.fromhex(row["hex"])
    assert varint.encode_varint(row["value"]) == data
    assert varint.decode_varint(data, 0, len(data)) == (row["value"], len(data))
    assert varint.varint_size_bytes(row["value"]) == len(data)


@pytest.mark.parametrize("row", check_values("TV-92"), ids=lambda row: f"TV-92-{row['value']}")
def test_tv_92(row: dict[str, Any]) -> None:
    data = bytes.fromhex(row["hex"])
    assert varint.encode_varlong(row["value"]) == data
    assert varint.decode_varlong(data, 0, len(data)) == (row["value"], len(data))
    assert varint.varlong_size_bytes(row["value"]) == len(data)


@pytest.mark.parametrize("row", check_values("TV-93"), ids=lambda row: f"TV-93-{row['value']}")
def test_tv_93(row: dict[str, Any]) -> None:
    data = bytes.fromhex(row["hex"])
    assert varint.encode_unsigned(row["value"]) == data
    assert varint.decode_unsigned(data, 0, len(data)) == (row["value"], len(data))


@pytest.mark.parametrize("kind", ["varint", "varlong"])
def test_tv_94_in_varint_and_in_the_cursor(kind: str, scan: Any) -> None:
    """R-24: over-long forms and dropped bits are accepted, a sixth (eleventh) byte is not."""
    decode = getattr(varint, f"decode_{kind}")
    for row in check_values("TV-94")[kind]:
        data = bytes.fromhex(row["hex"])
        cursor = scan.RecordCursor(memoryview(data), 0, len(data), True)
        value = getattr(cursor, f"read_{kind}")(len(data))
        if row["value"] is None:
            assert cursor.position == -1
            with pytest.raises(varint.VarintTooLong):
                decode(data, 0, len(data))
        else:
            assert (value, cursor.position) == (row["value"], row["bytes_used"])
            assert decode(data, 0, len(data)) == (row["value"], row["bytes_used"])


@pytest.mark.parametrize("size_bytes", range(10))
def test_r_24_bytes_end_inside(size_bytes: int, scan: Any) -> None:
    data = memoryview(b"\x80" * size_bytes)
    cursor = scan.RecordCursor(data, 0, size_bytes, True)
    cursor.read_varlong(size_bytes)
    assert cursor.position == (-1 if size_bytes == 10 else -2)
    with pytest.raises(varint.VarintTruncated):
        varint.decode_varlong(data, 0, size_bytes)
    cursor = scan.RecordCursor(data, 0, size_bytes, True)
    cursor.read_varint(size_bytes)
    assert cursor.position == (-1 if size_bytes >= 5 else -2)


@settings(max_examples=300)
@given(INT32, INT64)
def test_r_22_round_trip(narrow: int, wide: int) -> None:
    data = varint.encode_varint(narrow) + varint.encode_varlong(wide)
    value, position = varint.decode_varint(data, 0, len(data))
    assert value == narrow
    assert position == varint.varint_size_bytes(narrow)
    assert varint.decode_varlong(data, position, len(data)) == (wide, len(data))
    assert len(data) == position + varint.varlong_size_bytes(wide)


def test_r_25_unsigned_of_more_than_32_bits_is_cut() -> None:
    assert varint.decode_unsigned(b"\xff\xff\xff\xff\x7f", 0, 5) == (2**32 - 1, 5)
