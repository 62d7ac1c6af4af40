"""Numbers, times and keys as people read them."""

import pytest

from broker_lite.pipeline.report.text import (
    byte_rate_text,
    count_text,
    duration_text,
    key_text,
    number_text,
    power_text,
    rate_text,
    ratio_text,
    share_text,
    size_text,
    time_text,
)

THIN = "\N{NARROW NO-BREAK SPACE}"


@pytest.mark.parametrize(
    ("size_bytes", "expected"),
    [(0, "0 B"), (999, "999 B"), (1000, "1.0 kB"), (999_950, "1.0 MB"), (10**16, "10.0 PB")],
)
def test_sizes(size_bytes: int, expected: str) -> None:
    assert size_text(size_bytes) == expected


@pytest.mark.parametrize(
    ("size_bytes", "expected"), [(512, "512 B"), (1024, "1 KiB"), (1 << 52, "4 PiB")]
)
def test_powers(size_bytes: int, expected: str) -> None:
    assert power_text(size_bytes) == expected


def test_counts_and_shares() -> None:
    assert count_text(1234567) == "1\N{NARROW NO-BREAK SPACE}234\N{NARROW NO-BREAK SPACE}567"
    assert (share_text(0.1234), share_text(0.0001), share_text(0)) == ("12.3 %", "< 0.1 %", "0.0 %")


@pytest.mark.parametrize(
    ("number", "expected"),
    [(0, "0.00"), (1.5, "1.50"), (9.999, "10.0"), (99.99, "100"), (750163.5, f"750{THIN}164")],
)
def test_means_and_ratios(number: float, expected: str) -> None:
    assert number_text(number) == expected
    assert ratio_text(number) == f"{expected} \N{MULTIPLICATION SIGN}"


@pytest.mark.parametrize(
    ("per_second", "expected"),
    [
        (0, "0"),
        (0.00001, "0.00001"),
        (0.25, "0.25"),
        (2, "2"),
        (9.99, "10"),
        (65000, f"65{THIN}000"),
    ],
)
def test_rates(per_second: float, expected: str) -> None:
    assert rate_text(per_second) == expected


def test_rates_of_bytes() -> None:
    assert [byte_rate_text(one) for one in (0, 0.002, 9.99, 1e6)] == [
        "0 B",
        "0.002 B",
        "10 B",
        "1.0 MB",
    ]


@pytest.mark.parametrize(
    ("duration_ms", "expected"),
    [
        *((0, "0 ms"), (12, "12 ms"), (90_000, "1.5 min"), (900_000, "15 min")),
        *((3_599_999, "1 h"), (172_800_000, "2 d"), (400 * 86_400_000, "400 d")),
        *((1100 * 86_400_000, "3 years"), (50 * 31_557_600_000, "50 years")),
    ],
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
