"""S-02, S-03, S-04: names of directories and files."""

import pytest

from broker_lite.log.files.names import (
    is_set_aside,
    parse_partition_directory,
    parse_segment_file,
    partition_directory,
    segment_stem,
    set_aside_directory,
)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("orders-0", ("orders", 0)),
        ("a-b-12", ("a-b", 12)),
        ("a.b_c--3", ("a.b_c-", 3)),
        ("orders", None),
        ("orders-", None),
        ("-1", None),
        ("orders-x", None),
        ("or ders-0", None),
        ("a" * 250 + "-0", None),
        ("orders-0." + "a" * 32 + "-delete", None),
        ("orders-0." + "a" * 32 + "-stray", None),
    ],
)
def test_s02_partition_directories(name: str, expected: tuple[str, int] | None) -> None:
    assert parse_partition_directory(name) == expected
    if expected is not None:
        assert partition_directory(*expected) == name


@pytest.mark.parametrize("topic", ["t", "a" * 249])
def test_s02_directories_that_are_set_aside(topic: str) -> None:
    name = set_aside_directory(topic, 7, "-delete")
    assert len(name) <= 255
    assert is_set_aside(name)
    assert name != set_aside_directory(topic, 7, "-delete")


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("00000000000000000012.log", (12, ".log")),
        ("00000000000000000012.log.swap", (12, ".log.swap")),
        ("00000000000000000012-0000000001.checkpoint", None),
        ("leader-epoch-checkpoint", None),
        ("12.log", None),
    ],
)
def test_s03_segment_files(name: str, expected: tuple[int, str] | None) -> None:
    assert parse_segment_file(name) == expected


def test_s03_stem() -> None:
    assert segment_stem("/d", 12) == "/d/00000000000000000012"
