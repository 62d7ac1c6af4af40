"""How rates, sizes and times are read."""

import argparse

import pytest

from broker_lite.commands.bench.flags import Rate, count_up_to, duration, rate, seconds, size


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("max", Rate(None)),
        ("20000/s", Rate(20000)),
        ("0.5/s", Rate(0.5)),
        ("50MB/s", Rate(50e6, is_bytes=True)),
        ("1.5KiB/s", Rate(1536, is_bytes=True)),
        ("7B/s", Rate(7, is_bytes=True)),
    ],
)
def test_rates(text: str, found: Rate) -> None:
    assert rate(text) == found


@pytest.mark.parametrize("text", ["", "20000", "MB/s", "0/s", "-1/s", "5 mb/s", "9999999999GB/s"])
def test_texts_that_are_no_rate(text: str) -> None:
    with pytest.raises(argparse.ArgumentTypeError, match="is not a rate"):
        rate(text)


@pytest.mark.parametrize(
    ("text", "found"), [("100", 100), ("16KiB", 16384), ("1MB", 10**6), ("1 GiB", 2**30)]
)
def test_sizes(text: str, found: int) -> None:
    assert size(text) == found


@pytest.mark.parametrize("text", ["", "0", "-1", "16K", "2GiB", "1e3", "nan"])
def test_texts_that_are_no_size(text: str) -> None:
    with pytest.raises(argparse.ArgumentTypeError, match="is not a size"):
        size(text)


def test_times() -> None:
    assert (seconds("0"), seconds("1.5"), duration("60")) == (0, 1.5, 60)


@pytest.mark.parametrize("text", ["", "-1", "nan", "inf", "1 s", "1e9"])
def test_texts_that_are_no_time(text: str) -> None:
    for read in (seconds, duration):
        with pytest.raises(argparse.ArgumentTypeError, match="is not a number of seconds"):
            read(text)
    with pytest.raises(argparse.ArgumentTypeError, match="above 0"):
        duration("0")


def test_counts() -> None:
    assert count_up_to(5)("5") == 5
    for text in ("", "0", "6", "-1", "1.0", "²"):
        with pytest.raises(argparse.ArgumentTypeError, match="is not a number from 1 to 5"):
            count_up_to(5)(text)
