"""The flags of kafka-console-consumer.sh that say how records are printed."""

import argparse
from pathlib import Path

from broker_lite.commands.console.formatters import (
    DEFAULT_FORMATTER,
    PACKAGE,
    Formatter,
    formatter_of,
)
from broker_lite.commands.shared.flags import add_repeatable, properties_of


def add_formatter(parser: argparse.ArgumentParser) -> None:
    """Add the flags for chosen_formatter()."""
    add_repeatable(
        parser,
        "--formatter-property",
        "--property",
        dest="formatter_property",
        text="what is printed: print.timestamp, print.partition, print.offset, print.headers,"
        " print.key, print.value, key.separator, line.separator, headers.separator, null.literal",
    )
    parser.add_argument("--formatter-config", type=Path, metavar="FILE", help="the same in a file")
    for what in ("key", "value"):
        parser.add_argument(
            f"--{what}-deserializer",
            metavar="CLASS",
            help=f"as --formatter-property {what}.deserializer: StringDeserializer,"
            " ShortDeserializer, IntegerDeserializer or LongDeserializer",
        )
    parser.add_argument(
        "--formatter",
        metavar="CLASS",
        default=DEFAULT_FORMATTER,
        help=f"of {PACKAGE}: OffsetsMessageFormatter, GroupMetadataMessageFormatter,"
        " TransactionLogMessageFormatter, NoOpMessageFormatter or [DefaultMessageFormatter]",
    )


def chosen_formatter(options: argparse.Namespace) -> Formatter:
    """Make the formatter that the flags choose.

    Raises:
        SettingsError: it is unknown, or a property or a file is wrong.
    """
    return formatter_of(options.formatter, formatter_properties(options))


def formatter_properties(options: argparse.Namespace) -> dict[str, str]:
    """Return the properties of the formatter, from the flags and their file.

    Raises:
        SettingsError: the file cannot be read.
    """
    found = properties_of(options.formatter_property, options.formatter_config)
    for name, text in (
        ("key.deserializer", options.key_deserializer),
        ("value.deserializer", options.value_deserializer),
    ):
        if text is not None:
            found[name] = text
    return found
