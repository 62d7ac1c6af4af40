"""What the files of a metadata log hold."""

from pathlib import Path

from broker_lite.record.batch import RecordBatch
from tests.log.logs import batches_of


def stored(path: Path) -> list[RecordBatch]:
    """The batches of a file."""
    return [RecordBatch(memoryview(data), 0, len(data)) for data in batches_of(path.read_bytes())]
