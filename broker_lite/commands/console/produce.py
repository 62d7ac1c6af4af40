"""`broker-lite produce`: send lines of standard input as records of a topic.

Flags are those of kafka-console-producer.sh. The differences:

- a batch that is not full is sent 5 ms after input pauses, not after a second;
- if records cannot be delivered, the others are sent and the exit code is 1;
- `headers.separator` is text, not a regular expression.
"""

import argparse
import sys
import time
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Final

from broker_lite.client.producing.producer import Producer
from broker_lite.client.producing.producer_config import ProducerConfig
from broker_lite.commands.console.line_input import LineInput
from broker_lite.commands.console.line_records import LineParser
from broker_lite.commands.shared.connecting import add_connection, connect
from broker_lite.commands.shared.flags import add_alias, add_repeatable, properties_of
from broker_lite.commands.shared.stop_signals import StopSignals
from broker_lite.errors import ClientError

_STANDARD_INPUT: Final = 0
_CODEC_WITHOUT_NAME: Final = "gzip"
_FLAGS: Final[Mapping[str, tuple[str, str]]] = {
    "compression-codec": (
        "compression.type",
        "none, gzip, snappy, lz4 or zstd; without a value gzip",
    ),
    "batch-size": ("batch.size", "bytes of a batch [16384]"),
    "max-partition-memory-bytes": ("batch.size", "another name of --batch-size"),
    "request-required-acks": ("acks", "all, 1 or 0 [all]"),
    "request-timeout-ms": ("request.timeout.ms", "how long to wait for a response, in ms [30000]"),
    "timeout": ("linger.ms", "how long a batch may wait for more records, in ms [5]"),
    "max-block-ms": ("max.block.ms", "how long to wait for the topic, in ms [60000]"),
    "message-send-max-retries": ("retries", "how often to send a batch again [3]"),
    "retry-backoff-ms": ("retry.backoff.ms", "the pause before sending again, in ms [100]"),
}
"""Flags that set a property of the producer."""

_WITHOUT_MEANING: Final = ("max-memory-bytes", "metadata-expiry-ms", "socket-buffer-size")
_RETRIES_DEFAULT: Final = "3"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the flags of the command."""
    parser.add_argument("--topic", required=True, help="the topic of the records")
    add_repeatable(
        parser,
        "--reader-property",
        "--property",
        dest="reader_property",
        text="how a line is read: parse.key, key.separator, parse.headers, headers.delimiter,"
        " headers.separator, headers.key.separator, null.marker, ignore.error",
    )
    parser.add_argument("--reader-config", type=Path, metavar="FILE", help="the same in a file")
    add_repeatable(
        parser,
        "--command-property",
        "--producer-property",
        dest="command_property",
        text="a property of Kafka's producer: acks, compression.type, linger.ms, batch.size ...",
    )
    add_connection(parser)
    add_alias(parser, "--broker-list", dest="bootstrap_server", metavar="HOST:PORT")
    add_alias(parser, "--producer.config", dest="command_config", metavar="FILE", kind=Path)
    parser.add_argument("--sync", action="store_true", help="send each record in its own request")
    for flag, (name, text) in _FLAGS.items():
        optional: dict[str, Any] = {}
        if flag == "compression-codec":
            optional = {"nargs": "?", "const": _CODEC_WITHOUT_NAME}
        metavar = name.rpartition(".")[2].upper()
        parser.add_argument(f"--{flag}", metavar=metavar, help=text, **optional)
    for flag in _WITHOUT_MEANING:
        parser.add_argument(f"--{flag}", metavar="NUMBER", help="accepted and ignored")


def run(options: argparse.Namespace) -> int:
    """Send every line; report records that could not be delivered."""
    parser = LineParser(properties_of(options.reader_property, options.reader_config))
    properties = properties_of(options.command_property, options.command_config)
    given = {
        name: value
        for flag, (name, _) in _FLAGS.items()
        if (value := getattr(options, flag.replace("-", "_"))) is not None
    }
    config = ProducerConfig.read({"retries": _RETRIES_DEFAULT, **properties, **given})
    with connect(options, {**properties, "client.id": config.client_id}) as client:
        producer = Producer(client, options.topic, config, on_failure=_tell)
        with StopSignals() as signals:
            try:
                sender = _Sender(parser, producer, config.linger_s, sync=options.sync)
                sender.lines(LineInput(_STANDARD_INPUT), signals)
            finally:
                _end(producer)
    return 1 if producer.failed_records else 0


class _Sender:
    """Sends lines as they arrive, and an incomplete batch when input pauses."""

    def __init__(
        self, parser: LineParser, producer: Producer, linger_s: float, *, sync: bool
    ) -> None:
        self._parser = parser
        self._producer = producer
        self._linger_s = linger_s
        self._sync = sync
        self._line_number = 0
        self._flush_at_s = 0.0

    def lines(self, lines: LineInput, signals: StopSignals) -> None:
        """Send all lines; a signal takes effect while it waits for a line."""
        prompt = ">" if sys.stdin.isatty() and sys.stdout.isatty() else ""
        while not lines.ended:
            if prompt:
                print(prompt, end="", flush=True)
            was_pending = self._producer.pending
            wait_s = max(0.0, self._flush_at_s - time.monotonic()) if was_pending else None
            with signals.welcome():
                got = lines.read(wait_s)
            self._append(got or ())
            if not was_pending:
                self._flush_at_s = time.monotonic() + self._linger_s
            if got is None or time.monotonic() >= self._flush_at_s:
                self._producer.flush()

    def _append(self, lines: Iterable[bytes]) -> None:
        for line in lines:
            self._line_number += 1
            self._producer.append(*self._parser.parse(line, self._line_number))
            if self._sync:
                self._producer.flush()


def _end(producer: Producer) -> None:
    """Send the records that were read so far; report those whose fate is unknown."""
    try:
        producer.flush()
    finally:
        if producer.open_records:
            text = f"records that may or may not be delivered: {producer.open_records}"
            print(f"broker-lite: {text}", file=sys.stderr)


def _tell(record_count: int, error: ClientError) -> None:
    print(f"broker-lite: records not delivered: {record_count}: {error}", file=sys.stderr)
