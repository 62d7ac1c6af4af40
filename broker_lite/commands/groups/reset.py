"""`groups --reset-offsets`: compute new offsets for a group, and commit them.

Exactly one flag says where to. The scope is all topics of the group, some topics, or partitions of
them; or a file lists everything, in lines of `[group,]topic,partition,offset`.
"""

import argparse
import csv
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

from broker_lite.client import Client, Refused
from broker_lite.client.admin.group_admin import DEAD, EMPTY, describe_group
from broker_lite.client.partition_offsets import (
    EARLIEST,
    LATEST,
    UNKNOWN_OFFSET,
    commit,
    fetch_committed,
    list_offsets,
)
from broker_lite.client.topic_partitions import Topic, TopicPartition, find_topics
from broker_lite.commands.shared.moments import parse_ago, parse_moment
from broker_lite.commands.shared.text_table import Column, table
from broker_lite.errors import ErrorCode, SettingsError

Offsets = dict[TopicPartition, int]

SCENARIOS: Final = (
    "to_offset",
    "shift_by",
    "from_file",
    "to_datetime",
    "by_duration",
    "to_latest",
    "to_current",
    "to_earliest",
)


def add_reset_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the flags that go with --reset-offsets."""
    add_scenarios(parser)
    parser.add_argument(
        "--all-topics", action="store_true", help="all topics with a committed offset"
    )


def add_scenarios(parser: argparse.ArgumentParser) -> None:
    """Add the flags that say where to, and what becomes of the new offsets."""
    parser.add_argument("--to-offset", type=int, metavar="N", help="set this offset")
    parser.add_argument(
        "--shift-by", type=int, metavar="N", help="move by N records; back if N is negative"
    )
    parser.add_argument(
        "--to-datetime",
        metavar="MOMENT",
        help="set the offset of this moment: 2026-01-31T12:00:00.000",
    )
    parser.add_argument(
        "--by-duration", metavar="DURATION", help="set the offset of so long ago: P1DT2H3M4S"
    )
    parser.add_argument("--to-earliest", action="store_true", help="set the first offset")
    parser.add_argument("--to-latest", action="store_true", help="set the end of the log")
    parser.add_argument("--to-current", action="store_true", help="keep the committed offset")
    parser.add_argument(
        "--from-file",
        type=Path,
        metavar="FILE",
        help="read lines of [group,]topic,partition,offset",
    )
    parser.add_argument("--dry-run", action="store_true", help="only print the new offsets")
    parser.add_argument("--execute", action="store_true", help="commit the new offsets")
    parser.add_argument("--export", action="store_true", help="print lines for --from-file")


def check_reset(options: argparse.Namespace) -> None:
    """Check the flags that go with --reset-offsets.

    Raises:
        SettingsError: they contradict each other.
    """
    if options.dry_run and options.execute:
        raise SettingsError("--reset-offsets takes one of --execute and --dry-run")
    if not options.dry_run and not options.execute:
        print("WARN: nothing is changed without --execute; --dry-run says so", file=sys.stderr)
    check_scenario(options, SCENARIOS)
    if options.from_file is None and bool(options.topic) == options.all_topics:
        raise SettingsError("One of the reset scopes should be defined: --all-topics, --topic.")


def check_scenario(options: argparse.Namespace, names: Sequence[str]) -> None:
    """Check that exactly one flag says where to.

    Raises:
        SettingsError: none does, or several do.
    """
    given = [getattr(options, name) for name in names]
    if sum(value is not None and value is not False for value in given) != 1:
        flags = ", ".join(f"--{name.replace('_', '-')}" for name in names)
        raise SettingsError(f"--reset-offsets takes exactly one of {flags}")


def reset_offsets(client: Client, groups: Iterable[str], options: argparse.Namespace) -> None:
    """Compute, commit and print new offsets; a group in use is left alone.

    Raises:
        SettingsError: a file, moment, duration or partition is wrong.
        Refused: a partition or topic does not exist.
    """
    groups = list(groups)
    plans: dict[str, Offsets] = {}
    for group in groups:
        state = _state(client, group)
        if state not in (DEAD, EMPTY):
            print(
                f"\nError: Assignments can only be reset if the group '{group}' is inactive,"
                f" but the current state is {state}."
            )
            continue
        plans[group] = ResetPlan(client, group, options, single=len(groups) == 1).offsets()
        if options.execute:
            connection = client.connection(client.coordinator(group))
            commit(connection, group, plans[group])
    rows = [
        [group, *partition, offset]
        for group, plan in plans.items()
        for partition, offset in plan.items()
    ]
    if options.export:
        print_csv([row[1:] for row in rows] if len(groups) == 1 else rows)
    else:
        print_new_offsets(rows)


def _state(client: Client, group: str) -> str:
    try:
        return describe_group(client, group).state
    except Refused as error:
        if error.code != ErrorCode.GROUP_ID_NOT_FOUND:
            raise
        return DEAD


def print_new_offsets(rows: Iterable[list[object]]) -> None:
    """Print a table of group, topic, partition and new offset."""
    columns = [
        Column("GROUP", 15, grows=True),
        Column("TOPIC", 15, grows=True),
        Column("PARTITION", 10),
        Column("NEW-OFFSET", 0),
    ]
    print("", *table(columns, rows), sep="\n")


def print_csv(rows: Iterable[list[object]]) -> None:
    """Print lines for --from-file."""
    csv.writer(sys.stdout, lineterminator="\n").writerows(rows)
    print()


class ResetPlan:
    """The new offsets of one group."""

    def __init__(
        self,
        client: Client,
        group: str,
        options: argparse.Namespace,
        *,
        single: bool,
        committed: Callable[[], Offsets] | None = None,
    ) -> None:
        """Ask nothing yet.

        Args:
            client: of the cluster.
            group: its id.
            options: with the flags of add_reset_arguments().
            single: whether it is the only group.
            committed: returns where the group is in the partitions that all topics stand for; None
                for its committed offsets.
        """
        self._find_committed = committed
        self._client = client
        self._group = group
        self._options = options
        self._single = single
        self._topics: Mapping[str, Topic] = {}

    def offsets(self) -> Offsets:
        """Compute them.

        Raises:
            SettingsError: a file, moment, duration or partition is wrong.
            Refused: a partition or topic does not exist.
        """
        options = self._options
        if options.from_file is not None:
            plan = read_plan(options.from_file, self._group if self._single else None)
            wanted = plan.get(self._group)
            if wanted is None:
                print(f"\nError: No reset plan for group {self._group} found")
                return {}
            self._find(wanted)
            return self._within_range(wanted)
        partitions = sorted(self._scope())
        if options.to_offset is not None:
            return self._within_range(dict.fromkeys(partitions, options.to_offset))
        if options.shift_by is not None:
            return self._within_range(dict(self._shifted(partitions, options.shift_by)))
        if options.to_current:
            committed = self._committed()
            return self._ends(LATEST, partitions) | {
                each: committed[each] for each in partitions if each in committed
            }
        if options.to_datetime is not None:
            return self._at(parse_moment(options.to_datetime), partitions)
        if options.by_duration is not None:
            now_ms = round(time.time() * 1000)
            return self._at(parse_ago(options.by_duration, now_ms), partitions)
        return self._ends(EARLIEST if options.to_earliest else LATEST, partitions)

    def _scope(self) -> Iterable[TopicPartition]:
        if self._options.all_topics:
            partitions = self._committed().keys()
            self._find(partitions)
            return partitions
        chosen = [parse_topic(text) for text in self._options.topic]
        self._topics = find_topics(self._client, {name for name, _ in chosen})
        for name, _ in chosen:
            if name not in self._topics:
                raise Refused(f"topic {name}", ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
        return {
            (name, number)
            for name, numbers in chosen
            for number in (
                range(self._topics[name].partition_count) if numbers is None else numbers
            )
        }

    def _find(self, partitions: Iterable[TopicPartition]) -> None:
        self._topics = find_topics(self._client, {name for name, _ in partitions})

    def _committed(self) -> Offsets:
        if self._find_committed is not None:
            return self._find_committed()
        connection = self._client.connection(self._client.coordinator(self._group))
        found = self._client.retry(lambda: fetch_committed(connection, self._group))
        return {partition: committed.offset for partition, committed in found.items()}

    def _ends(self, which: int, partitions: Iterable[TopicPartition]) -> Offsets:
        return list_offsets(self._client, dict.fromkeys(partitions, which), self._topics)

    def _at(self, timestamp_ms: int, partitions: Iterable[TopicPartition]) -> Offsets:
        found = self._ends(timestamp_ms, partitions)
        empty = [each for each, offset in found.items() if offset == UNKNOWN_OFFSET]
        for name, number in empty:
            print(
                f"\nWarn: Partition {number} from topic {name} is empty. Falling back to latest"
                " known offset."
            )
        return found | self._ends(LATEST, empty)

    def _shifted(
        self, partitions: Iterable[TopicPartition], by: int
    ) -> Iterator[tuple[TopicPartition, int]]:
        committed = self._committed()
        for partition in partitions:
            if partition not in committed:
                raise SettingsError(
                    f"Cannot shift offset for partition {partition[0]}-{partition[1]} since there"
                    " is no current committed offset"
                )
            yield partition, committed[partition] + by

    def _within_range(self, wanted: Mapping[TopicPartition, int]) -> Offsets:
        starts, ends = self._ends(EARLIEST, wanted), self._ends(LATEST, wanted)
        found = {}
        for partition, offset in wanted.items():
            found[partition] = min(max(offset, starts[partition]), ends[partition])
            if found[partition] != offset:
                which = "higher than latest" if offset > found[partition] else "lower than earliest"
                print(
                    f"WARN New offset ({offset}) is {which} offset for topic partition"
                    f" {partition[0]}-{partition[1]}. Value will be set to {found[partition]}",
                    file=sys.stderr,
                )
        return found


def parse_topic(text: str) -> tuple[str, list[int] | None]:
    """Parse `topic` or `topic:0,1,2`.

    Raises:
        SettingsError: it is neither.
    """
    name, colon, numbers = text.partition(":")
    if not colon:
        return name, None
    if not name or not numbers:
        raise SettingsError(f"Invalid topic arg '{text}', expected topic name and partitions")
    for number in numbers.split(","):
        if not (number.isascii() and number.isdigit() and len(number) < 10):
            raise SettingsError(f"Invalid partition '{number}' specified in topic arg '{text}'")
    return name, [int(number) for number in numbers.split(",")]


def read_plan(path: Path, group: str | None) -> dict[str, Offsets]:
    """Read a file in the format of --export.

    Args:
        path: of the file.
        group: the group of lines that name none; None if every line must name one.

    Raises:
        SettingsError: the file cannot be read, or a line is wrong.
    """
    plans: dict[str, Offsets] = {}
    try:
        with path.open(newline="", encoding="utf-8") as file:
            for number, row in enumerate(csv.reader(file), 1):
                if not row:
                    continue
                cells = [group, *row] if len(row) == 3 and group is not None else row
                try:
                    name, topic, partition, offset = cells
                    plans.setdefault(str(name), {})[str(topic), int(partition)] = int(offset)
                except (TypeError, ValueError) as error:
                    raise SettingsError(
                        f"{path}, line {number}: not [group,]topic,partition,offset"
                    ) from error
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise SettingsError(f"{path}: {reason}") from error
    return plans
