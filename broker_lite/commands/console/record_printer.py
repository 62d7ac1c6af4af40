"""Prints fetched batches: whole batches if only values are wanted, else record by record."""

from itertools import islice
from typing import BinaryIO

from broker_lite.client.consuming.fetcher import FetchedBatch
from broker_lite.commands.console.formatters import Formatter
from broker_lite.commands.console.record_format import RecordFormatter
from broker_lite.errors import BrokerError, ClientError
from broker_lite.record.records import iterate_records, keys_and_values


class RecordPrinter:
    """Prints records until there are enough.

    Attributes:
        printed: how many records were printed.
    """

    def __init__(self, formatter: Formatter, output: BinaryIO, *, records_max: int | None) -> None:
        """Connect a formatter with an output.

        Args:
        formatter: formats the records.
        output: flushed after each batch.
        records_max: the most records to print; None for no limit.
        """
        self.printed = 0
        self._formatter = formatter
        self._output = output
        self._records_max = records_max

    @property
    def has_enough(self) -> bool:
        """Whether the limit is reached."""
        return self._records_max is not None and self.printed >= self._records_max

    def print(self, fetched: FetchedBatch) -> int:
        """Print the records of a batch.

        Returns:
            The offset after the last printed record.

        Raises:
            ClientError: the batch cannot be read; nothing of it was printed.
            OSError: the output cannot be written.
        """
        room = None if self._records_max is None else self._records_max - self.printed
        try:
            text, count, offset = self._text(fetched, room)
        except (BrokerError, ClientError) as error:
            raise ClientError(
                f"partition {fetched.topic}-{fetched.partition} at offset"
                f" {fetched.batch.base_offset}: the records cannot be read: {error}"
            ) from error
        self._output.write(text)
        self._output.flush()
        self.printed += count
        return offset

    def _text(self, fetched: FetchedBatch, room: int | None) -> tuple[bytes, int, int]:
        """Return the printed bytes, the number of records, and the offset after them."""
        batch = fetched.batch
        is_whole = batch.record_count == batch.next_offset - batch.base_offset
        formatter = self._formatter
        is_wanted = is_whole and batch.base_offset >= fetched.position
        if is_wanted and isinstance(formatter, RecordFormatter) and formatter.plain:
            values = [value for _, value in islice(keys_and_values(batch), room)]
            return formatter.values(values), len(values), batch.base_offset + len(values)
        wanted = (each for each in iterate_records(batch) if each.offset >= fetched.position)
        records = tuple(islice(wanted, room))
        text = b"".join(formatter.record(record, fetched.partition, batch) for record in records)
        offset = batch.next_offset
        if len(records) == room:
            offset = records[-1].offset + 1
        return text, len(records), offset
