"""The flags that choose records of a log: partitions, offsets, times and content."""

import argparse
import json
from pathlib import Path
from typing import Final, NamedTuple

from broker_lite.commands.shared.flags import add_repeatable
from broker_lite.commands.shared.moments import parse_moment
from broker_lite.commands.shared.spark_options import assignments
from broker_lite.errors import SettingsError
from broker_lite.pipeline.files.file_io import FileIO
from broker_lite.pipeline.files.layout import PartitionLog
from broker_lite.pipeline.files.open_file_io import open_file_io
from broker_lite.pipeline.matching.conditions import Conditions, HeaderCondition
from broker_lite.pipeline.matching.json_condition import JsonCondition
from broker_lite.pipeline.matching.time_ranges import narrowed_by_time
from broker_lite.pipeline.read.offset_limits import TopicPartition
from broker_lite.pipeline.read.option_values import duration_ms
from broker_lite.pipeline.read.options import ReadOptions, View
from broker_lite.pipeline.read.ranges import OffsetRange, find_logs, resolve

_KEY_BYTES: Final = {"short": 2, "integer": 4, "long": 8}
_KEY_TYPES: Final = ("string", *_KEY_BYTES, "hex")
_KEY_FILE_BYTES_MAX: Final = 1 << 30


class ChosenRecords(NamedTuple):
    """A log, its partitions and what their records must have.

    Attributes:
        io: opens the log.
        root: path of the log inside io.
        options: of the read.
        lateness_ms: how far timestamps in the log may go back.
    """

    io: FileIO
    root: str
    options: ReadOptions
    conditions: Conditions
    lateness_ms: int

    def logs(self) -> dict[TopicPartition, PartitionLog]:
        """Find the chosen partitions; see find_logs()."""
        return find_logs(self.io, self.root, self.options)

    def ranges(self, logs: dict[TopicPartition, PartitionLog]) -> dict[TopicPartition, OffsetRange]:
        """Return the offsets that can have wanted records; see resolve()."""
        return narrowed_by_time(
            self.io,
            logs,
            resolve(self.io, logs, self.options),
            self.conditions.from_ms,
            self.conditions.until_ms,
            self.lateness_ms,
        )


def add_record_choice(parser: argparse.ArgumentParser) -> None:
    """Add the flags for chosen_records()."""
    parser.add_argument("path", help="a log directory, the directory of a partition, or a URI")
    parser.add_argument("--topics", metavar="NAME,...", help="only these topics; default: all")
    parser.add_argument(
        "--partitions", metavar="TOPIC:N,...", help="only these partitions, as orders:0,orders:2"
    )
    parser.add_argument(
        "--from", dest="from_time", metavar="TIME", help="not before: 2026-01-31T12:00, or ms"
    )
    parser.add_argument("--until", metavar="TIME", help="before this time")
    parser.add_argument(
        "--lateness",
        metavar="DURATION",
        default="1min",
        help="how far timestamps in the log may go back, for --until [1min]",
    )
    add_repeatable(parser, "--key", metavar="KEY", text="with this key; repeatable: any of them")
    parser.add_argument("--keys", metavar="FILE", type=Path, help="a key of this file, one a line")
    parser.add_argument(
        "--key-type", choices=_KEY_TYPES, default="string", help="what keys are [string]"
    )
    add_repeatable(
        parser,
        "--header",
        metavar="NAME[=VALUE]",
        text="with this header; repeatable: all of them",
    )
    add_repeatable(
        parser, "--text", metavar="TEXT", text="with this in key or value; repeatable: all of them"
    )
    parser.add_argument(
        "--json",
        metavar="EXPRESSION",
        help="whose value is JSON for which this JMESPath holds, as customer.id == 'c42'",
    )
    add_repeatable(
        parser,
        "--option",
        text="an option of the data source: startingOffsets, endingOffsets, isolationLevel ...",
    )


def chosen_records(options: argparse.Namespace, **defaults: str) -> ChosenRecords:
    """Return what the flags choose.

    Args:
        options: with the flags of add_record_choice().
        defaults: options of the data source that --option overrides.

    Raises:
        SettingsError: a flag is wrong.
        OptionError: an option of the data source is wrong.
        UnknownFileSystem: the log is a URI of an unknown scheme.
    """
    given: dict[str, str | None] = {**defaults, **assignments("--option", options.option)}
    if options.topics:
        given["subscribe"] = options.topics
    if options.partitions:
        given["assign"] = _assignment(options.partitions)
    parsed = ReadOptions.parse({**given, "path": options.path})
    if parsed.view is not View.RECORDS:
        raise SettingsError(f"--option view={parsed.view}: only records can be chosen")
    conditions = Conditions(
        keys=_keys(options),
        headers=tuple(map(_header, options.header)),
        texts=tuple(_bytes("--text", text) for text in options.text),
        json=JsonCondition(options.json) if options.json is not None else None,
        from_ms=_time_ms("--from", options.from_time),
        until_ms=_time_ms("--until", options.until),
    )
    try:
        lateness_ms = 0 if options.lateness == "0" else duration_ms(options.lateness)
    except ValueError as error:
        raise SettingsError(f"--lateness {options.lateness}: {error}") from error
    io, root = open_file_io(options.path)
    return ChosenRecords(io, root, parsed, conditions, lateness_ms)


def _assignment(text: str) -> str:
    found: dict[str, list[int]] = {}
    for each in text.split(","):
        topic, sign, number = each.strip().rpartition(":")
        if not (sign and topic and number.isascii() and number.isdigit() and len(number) < 10):
            raise SettingsError(f"--partitions {text}: TOPIC:N with commas is expected")
        found.setdefault(topic, []).append(int(number))
    return json.dumps(found)


def _keys(options: argparse.Namespace) -> frozenset[bytes] | None:
    texts: list[str] = list(options.key)
    if options.keys is not None:
        texts += _lines(options.keys)
    elif not texts:
        return None
    return frozenset(_key(text, options.key_type) for text in texts)


def _lines(path: Path) -> list[str]:
    with path.open("rb") as file:
        data = file.read(_KEY_FILE_BYTES_MAX + 1)
    if len(data) > _KEY_FILE_BYTES_MAX:
        raise SettingsError(f"--keys {path}: more than {_KEY_FILE_BYTES_MAX >> 30} GiB")
    text = data.decode("utf-8", "surrogateescape")
    return text.removesuffix("\n").split("\n") if text else []


def _key(text: str, kind: str) -> bytes:
    if kind == "string":
        return _bytes("--key", text)
    try:
        if kind == "hex":
            return bytes.fromhex(text)
        return int(text).to_bytes(_KEY_BYTES[kind], "big", signed=True)
    except (ValueError, OverflowError) as error:
        raise SettingsError(f"--key {text[:80]}: not of the type {kind}") from error


def _header(text: str) -> HeaderCondition:
    name, sign, value = text.partition("=")
    if not name:
        raise SettingsError(f"--header {text}: NAME or NAME=VALUE is expected")
    return HeaderCondition(_bytes("--header", name), _bytes("--header", value) if sign else None)


def _bytes(flag: str, text: str) -> bytes:
    """Return the bytes of an argument, also those that are not UTF-8."""
    try:
        return text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError as error:
        raise SettingsError(f"{flag}: the text cannot be encoded") from error


def _time_ms(flag: str, text: str | None) -> int | None:
    if text is None:
        return None
    digits = text.removeprefix("-")
    if digits.isascii() and digits.isdigit() and len(digits) < 18:
        return int(text)
    try:
        return parse_moment(text if "T" in text else f"{text}T00:00")
    except SettingsError as error:
        raise SettingsError(f"{flag} {text}: a date, 2026-01-31T12:00 or ms since 1970") from error
