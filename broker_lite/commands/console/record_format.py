"""Formats records byte for byte as Kafka's default formatter does.

Source: org.apache.kafka.tools.consumer.DefaultMessageFormatter.
"""

from collections.abc import Iterable, Mapping
from typing import Final

from broker_lite.commands.console.deserializers import Deserializer, deserializer_of
from broker_lite.commands.shared.flags import is_true
from broker_lite.record.batch import RecordBatch
from broker_lite.record.records import Record

_COLUMNS: Final = ("timestamp", "partition", "offset", "epoch", "headers", "key", "value")
"""In the order of printing."""


class RecordFormatter:
    """Formats the columns that the properties select.

    Attributes:
        plain: whether only values are printed.
        line_separator: ends each record.
    """

    def __init__(self, properties: Mapping[str, str]) -> None:
        """Read the properties, those of `--formatter-property`.

        Raises:
            SettingsError: a deserializer is not supported.
        """
        self._columns = [
            column
            for column in _COLUMNS
            if is_true({"print.value": "true", **properties}, f"print.{column}")
        ]
        self.line_separator = properties.get("line.separator", "\n").encode()
        self._key_separator = properties.get("key.separator", "\t").encode()
        self._headers_separator = properties.get("headers.separator", ",").encode()
        self._null = properties.get("null.literal", "null").encode()
        self._header_text = deserializer_of(properties, "headers.deserializer")
        self._key_text = deserializer_of(properties, "key.deserializer")
        self._value_text = deserializer_of(properties, "value.deserializer")
        self.plain = self._columns == ["value"] and self._value_text is None

    def values(self, values: Iterable[bytes | None]) -> bytes:
        """Format records of which only the values are printed."""
        null = self._null
        texts = [null if value is None else value for value in values]
        texts.append(b"")
        return self.line_separator.join(texts)

    def record(self, record: Record, partition: int, batch: RecordBatch) -> bytes:
        """Format a record with its line end; empty if no column is selected.

        Raises:
            ClientError: a deserializer refuses the bytes.
        """
        texts = [self._column(column, record, partition, batch) for column in self._columns]
        return self._key_separator.join(texts) + self.line_separator if texts else b""

    def _column(self, column: str, record: Record, partition: int, batch: RecordBatch) -> bytes:
        match column:
            case "timestamp":
                return _timestamp(record, batch)
            case "partition":
                return b"Partition:%d" % partition
            case "offset":
                return b"Offset:%d" % record.offset
            case "epoch":
                return b"Epoch:NOT_PRESENT"  # as Kafka's consumer, which never passes it on
            case "headers":
                return self._headers(record) or b"NO_HEADERS"
            case "key":
                return self._or_null(record.key, self._key_text)
            case _:
                return self._or_null(record.value, self._value_text)

    def _headers(self, record: Record) -> bytes:
        pairs = [
            key + b":" + self._or_null(value, self._header_text) for key, value in record.headers
        ]
        return self._headers_separator.join(pairs)

    def _or_null(self, data: bytes | None, deserializer: Deserializer | None) -> bytes:
        if data is None:
            return self._null
        return data if deserializer is None else deserializer(data)


def _timestamp(record: Record, batch: RecordBatch) -> bytes:
    kind = b"LogAppendTime" if batch.is_log_append_time else b"CreateTime"
    return kind + b":%d" % record.timestamp
