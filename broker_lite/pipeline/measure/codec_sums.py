"""Sums up the sizes of batches with and without compression, by codec."""

from typing import Final

import pyarrow as pa

from broker_lite.pipeline.read.measured import Measured
from broker_lite.pipeline.report.data import CodecFacts
from broker_lite.record.batch import RECORD_BATCH_OVERHEAD, RecordBatch
from broker_lite.record.codecs.compression import Codec
from broker_lite.record.legacy.messages import LegacyMessage

_NAMES: Final = {int(codec): codec.name.lower() for codec in Codec}


class CodecSums:
    """The batches of a topic so far.

    Args:
        topic: that they are in.
    """

    def __init__(self, topic: str) -> None:
        self._topic = topic
        self._sums: dict[int, list[int]] = {}

    def add(self, batch: RecordBatch | LegacyMessage, measured: Measured) -> None:
        """Add a batch with its plain records; messages of magic 0 and 1 do not count."""
        if isinstance(batch, LegacyMessage):
            return
        plain_bytes = RECORD_BATCH_OVERHEAD + measured.end - measured.start
        total = self._sums.setdefault(batch.codec, [0, 0, 0, 0])
        for index, value in enumerate((1, batch.record_count, batch.size_bytes, plain_bytes)):
            total[index] += value

    @property
    def facts(self) -> list[CodecFacts]:
        """The sums of each codec."""
        return [
            CodecFacts(self._topic, _NAMES[codec], *total) for codec, total in self._sums.items()
        ]

    def table(self) -> pa.Table:
        """Make a table of the sums, with the columns of CodecFacts; there has to be a batch."""
        return pa.Table.from_pylist([one._asdict() for one in self.facts])
