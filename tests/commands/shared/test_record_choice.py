"""The flags that choose records of a log."""

import argparse
from pathlib import Path

import pytest

from broker_lite.commands.shared.record_choice import (
    ChosenRecords,
    add_record_choice,
    chosen_records,
)
from broker_lite.errors import SettingsError
from broker_lite.pipeline.matching.conditions import HeaderCondition
from broker_lite.pipeline.read.option_values import OptionError
from broker_lite.pipeline.read.options import IsolationLevel
from broker_lite.pipeline.read.ranges import OffsetRange
from broker_lite.pipeline.read.selection import Assigned, Topics
from tests.pipeline.support import T0, Partition, numbered


def chosen(*words: str, **defaults: str) -> ChosenRecords:
    parser = argparse.ArgumentParser()
    add_record_choice(parser)
    return chosen_records(parser.parse_args([*words]), **defaults)


def test_without_flags_every_record_is_chosen() -> None:
    found = chosen("logs", isolationLevel="read_committed")
    assert found.options.isolation_level is IsolationLevel.READ_COMMITTED
    assert not found.conditions.is_of_content
    assert found.lateness_ms == 60_000
    assert found.root == str(Path("logs").absolute())


def test_partitions() -> None:
    assert chosen("logs", "--topics", "a,b").options.selection == Topics(frozenset("ab"))
    assert chosen("logs", "--partitions", "a:0,b:1, a:2").options.selection == Assigned(
        frozenset([("a", 0), ("b", 1), ("a", 2)])
    )


def test_options_win_over_defaults() -> None:
    found = chosen(
        "logs", "--option", "isolationLevel=read_uncommitted", isolationLevel="read_committed"
    )
    assert found.options.isolation_level is IsolationLevel.READ_UNCOMMITTED


@pytest.mark.parametrize(
    ("kind", "text", "key"),
    [
        ("string", "ä", "ä".encode()),
        ("string", "\udcff", b"\xff"),
        ("short", "-2", b"\xff\xfe"),
        ("integer", "258", b"\0\0\1\2"),
        ("long", "258", b"\0\0\0\0\0\0\1\2"),
        ("hex", "00fF", b"\x00\xff"),
    ],
)
def test_keys(kind: str, text: str, key: bytes) -> None:
    found = chosen("logs", f"--key={text}", "--key-type", kind)
    assert found.conditions.keys == frozenset([key])


@pytest.mark.parametrize(
    ("content", "keys"),
    [
        (b"", ()),
        (b"a", (b"a",)),
        (b"a\nb\n", (b"a", b"b")),
        (b"\n", (b"",)),
        (b"\xff\n", (b"\xff",)),
    ],
)
def test_a_file_of_keys(tmp_path: Path, content: bytes, keys: tuple[bytes, ...]) -> None:
    path = tmp_path / "keys"
    path.write_bytes(content)
    assert chosen("logs", "--keys", str(path)).conditions.keys == frozenset(keys)
    both = chosen("logs", "--keys", str(path), "--key", "more").conditions.keys
    assert both == frozenset([*keys, b"more"])


def test_content_and_times() -> None:
    found = chosen(
        *("logs", "--header", "a", "--header", "b=c=d", "--text", "x", "--json", "id"),
        *("--from", "2026-01-31", "--until", "1769817600001", "--lateness", "0"),
    )
    assert found.conditions.headers == (
        HeaderCondition(b"a", None),
        HeaderCondition(b"b", b"c=d"),
    )
    assert found.conditions.texts == (b"x",)
    assert found.conditions.from_ms == 1_769_817_600_000
    assert found.conditions.until_ms == 1_769_817_600_001
    assert found.lateness_ms == 0


@pytest.mark.parametrize(
    ("flags", "told"),
    [
        (("--key", "x", "--key-type", "short"), "--key x: not of the type short"),
        (("--key", "40000", "--key-type", "short"), "--key 40000: not of the type short"),
        (("--key", "0", "--key-type", "hex"), "--key 0: not of the type hex"),
        (("--key", "\ud800"), "--key: the text cannot be encoded"),
        (("--header", "=x"), "--header =x: NAME or NAME=VALUE is expected"),
        (("--from", "yesterday"), "--from yesterday: a date"),
        (("--until", "9" * 30), f"--until {'9' * 30}: a date"),
        (("--lateness", "soon"), "--lateness soon: a duration above 0 is allowed"),
        (("--partitions", "orders"), "--partitions orders: TOPIC:N with commas is expected"),
        (("--partitions", "orders:x"), "--partitions orders:x: TOPIC:N"),
        (("--option", "x"), "--option x: NAME=VALUE is expected"),
        (("--option", "view=index"), "--option view=index: only records can be chosen"),
    ],
)
def test_wrong_flags(flags: tuple[str, ...], told: str) -> None:
    with pytest.raises(SettingsError) as caught:
        chosen("logs", *flags)
    assert str(caught.value).startswith(told)


def test_wrong_options() -> None:
    with pytest.raises(OptionError):
        chosen("logs", "--option", "startingOffsets=latest")


def test_the_offsets_of_times(tmp_path: Path) -> None:
    with Partition(tmp_path) as partition:
        partition.append(numbered(10))
        partition.append(numbered(10))
    found = chosen(str(tmp_path), "--from", str(T0 + 5), "--until", str(T0 + 15), "--lateness", "2")
    assert found.ranges(found.logs()) == {("topic", 0): OffsetRange(5, 17)}
