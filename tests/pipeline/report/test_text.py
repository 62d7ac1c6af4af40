"""Numbers, times and keys as people read them."""

import pytest

from broker_lite.pipeline.report.text import (
    count_text,
    duration_text,
    key_text,
    power_text,
    share_text,
    size_text,
    time_text,
)


@pytest.mark.parametrize(
    ("size_bytes", "expected"),
    [(0, "0 B"), (999, "999 B"), (1000, "1.0 kB"), (999_950, "1.0 MB"), (10**16, "10000.0 TB")],
)
def test_sizes(size_bytes: int, expected: str) -> None:
    assert size_text(size_bytes) == expected


@pytest.mark.parametrize(
    ("size_bytes", "expected"), [(512, "512 B"), (1024, "1 KiB"), (1 << 52, "4096 TiB")]
)
def test_powers(size_bytes: int, expected: str) -> None:
    assert power_text(size_bytes) == expected


def test_counts_and_shares() -> None:
    assert count_text(1234567) == "1\N{NARROW NO-BREAK SPACE}234\N{NARROW NO-BREAK SPACE}567"
    assert share_text(0.1234) == "12.3 %"


@pytest.mark.parametrize(
    ("duration_ms", "expected"),
    [(0, "0 ms"), (12, "12 ms"), (90_000, "1.5 min"), (900_000, "15 min"), (172_800_000, "2 d")],
)
def test_durations(duration_ms: int, expected: str) -> None:
    assert duration_text(duration_ms) == expected


def test_times() -> None:
    assert time_text(1_700_000_000_000) == "2023-11-14 22:13:20"
    assert time_text(None) == "\N{EN DASH}"


@pytest.mark.parametrize(
    ("key", "expected"),
    [
        (b"user-1", "user-1"),
        (b"", "(empty)"),
        (b"\xff\x00", "0xff00"),
        (b"a\nb", "0x610a62"),
        (b"x" * 41, "x" * 40 + "…"),
    ],
)
def test_keys(key: bytes, expected: str) -> None:
    assert key_text(key) == expected
