"""`broker-lite log replay`: write the records of logs into a broker, at the pace of their times.

Keys, values, headers, timestamps and partitions stay as they are, and so does the order within each
partition; across partitions, records come in order of their times. It is one process without Spark:
one process has to keep the order and the time anyway, and it starts in a fraction of a second.

With --id the position in the log is kept in the broker, in the same transaction as the records: who
reads committed records has each of them exactly once, however often the replay was killed and
started again.
"""

import argparse
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Final

from broker_lite.client import Client
from broker_lite.client.producing.producer import Producer
from broker_lite.client.producing.producer_config import ALL_IN_SYNC, ProducerConfig
from broker_lite.client.producing.transactional_producer import TransactionalProducer
from broker_lite.commands.replay.merging import merged
from broker_lite.commands.replay.pace import Pace
from broker_lite.commands.replay.positions import Positions, left_to_do
from broker_lite.commands.replay.target import (
    CREATED_WITH,
    parse_renames,
    prepare_topics,
    stamped_topics,
    target_names,
)
from broker_lite.commands.replay.writing import Writer
from broker_lite.commands.shared.connecting import DEFAULT_BOOTSTRAP, add_connection, connect
from broker_lite.commands.shared.flags import add_repeatable, properties_of
from broker_lite.commands.shared.progress import ProgressBar
from broker_lite.commands.shared.reading_errors import reading_told
from broker_lite.commands.shared.record_choice import (
    ChosenRecords,
    add_record_choice,
    chosen_records,
)
from broker_lite.commands.shared.stop_signals import StopSignals
from broker_lite.errors import ClientError, KafkaStorageError, SettingsError
from broker_lite.pipeline.files.counted_files import CountedFileIO
from broker_lite.pipeline.files.layout import EVERY_OFFSET, PartitionLog
from broker_lite.pipeline.files.positions import earliest
from broker_lite.pipeline.matching.found_records import RecordFinder
from broker_lite.pipeline.read.corruption import ON_CORRUPTION
from broker_lite.pipeline.read.offset_limits import TopicPartition
from broker_lite.pipeline.read.option_values import duration_ms
from broker_lite.pipeline.read.options import ReadOptions
from broker_lite.pipeline.read.plan import plan_ranges
from broker_lite.pipeline.read.ranges import OffsetRange
from broker_lite.record.records import Record
from broker_lite.server.limits.descriptors import raise_descriptor_limit

_TRANSACTION_TIMEOUT_MS: Final = 60_000
# What is read of each partition waits in memory for the records of the others.
_READ_BYTES: Final = 64 << 20
_READ_BYTES_MIN: Final = 16 << 10
_PRODUCER: Final[Mapping[str, str]] = {
    "client.id": "broker-lite-replay",
    "batch.size": str(256 << 10),
    "max.request.size": str(1 << 30),  # the broker says what is too large
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the flags of the command."""
    add_record_choice(parser)
    parser.add_argument(
        "--to",
        dest="bootstrap_server",
        metavar="HOST:PORT",
        default=argparse.SUPPRESS,
        help=f"the broker to write to, as --bootstrap-server [{DEFAULT_BOOTSTRAP}]",
    )
    parser.add_argument(
        "--rate",
        metavar="RATE",
        default="original",
        help="original gaps between records, 2x, 10000/s or max [original]",
    )
    parser.add_argument(
        "--longest-gap", metavar="DURATION", help="make longer gaps so long, as 10s"
    )
    add_repeatable(parser, "--rename", metavar="OLD=NEW", text="write a topic to another one")
    parser.add_argument(
        "--id",
        metavar="NAME",
        help="keep the position in the broker under this name: the same command goes on there",
    )
    parser.add_argument(
        "--no-transactions",
        action="store_true",
        help="with --id: records may be written twice after a kill",
    )
    add_repeatable(
        parser,
        "--command-property",
        "--producer-property",
        dest="command_property",
        text="a property of Kafka's producer: compression.type, batch.size ...",
    )
    add_connection(parser)


def run(options: argparse.Namespace) -> int:
    """Write the records, and go on where an earlier run with the same --id ended."""
    properties = properties_of(options.command_property, options.command_config)
    config = ProducerConfig.read({**_PRODUCER, **properties})
    if not config.idempotent or config.acks != ALL_IN_SYNC:
        raise SettingsError("log replay needs acks=all and enable.idempotence=true")
    if options.no_transactions and options.id is None:
        raise SettingsError("--no-transactions needs --id")
    if options.id == "":
        raise SettingsError("--id: a name is needed")
    pace = Pace(options.rate, _longest_gap_ms(options.longest_gap))
    raise_descriptor_limit()  # each partition has an open file
    with reading_told():
        chosen = chosen_records(options, isolationLevel="read_committed")
        logs = chosen.logs()
        ranges = chosen.ranges(logs)
        with connect(options, {**properties, "client.id": config.client_id}) as client:
            replay = _Replay(options, chosen, logs, ranges, client, config)
            replay.run(pace)
    return 0


class _Replay:
    """One run.

    Attributes:
        names: the topic to write to of each topic of the log.
    """

    def __init__(
        self,
        options: argparse.Namespace,
        chosen: ChosenRecords,
        logs: dict[TopicPartition, PartitionLog],
        ranges: Mapping[TopicPartition, OffsetRange],
        client: Client,
        config: ProducerConfig,
    ) -> None:
        self._options = options
        self._chosen = chosen
        self._logs = logs
        self._ranges = ranges
        self._client = client
        self._config = config
        topics = sorted({topic for topic, _ in logs})
        self.names = target_names(topics, parse_renames(options.rename))
        self._positions = Positions.of(options.id, chosen) if options.id is not None else None
        self._finders: dict[TopicPartition, RecordFinder] = {}

    def run(self, pace: Pace) -> None:
        """Write the records that are left.

        Raises:
            KeyboardInterrupt, SystemExit: a signal; what was read before it is written.
        """
        producers = self._producers()
        ends = self._make_finders()
        total = sum(each.end_offset - each.first_offset for each in self._ranges.values())
        begun = total - sum(self._left().values())
        if begun:
            _tell(f"goes on: {begun} of {total} offsets are done")
        with (
            ProgressBar("replay", total - begun, formatted="{:,} records".format) as bar,
            StopSignals() as signals,
        ):

            def on_progress(written: int) -> None:
                left = sum(self._left().values())
                bar.tell(total - begun - left, f"{written:,} written, {left:,} offsets left")

            writer = Writer(self._client, producers, pace, self._positions, on_progress=on_progress)
            sources = {key: _batches(key, finder) for key, finder in self._finders.items()}
            writer.write(merged(sources), signals)
            writer.finish({} if writer.stopped_by is not None else ends)
        late = "" if pace.is_unlimited else f", at most {writer.late_s * 1000:.0f} ms late"
        _tell(f"{writer.written_records} records written{late}")
        if writer.stopped_by is not None:
            if self._positions is not None:
                _tell("stopped: the same command goes on from here")
            raise writer.stopped_by

    def _producers(self) -> dict[str, Producer]:
        """Make the topics and a producer for each of them."""
        counts: dict[str, int] = {}
        for topic, partition in self._logs:
            name = self.names[topic]
            counts[name] = max(counts.get(name, 0), partition + 1)
        created = prepare_topics(self._client, counts)
        for name in created:
            _tell(f"created topic {name} with {counts[name]} partitions, {CREATED_WITH}")
        # Another broker of the cluster may not know the new ones yet, and these have CreateTime.
        for name in stamped_topics(self._client, counts.keys() - set(created)):
            _tell(f"topic {name} has LogAppendTime: its records get the time of their arrival")
        return {name: self._producer(name) for name in counts}

    def _producer(self, topic: str) -> Producer:
        if self._positions is None or self._options.no_transactions:
            return Producer(self._client, topic, self._config, on_failure=_fail)
        return TransactionalProducer(
            self._client,
            topic,
            self._config,
            transactional_id=f"{self._positions.replay_id}-{topic}",
            timeout_ms=_TRANSACTION_TIMEOUT_MS,
            on_failure=_fail,
        )

    def _make_finders(self) -> dict[TopicPartition, int]:
        """Plan what is left of each partition; return the offsets after it, by what is written."""
        keys = {key: (self.names[key[0]], key[1]) for key in self._ranges}
        committed: Mapping[TopicPartition, int] = {}
        if self._positions is not None:
            committed = self._positions.read(self._client, keys.values())
        left = {
            key: left_to_do(wanted, committed.get(keys[key]), key, earliest(self._logs[key]))
            for key, wanted in self._ranges.items()
        }
        chosen = self._chosen
        options = _in_one_split(chosen.options)
        on_corrupt = ON_CORRUPTION[options.on_corrupt]
        share_bytes = _READ_BYTES // max(len(left), 1)
        io = CountedFileIO(chosen.io, max(share_bytes, _READ_BYTES_MIN))
        for split in plan_ranges(chosen.io, chosen.root, self._logs, left, options):
            self._finders[keys[split.topic, split.partition]] = RecordFinder(
                io, split, options, chosen.conditions, on_corrupt
            )
        ends = {keys[key]: each.end_offset for key, each in left.items()}
        return {key: end for key, end in ends.items() if committed.get(key) != end}

    def _left(self) -> dict[TopicPartition, int]:
        """Return how many offsets of each partition are left."""
        return {
            key: finder.end_offset - finder.passed_offset for key, finder in self._finders.items()
        }


def _in_one_split(options: ReadOptions) -> ReadOptions:
    """Return options by which each partition is one split, whatever --option says."""
    return replace(
        options, max_split_bytes=EVERY_OFFSET, min_partitions=None, max_records_per_partition=None
    )


def _batches(key: TopicPartition, finder: RecordFinder) -> Iterator[Sequence[Record]]:
    """Yield the records of a partition.

    Raises:
        KafkaStorageError: retention deleted some of them before they were read.
    """
    try:
        for found in finder.find():
            yield found.records
    except FileNotFoundError as error:
        raise KafkaStorageError(
            f"{key[0]}-{key[1]}: {error.filename} was deleted before its records were written, from"
            f" offset {finder.passed_offset} on; --option failOnDataLoss=false leaves them out"
        ) from error


def _longest_gap_ms(text: str | None) -> int | None:
    try:
        return None if text is None else duration_ms(text)
    except ValueError as error:
        raise SettingsError(f"--longest-gap {text}: {error}") from error


def _fail(_record_count: int, error: ClientError) -> None:
    """End the replay: a record behind one that is missing would break the order."""
    raise error


def _tell(text: str) -> None:
    print(f"broker-lite: {text}", file=sys.stderr)
