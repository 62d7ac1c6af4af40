"""Sums up the sizes of a split's batches with and without compression, by codec."""

from broker_lite.pipeline.files.file_io import FileIO
from broker_lite.pipeline.read.batches import read_batches
from broker_lite.pipeline.read.corruption import log_corruption
from broker_lite.pipeline.read.measured import PLAIN_BYTES_MAX
from broker_lite.pipeline.read.split import Split
from broker_lite.pipeline.report.data import CodecFacts
from broker_lite.record.batch import RECORD_BATCH_OVERHEAD, RecordBatch
from broker_lite.record.codecs.compression import Codec
from broker_lite.record.codecs.decompressed import Bounds
from broker_lite.record.records import read_content


def plain_sizes(io: FileIO, split: Split) -> list[CodecFacts]:
    """Decompress the batches of a split and sum up their sizes.

    Damaged batches, unknown codecs and messages of magic 0 and 1 are skipped.

    Raises:
        OSError: a file cannot be read.
    """
    sums: dict[int, list[int]] = {}
    for found in read_batches(io, split, check_crc=True, on_corrupt=log_corruption):
        batch = found.batch
        if not isinstance(batch, RecordBatch) or batch.is_control or batch.codec not in _NAMES:
            continue
        plain_bytes = batch.size_bytes
        if batch.is_compressed:
            data, failed, is_too_large = read_content(batch, bounds=Bounds(PLAIN_BYTES_MAX))
            if failed or is_too_large:
                continue
            plain_bytes = RECORD_BATCH_OVERHEAD + len(data)
        total = sums.setdefault(batch.codec, [0, 0, 0, 0])
        for index, value in enumerate((1, batch.record_count, batch.size_bytes, plain_bytes)):
            total[index] += value
    return [CodecFacts(split.topic, _NAMES[codec], *total) for codec, total in sums.items()]


_NAMES = {int(codec): codec.name.lower() for codec in Codec}
