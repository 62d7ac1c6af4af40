"""`broker-lite log search`: print the records of logs that have what is sought, as `consume` does.

The time and offset indexes and the headers of batches tell what need not be read or decompressed,
and a search in the bytes of a batch what need not be decoded. All cores search; what they find is
printed in order of topic, partition and offset.

Exit codes as those of grep: 0 found, 1 nothing found, 2 an error, or damage that was passed over.
"""

import argparse
import os
import sys
import time
from collections.abc import Callable, Generator, Sequence
from contextlib import closing
from typing import Final, TypeAlias

from broker_lite.commands.console.formatter_flags import (
    add_formatter,
    chosen_formatter,
    formatter_properties,
)
from broker_lite.commands.search.task import Found, SearchTask
from broker_lite.commands.search.workers import found_in_order
from broker_lite.commands.shared.descriptors import drop_output
from broker_lite.commands.shared.progress import ProgressBar
from broker_lite.commands.shared.reading_errors import reading_told
from broker_lite.commands.shared.record_choice import (
    ChosenRecords,
    add_record_choice,
    chosen_records,
)
from broker_lite.errors import ClientError, KafkaStorageError, SettingsError
from broker_lite.pipeline.read.plan import plan_ranges
from broker_lite.pipeline.read.split import Split
from broker_lite.pipeline.report.text import size_text

_FOUND: Final = 0
_NOTHING: Final = 1
_ERROR: Final = 2

Find: TypeAlias = Callable[[SearchTask, list[Split]], Generator[Found, None, None]]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the flags of the command."""
    add_search(parser)
    parser.add_argument(
        "--processes", type=int, metavar="N", help="how many search [one for each core]"
    )


def add_search(parser: argparse.ArgumentParser) -> None:
    """Add the flags for search()."""
    add_record_choice(parser)
    parser.add_argument("--max-messages", type=int, metavar="N", help="end after N records")
    add_formatter(parser)


def run(options: argparse.Namespace) -> int:
    """Search in processes of this machine, and print what is found."""
    if options.processes is not None and not 0 < options.processes <= 1024:
        raise SettingsError(f"--processes {options.processes}: 1 to 1024 are allowed")
    wanted = options.processes or len(os.sched_getaffinity(0))
    return search(
        options, lambda task, splits: found_in_order(task, splits, min(wanted, len(splits)))
    )


def search(options: argparse.Namespace, find: Find) -> int:
    """Search, and print what is found; return the exit code.

    Args:
        options: with the flags of add_search().
        find: searches splits, and yields what is found in their order.

    Raises:
        SettingsError: a flag is wrong.
    """
    if options.max_messages is not None and options.max_messages < 1:
        raise SettingsError(f"--max-messages {options.max_messages}: a number above 0 is expected")
    chosen_formatter(options)  # a wrong flag shows before anything is read
    try:
        with reading_told():
            return _search(chosen_records(options, onCorrupt="skip"), options, find)
    except (ClientError, KafkaStorageError) as error:
        print(f"broker-lite: {error}", file=sys.stderr)
        return _ERROR
    except BrokenPipeError:
        drop_output()  # the reader of the pipe has enough
        return _FOUND
    except OSError as error:
        place = f"{error.filename}: " if error.filename else ""
        print(f"broker-lite: {place}{error.strerror or error}", file=sys.stderr)
        return _ERROR


def _search(chosen: ChosenRecords, options: argparse.Namespace, find: Find) -> int:
    begun_s = time.monotonic()
    logs = chosen.logs()
    splits = plan_ranges(chosen.io, chosen.root, logs, chosen.ranges(logs), chosen.options)
    total_bytes = sum(part.size_bytes for log in logs.values() for part in log.segments)
    task = SearchTask(
        chosen.options,
        chosen.conditions,
        options.formatter,
        formatter_properties(options),
        options.max_messages,
    )
    printer = _Printer(options.max_messages)
    planned_bytes = sum(split.size_bytes for split in splits)
    with ProgressBar("search", planned_bytes, is_wanted=not sys.stdout.isatty()) as bar:
        _print_all(printer, find(task, splits), bar)
    seconds = time.monotonic() - begun_s
    print(
        f"Found {printer.found} messages, read {size_text(printer.read_bytes)} of"
        f" {size_text(total_bytes)} in {seconds:.1f} s",
        file=sys.stderr,
    )
    if printer.has_damage:
        return _ERROR
    return _FOUND if printer.found else _NOTHING


def _print_all(printer: "_Printer", parts: Generator[Found, None, None], bar: ProgressBar) -> None:
    with closing(parts) as results:
        for found in results:
            bar.add(found.read_bytes, f"{printer.found} found")
            printer.print(found.texts)
            printer.read_bytes += found.read_bytes
            if found.damage:
                printer.has_damage = True
                print(f"broker-lite: damaged, left out: {found.damage}", file=sys.stderr)
            if printer.has_enough:
                return


class _Printer:
    """Prints records until there are enough.

    Attributes:
        found: how many were printed.
        read_bytes: how much was read for them.
        has_damage: whether something was left out.
    """

    def __init__(self, records_max: int | None) -> None:
        self.found = 0
        self.read_bytes = 0
        self.has_damage = False
        self._records_max = records_max

    @property
    def has_enough(self) -> bool:
        return self._records_max is not None and self.found >= self._records_max

    def print(self, texts: Sequence[bytes]) -> None:
        left = None if self._records_max is None else self._records_max - self.found
        wanted = texts[:left]
        self.found += len(wanted)
        sys.stdout.buffer.write(b"".join(wanted))
        sys.stdout.buffer.flush()
