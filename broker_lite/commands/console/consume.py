"""`broker-lite consume`: print records of topics as they arrive.

Flags and output are those of kafka-console-consumer.sh. The differences:

- without --group it joins no group and reads all partitions;
- with --group it uses the newer group protocol if the broker supports it (`group.protocol`);
- regular expressions are Python's. The deserializers are those for text and whole numbers; the
  formatters are the default and those for the topics of coordinators, by their names in Kafka 4.
"""

import argparse
import re
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final

from broker_lite.client import Client
from broker_lite.client.consuming.consumer_config import ConsumerConfig
from broker_lite.client.consuming.fetcher import FetchedBatch, Fetcher
from broker_lite.client.consuming.subscriptions import (
    AllPartitions,
    GroupPartitions,
    OnePartition,
    Subscription,
    matching_topics,
    one_topic,
)
from broker_lite.client.deadline import Deadline
from broker_lite.commands.console.formatter_flags import add_formatter, chosen_formatter
from broker_lite.commands.console.record_printer import RecordPrinter
from broker_lite.commands.shared.connecting import add_connection, connect
from broker_lite.commands.shared.descriptors import drop_output
from broker_lite.commands.shared.flags import add_alias, add_repeatable, properties_of
from broker_lite.commands.shared.stop_signals import StopSignals
from broker_lite.errors import ClientError, SettingsError

_WAIT_S: Final = 0.5
_FOR_EVER_S: Final = 1e9
_OFFSET_DIGITS_MAX: Final = 18
_WORDS: Final = ("earliest", "latest")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the flags of the command."""
    parser.add_argument("--topic", help="the topic to read")
    parser.add_argument("--include", metavar="REGEX", help="read all topics whose name matches")
    parser.add_argument("--partition", type=int, help="read only this partition")
    parser.add_argument("--offset", help="with --partition: a number, earliest or latest [latest]")
    parser.add_argument(
        "--from-beginning",
        action="store_true",
        help="begin with the first record where the group has no committed offset",
    )
    parser.add_argument("--max-messages", type=int, metavar="N", help="end after N records")
    parser.add_argument(
        "--timeout-ms", type=int, metavar="MS", help="end when no record arrives for MS ms"
    )
    parser.add_argument("--group", help="join this group and commit offsets")
    parser.add_argument(
        "--isolation-level", metavar="LEVEL", help="read_committed or read_uncommitted [the latter]"
    )
    parser.add_argument(
        "--skip-message-on-error", action="store_true", help="skip records that cannot be read"
    )
    add_formatter(parser)
    add_repeatable(
        parser,
        "--command-property",
        "--consumer-property",
        dest="command_property",
        text="a property of Kafka's consumer: group.id, group.protocol, auto.offset.reset ...",
    )
    add_connection(parser)
    add_alias(parser, "--consumer.config", dest="command_config", metavar="FILE", kind=Path)


def run(options: argparse.Namespace) -> int:
    """Print records until there are enough, a timeout, or a signal."""
    _check(options)
    properties = properties_of(options.command_property, options.command_config)
    config = ConsumerConfig.read(_with_flags(properties, options))
    formatter = chosen_formatter(options)
    records_max = options.max_messages
    if records_max is not None and records_max < 0:
        records_max = None
    printer = RecordPrinter(formatter, sys.stdout.buffer, records_max=records_max)
    try:
        with (
            connect(options, {**properties, "client.id": config.client_id}) as client,
            StopSignals() as signals,
        ):
            _read(client, config, printer, options, signals)
    except BrokenPipeError:
        drop_output()  # the reader of the pipe closed it
    except (KeyboardInterrupt, SystemExit):
        drop_output()  # else the exit would block on output that nobody reads
        raise
    finally:
        print(f"Processed a total of {printer.printed} messages", file=sys.stderr)
    return 0


def _read(
    client: Client,
    config: ConsumerConfig,
    printer: RecordPrinter,
    options: argparse.Namespace,
    signals: StopSignals,
) -> None:
    fetcher = Fetcher(client, reset=config.reset, read_committed=config.read_committed)
    subscription = _subscription(client, config, options)
    timeout_s = _FOR_EVER_S
    if options.timeout_ms is not None and options.timeout_ms >= 0:
        timeout_s = options.timeout_ms / 1000
    try:
        quiet = Deadline(timeout_s)
        while not printer.has_enough:
            with signals.welcome():
                subscription.keep(fetcher, min(_WAIT_S, quiet.remaining_s))
                batches = fetcher.poll(min(_WAIT_S, quiet.remaining_s))
            _print(printer, batches, subscription, skip=options.skip_message_on_error)
            if batches:
                quiet = Deadline(timeout_s)
            elif quiet.remaining_s <= 0:
                text = "Error processing message, terminating consumer process: TimeoutException"
                print(f"{text}: none for {options.timeout_ms} ms", file=sys.stderr)
                break
    finally:
        subscription.close()


def _print(
    printer: RecordPrinter,
    batches: Iterable[FetchedBatch],
    subscription: Subscription,
    *,
    skip: bool,
) -> None:
    """Print batches until there are enough records, and note the new positions."""
    for fetched in batches:
        if printer.has_enough:
            return
        try:
            offset = printer.print(fetched)
        except ClientError as error:
            if not skip:
                raise
            print(f"broker-lite: skipped: {error}", file=sys.stderr)
            offset = fetched.batch.next_offset
        subscription.consumed((fetched.topic, fetched.partition), offset)


def _subscription(
    client: Client, config: ConsumerConfig, options: argparse.Namespace
) -> Subscription:
    if options.partition is not None:
        return OnePartition((options.topic, options.partition), _start(options))
    if options.topic is not None:
        choose = one_topic(client, options.topic, create=config.create_topics)
    else:
        choose = matching_topics(client, re.compile(options.include))
    if config.group is None:
        return AllPartitions(choose)
    # imported only if needed, for a faster start
    from broker_lite.client.consuming.joining import make_member

    return GroupPartitions(choose, make_member(client, config.group, config))


def _check(options: argparse.Namespace) -> None:
    """Raise for flags that contradict each other, with the texts of Kafka's tool."""
    if (options.topic is None) == (options.include is None):
        raise SettingsError(
            "Exactly one of the following arguments is required: --topic, --include"
        )
    if options.partition is None:
        if options.offset is not None:
            raise SettingsError("The partition is required when offset is specified.")
    elif options.topic is None:
        raise SettingsError("The topic is required when partition is specified.")
    if options.from_beginning and options.offset is not None:
        raise SettingsError("Options from-beginning and offset cannot be specified together.")
    _start(options)
    try:
        re.compile(options.include or "")
    except re.error as error:
        raise SettingsError(f"--include {options.include}: {error}") from error


def _with_flags(properties: Mapping[str, str], options: argparse.Namespace) -> dict[str, str]:
    """Return the properties with the flags added."""
    found = dict(properties)
    group = options.group or found.get("group.id")
    if group is not None:
        if found.setdefault("group.id", group) != group:
            raise SettingsError(
                "The group ids provided in different places do not match:"
                f" '{group}', '{found['group.id']}'"
            )
        if options.partition is not None:
            raise SettingsError("Options group and partition cannot be specified together.")
    if options.isolation_level is not None:
        found["isolation.level"] = options.isolation_level
    if (options.offset or "").lower() in _WORDS:
        found["auto.offset.reset"] = options.offset.lower()
    if options.from_beginning:
        reset = found.setdefault("auto.offset.reset", "earliest")
        if reset != "earliest":
            raise SettingsError(
                "Can't simultaneously specify --from-beginning and"
                f" 'auto.offset.reset={reset}', please remove one option"
            )
    return found


def _start(options: argparse.Namespace) -> int | None:
    """Return the offset to begin with; None means as auto.offset.reset says.

    Raises:
        SettingsError: the text is not an offset.
    """
    text = (options.offset or "latest").lower()
    if text in _WORDS:
        return None
    if not (text.isascii() and text.isdigit() and len(text) <= _OFFSET_DIGITS_MAX):
        raise SettingsError(
            f"The provided offset value '{options.offset}' is incorrect. Valid values are"
            " 'earliest', 'latest', or a non-negative long."
        )
    return int(text)
