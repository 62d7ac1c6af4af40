"""Checksums of two buffers, beside the one of both together."""

import random

import pytest

from broker_lite.load.crc_append import CrcAppend, append_of
from broker_lite.record.crc import crc32c


@pytest.mark.parametrize("size_bytes", [0, 1, 2, 3, 100, 4095, 16_323, 1_000_003])
def test_it_is_the_checksum_of_both(size_bytes: int) -> None:
    source = random.Random(size_bytes)
    append = CrcAppend(size_bytes)
    for before_bytes in (0, 1, 40, 64, 1000):
        before, appended = source.randbytes(before_bytes), source.randbytes(size_bytes)
        assert append.crc(crc32c(before), crc32c(appended)) == crc32c(before + appended)


def test_a_size_is_prepared_once() -> None:
    assert append_of(77) is append_of(77)
