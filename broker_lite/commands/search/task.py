"""What is searched, and the search of one split, by whichever process."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from broker_lite.commands.console.formatters import formatter_of
from broker_lite.pipeline.files.counted_files import CountedFileIO
from broker_lite.pipeline.files.open_file_io import open_file_io
from broker_lite.pipeline.matching.conditions import Conditions
from broker_lite.pipeline.matching.found_records import RecordFinder
from broker_lite.pipeline.read.corruption import Corruption, raise_corruption
from broker_lite.pipeline.read.options import OnCorrupt, ReadOptions
from broker_lite.pipeline.read.split import Split

_TEXT_BYTES_MAX: Final = 1 << 20


class Found(NamedTuple):
    """A part of the result of a split, in order.

    Attributes:
        texts: printed records.
        read_bytes: how much was read since the last part.
        damage: a line about bytes that were left out; empty without any.
    """

    texts: Sequence[bytes] = ()
    read_bytes: int = 0
    damage: str = ""


class SearchTask(NamedTuple):
    """A search; it can be pickled.

    Attributes:
        options: of the read.
        conditions: for the records.
        formatter: the name of its class.
        properties: of the formatter.
        records_max: the most records that are wanted; None for all.
    """

    options: ReadOptions
    conditions: Conditions
    formatter: str
    properties: Mapping[str, str]
    records_max: int | None

    def search(self, split: Split) -> Iterator[Found]:
        """Search a split; memory holds a batch, and a megabyte of what was found.

        Raises:
            CorruptLog: something is damaged, with onCorrupt=fail.
            ClientError: a deserializer refuses a found record.
            FileNotFoundError: a segment vanished, with failOnDataLoss=true.
            OSError: a file cannot be read.
        """
        io, _ = open_file_io(self.options.path)
        counted = CountedFileIO(io)
        formatter = formatter_of(self.formatter, self.properties)
        damage: list[str] = []

        def on_corrupt(corruption: Corruption) -> None:
            if self.options.on_corrupt is OnCorrupt.FAIL:
                raise_corruption(corruption)
            damage.append(corruption.line)

        finder = RecordFinder(counted, split, self.options, self.conditions, on_corrupt)
        texts: list[bytes] = []
        left = self.records_max
        size_bytes = told_bytes = 0
        for batch, records in finder.find():
            while damage:
                yield Found(damage=damage.pop(0))
            for record in records[:left]:
                texts.append(formatter.record(record, split.partition, batch))
                size_bytes += len(texts[-1])
            if left is not None:
                left -= len(records[:left])
            if size_bytes >= _TEXT_BYTES_MAX or left == 0:
                yield Found(texts, counted.counted_bytes - told_bytes)
                texts, size_bytes, told_bytes = [], 0, counted.counted_bytes
            if left == 0:
                return
        yield Found(texts, counted.counted_bytes - told_bytes)
        for line in damage:
            yield Found(damage=line)
