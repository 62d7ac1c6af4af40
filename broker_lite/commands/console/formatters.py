"""The formatters of Kafka's console consumer, by class name."""

import json
from collections.abc import Callable, Mapping
from struct import Struct
from struct import error as StructError
from typing import Final, Protocol

from broker_lite.commands.console.record_format import RecordFormatter
from broker_lite.commands.shared.internal_records import coordinator_types
from broker_lite.commands.shared.message_json import message_json
from broker_lite.errors import ClientError, SettingsError
from broker_lite.record.batch import RecordBatch
from broker_lite.record.records import Record
from broker_lite.wire import DecodeError

PACKAGE: Final = "org.apache.kafka.tools.consumer"
DEFAULT_FORMATTER: Final = f"{PACKAGE}.DefaultMessageFormatter"

_INT16: Final = Struct(">h")


class Formatter(Protocol):
    """Formats records for printing."""

    def record(self, record: Record, partition: int, batch: RecordBatch) -> bytes:
        """Return the printed bytes, line end included; may be empty."""


class NothingFormatter:
    """Prints nothing; records are only counted."""

    def record(self, record: Record, partition: int, batch: RecordBatch) -> bytes:
        """Return nothing."""
        return b""


class CoordinatorFormatter:
    """Prints records of a coordinator's topic as JSON, without line ends in between.

    Records of other types, and those without a key, are left out.

    Source: CoordinatorRecordMessageFormatter.
    """

    def __init__(self, file: str, types: frozenset[int]) -> None:
        """Choose the records to print.

        Args:
        file: of the message schemas.
        types: the record types to print.
        """
        self._types = types
        self._keys = coordinator_types(file, "coordinator-key")
        self._values = coordinator_types(file, "coordinator-value")

    def record(self, record: Record, partition: int, batch: RecordBatch) -> bytes:
        """Return the record as JSON.

        Raises:
        ClientError: the record cannot be read.
        """
        if record.key is None:
            return b""
        try:
            return self._json(record.key, record.value)
        except (DecodeError, StructError) as error:
            reason = f"Could not read record at offset {record.offset} due to: {error}"
            raise ClientError(reason) from error

    def _json(self, key: bytes, value: bytes | None) -> bytes:
        record_type = _INT16.unpack_from(key)[0]
        if record_type not in self._types:
            return b""
        key_type, value_type = self._keys[record_type], self._values[record_type]
        key_message, _ = key_type.decode(key, 0, _INT16.size)
        printed: dict[str, object] = {
            "key": {"type": record_type, "data": message_json(key_type, key_message, 0)},
            "value": None,
        }
        if value is not None:
            version = _INT16.unpack_from(value)[0]
            message, _ = value_type.decode(value, version, _INT16.size)
            data = message_json(value_type, message, version)
            printed["value"] = {"version": version, "data": data}
        return json.dumps(printed, separators=(",", ":"), ensure_ascii=False).encode()


_FORMATTERS: Final[Mapping[str, Callable[[Mapping[str, str]], Formatter]]] = {
    "DefaultMessageFormatter": RecordFormatter,
    "GroupMetadataMessageFormatter": lambda _properties: CoordinatorFormatter(
        "group-coordinator", frozenset({2})
    ),
    "NoOpMessageFormatter": lambda _properties: NothingFormatter(),
    "OffsetsMessageFormatter": lambda _properties: CoordinatorFormatter(
        "group-coordinator", frozenset({0, 1})
    ),
    "TransactionLogMessageFormatter": lambda _properties: CoordinatorFormatter(
        "transaction-coordinator", frozenset({0})
    ),
}


def formatter_of(name: str, properties: Mapping[str, str]) -> Formatter:
    """Make the formatter of a class.

    Args:
        name: of the class, with any package.
        properties: those of `--formatter-property`.

    Raises:
        SettingsError: the formatter is unknown (as are names from before Kafka 4), or a property is
            wrong.
    """
    make = _FORMATTERS.get(name.rpartition(".")[2])
    if make is None:
        known = ", ".join(_FORMATTERS)
        raise SettingsError(f"--formatter {name}: must be one of {known} of {PACKAGE}")
    return make(properties)
