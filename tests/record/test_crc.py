"""TV-90, R-11, R-61."""

import zlib
from typing import Any

import pytest

from broker_lite.record.crc import crc32c
from tests.record.support import check_values


@pytest.mark.parametrize("row", check_values("TV-90"), ids=lambda row: f"TV-90-{row['hex'][:16]}")
def test_tv_90(row: dict[str, Any]) -> None:
    data = bytes.fromhex(row["hex"])
    assert crc32c(data) == row["crc32c"]
    assert crc32c(memoryview(bytearray(data))) == row["crc32c"]
    assert zlib.crc32(data) == row["crc32"]
