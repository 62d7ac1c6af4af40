"""`broker-lite log dump`: print the files of a log, line for line as kafka-dump-log does.

A directory stands for all files in it. Damage is reported in place and in one line on standard
error at the end; the exit code is 1 then, and the other files are printed anyway.
"""

import argparse
import json
import re
import sys
from collections.abc import Iterator, Mapping
from itertools import chain
from pathlib import Path
from typing import Any, Final

from broker_lite.commands.log.dump import as_json as dump_json
from broker_lite.commands.log.dump.batches import Wanted, batch_line, record_lines
from broker_lite.commands.log.dump.index_checks import CHECKED, index_faults
from broker_lite.commands.log.dump.small_files import entries_of, entry_text
from broker_lite.commands.log.files import LogFile
from broker_lite.commands.shared.internal_records import (
    Decoder,
    decode_group,
    decode_metadata,
    decode_share_state,
    decode_text,
    decode_transaction,
)
from broker_lite.commands.shared.progress import ProgressBar
from broker_lite.errors import KafkaStorageError, SettingsError
from broker_lite.log.files.names import (
    INDEX_SUFFIX,
    LOG_SUFFIX,
    parse_partition_directory,
    parse_segment_file,
)
from broker_lite.pipeline.read.measured import Unsound
from broker_lite.record.batch import RecordBatch
from broker_lite.record.legacy.messages import LegacyMessage

_SNAPSHOT: Final = re.compile(r"([0-9]{20})-([0-9]{10})\.checkpoint")
_BOOTSTRAP: Final = "bootstrap.checkpoint"
_DECODERS: Final[Mapping[str, tuple[str, Decoder]]] = {
    "cluster_metadata": ("__cluster_metadata", decode_metadata),
    "offsets": ("__consumer_offsets", decode_group),
    "transaction_log": ("__transaction_state", decode_transaction),
    "share_group_state": ("__share_group_state", decode_share_state),
}
"""The topic and the decoder of each flag."""
_BY_TOPIC: Final = dict(_DECODERS.values())
_MAX_BYTES: Final = 2**31 - 1


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the flags of the command."""
    parser.add_argument("paths", nargs="*", type=Path, metavar="PATH", help="files or directories")
    parser.add_argument(
        "--files", metavar="FILE,...", default="", help="the same, as in Kafka's tool"
    )
    parser.add_argument("--deep-iteration", action="store_true", help="print each record, too")
    parser.add_argument("--print-data-log", action="store_true", help="print keys and values, too")
    parser.add_argument(
        "--skip-record-metadata", action="store_true", help="print only keys and values of records"
    )
    parser.add_argument(
        "--max-bytes",
        type=int,
        default=_MAX_BYTES,
        metavar="N",
        help="stop after N bytes of each .log file",
    )
    decoders = parser.add_mutually_exclusive_group()
    for name in _DECODERS:
        flag = name.replace("_", "-")
        decoders.add_argument(
            f"--{flag}-decoder",
            dest="decoder",
            action="store_const",
            const=name,
            help=f"decode records of {flag.replace('-', ' ')}",
        )
    decoders.add_argument(
        "--raw",
        dest="decoder",
        action="store_const",
        const="raw",
        help="do not decode records of internal topics",
    )
    for flag in ("--verify-index-only", "--index-sanity-check"):
        parser.add_argument(
            flag, dest="check", action="store_true", help="check indexes instead of printing them"
        )
    parser.add_argument("--json", action="store_true", help="print one JSON object per line")
    # a flag of kafka-dump-log; here a batch may have any size
    parser.add_argument("--max-message-size", type=int, help=argparse.SUPPRESS)


def run(options: argparse.Namespace) -> int:
    """Print the files in order."""
    files = list(chain.from_iterable(_files_of(path) for path in _paths(options)))
    damage = []
    output = _Output()
    total_bytes = sum(min(_size_bytes(path), options.max_bytes) for path in files)
    # no progress bar between lines on a terminal
    with ProgressBar("dump", total_bytes, is_wanted=not sys.stdout.isatty()) as bar:
        dumper = _Dumper(options, output, bar)
        for path in files:
            try:
                dumper.dump(path)
            except KafkaStorageError as error:
                damage.append(str(error))
            except FileNotFoundError:
                continue  # retention was faster
        output.flush()
    if damage:
        more = f", and {len(damage) - 1} more" if len(damage) > 1 else ""
        raise KafkaStorageError(f"{damage[0]}{more}")
    return 0


def _paths(options: argparse.Namespace) -> list[Path]:
    paths = [*options.paths, *(Path(name) for name in options.files.split(",") if name)]
    if not paths:
        raise SettingsError("log dump needs files: PATH... or --files")
    return paths


def _files_of(path: Path) -> list[Path]:
    """Return a file, or all files below a directory.

    Raises:
        SettingsError: there is no such file.
    """
    if path.is_dir():
        return sorted(file for file in path.rglob("*") if file.is_file() and _is_known(file))
    if not path.exists():
        raise SettingsError(f"{path}: No such file or directory")
    return [path]


def _is_known(path: Path) -> bool:
    return _has_batches(path) or entries_of(path) is not None


def _has_batches(path: Path) -> bool:
    segment = parse_segment_file(path.name)
    if segment is not None:
        return segment[1].removesuffix(".deleted") == LOG_SUFFIX
    return path.name == _BOOTSTRAP or _SNAPSHOT.fullmatch(path.name) is not None


def _size_bytes(path: Path) -> int:
    """Return the size of a file; 0 if retention was faster."""
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return 0


class _Output:
    """Buffers lines, because a system call per line is slow."""

    _LINES: Final = 2000

    def __init__(self) -> None:
        self._lines: list[str] = []

    def line(self, text: str) -> None:
        self._lines.append(text)
        if len(self._lines) >= self._LINES:
            self.flush()

    def lines(self, texts: Iterator[str]) -> None:
        self._lines.extend(texts)
        if len(self._lines) >= self._LINES:
            self.flush()

    def flush(self) -> None:
        if self._lines:
            self._lines.append("")
            text = "\n".join(self._lines)
            self._lines = []
            sys.stdout.write(text)
        sys.stdout.flush()


class _Dumper:
    """Prints files according to the flags."""

    def __init__(self, options: argparse.Namespace, output: _Output, bar: ProgressBar) -> None:
        self._options = options
        self._output = output
        self._bar = bar
        self._done_bytes = 0

    def dump(self, path: Path) -> None:
        """Print a file.

        Raises:
            KafkaStorageError: the file is damaged; the readable part was printed.
            OSError: it cannot be read.
        """
        if not self._options.json:
            self._output.line(f"Dumping {path}")
        if _has_batches(path):
            self._dump_batches(path)
            return
        if self._options.check and path.suffix in CHECKED:
            self._check_index(path)
            return
        entries = entries_of(path)
        if entries is None:
            self._note(f"Ignoring unknown file {path}")
            return
        count = 0
        for count, entry in enumerate(entries, 1):  # noqa: B007 - the last one counts
            line = {"file": str(path), **entry}
            self._output.line(self._json(line) if self._options.json else entry_text(entry))
        if count == 0 and path.suffix == INDEX_SUFFIX:
            self._note(f"{path} is empty.")
        self._advance(_size_bytes(path), path)

    def _check_index(self, path: Path) -> None:
        faults = list(index_faults(path))
        for fault in faults:
            self._note(fault)
        if faults:
            raise KafkaStorageError(f"{path}: {faults[0]}")
        self._note(f"{path} passed sanity check.")

    def _dump_batches(self, path: Path) -> None:
        options = self._options
        wanted = _wanted(options, path)
        self._note(_title(path))
        begun_bytes = self._done_bytes
        file = LogFile(path, lambda done: self._bar.tell(begun_bytes + done, path.name))
        damaged_at: int | None = None
        for found in file.entries():
            if found.position >= options.max_bytes:
                break
            if options.json:
                head = {"file": str(path), **dump_json.batch_object(found)}
                self._output.line(self._json(head))
            else:
                self._output.line(batch_line(found))
            if not found.batch.crc_is_valid():
                damaged_at = found.position if damaged_at is None else damaged_at
            elif wanted.records:
                self._dump_records(path, found.position, found.batch, wanted)
        self._advance(min(file.size_bytes, options.max_bytes), path)
        if file.end < min(file.size_bytes, options.max_bytes):
            self._tell_rest(file)
        if damaged_at is not None:
            raise KafkaStorageError(f"{path} at {damaged_at}: R-06: the checksum is wrong")
        if file.fault is not None:
            raise KafkaStorageError(f"{path} at {file.end}: R-04: {file.fault}")

    def _dump_records(
        self, path: Path, position: int, batch: RecordBatch | LegacyMessage, wanted: Wanted
    ) -> None:
        try:
            if self._options.json:
                for record in dump_json.record_objects(batch, wanted):
                    self._output.line(self._json({"file": str(path), **record}))
            else:
                self._output.lines(record_lines(batch, wanted))
        except Unsound as unsound:
            text = f"{path} at {position}: {unsound.rule}: {unsound.text}"
            raise KafkaStorageError(text) from unsound

    def _tell_rest(self, file: LogFile) -> None:
        """Report bytes at the end that are not a batch; in a file in use they may become one."""
        rest = file.size_bytes - file.end
        if self._options.json:
            self._output.line(
                self._json({"file": str(file.path), "type": "rest", "invalidBytes": rest})
            )
        else:
            self._output.line(f"Found {rest} invalid bytes at the end of {file.path.name}")

    def _note(self, text: str) -> None:
        if not self._options.json:
            self._output.line(text)

    def _json(self, value: dict[str, Any]) -> str:
        return json.dumps(value, separators=(",", ":"), ensure_ascii=False)

    def _advance(self, size_bytes: int, path: Path) -> None:
        self._done_bytes += size_bytes
        self._bar.tell(self._done_bytes, path.name)


def _title(path: Path) -> str:
    snapshot = _SNAPSHOT.fullmatch(path.name)
    if snapshot is not None:
        return f"Snapshot end offset: {int(snapshot[1])}, epoch: {int(snapshot[2])}"
    segment = parse_segment_file(path.name)
    return f"Log starting offset: {segment[0] if segment is not None else 0}"


def _wanted(options: argparse.Namespace, path: Path) -> Wanted:
    """Choose what to print; records of internal topics are decoded even without a flag."""
    _, decoder = _DECODERS.get(options.decoder, ("", decode_text))
    content = options.print_data_log or options.decoder is not None or options.json
    content = content or options.skip_record_metadata
    if options.decoder is None and (content or options.deep_iteration):
        parsed = parse_partition_directory(path.absolute().parent.name)
        decoder = _BY_TOPIC.get(parsed[0] if parsed is not None else "", decode_text)
    return Wanted(
        records=content or options.deep_iteration,
        content=content,
        metadata=not options.skip_record_metadata,
        decoder=decoder,
    )
