import io

import pytest

from broker_lite.client.consuming.fetcher import FetchedBatch
from broker_lite.commands.console.record_format import RecordFormatter
from broker_lite.commands.console.record_printer import RecordPrinter
from broker_lite.errors import ClientError
from broker_lite.record.batch import RecordBatch
from broker_lite.record.builder import BatchBuilder
from broker_lite.record.codecs.compression import Codec

FORMS = ({}, {"print.offset": "true"})


def fetched(*offsets: int, position: int = 0, codec: int = 0) -> FetchedBatch:
    """A batch with records at offsets; their values are the offsets."""
    builder = BatchBuilder(base_offset=offsets[0], codec=codec)
    for offset in offsets:
        builder.append(1, None, b"%d" % offset, offset=offset)
    data = memoryview(bytearray(builder.build()))
    return FetchedBatch("t", 0, position, RecordBatch(data, 0, len(data)))


def printer(properties: dict[str, str], records_max: int | None = None) -> RecordPrinter:
    return RecordPrinter(RecordFormatter(properties), io.BytesIO(), records_max=records_max)


@pytest.mark.parametrize("properties", FORMS)
def test_whole_batches(properties: dict[str, str]) -> None:
    output = io.BytesIO()
    found = RecordPrinter(RecordFormatter(properties), output, records_max=None)
    assert found.print(fetched(5, 6, 7)) == 8
    assert found.printed == 3
    assert not found.has_enough
    lines = output.getvalue().splitlines()
    assert [line.rpartition(b"\t")[2] for line in lines] == [b"5", b"6", b"7"]


@pytest.mark.parametrize("properties", FORMS)
def test_enough_in_the_middle(properties: dict[str, str]) -> None:
    found = printer(properties, records_max=4)
    assert found.print(fetched(0, 1, 2)) == 3
    assert found.print(fetched(3, 4, 5)) == 4
    assert found.has_enough
    assert found.printed == 4


@pytest.mark.parametrize("properties", FORMS)
def test_records_before_the_position_and_gaps(properties: dict[str, str]) -> None:
    found = printer(properties)
    assert found.print(fetched(0, 1, 4, position=1)) == 5
    assert found.printed == 2


def test_what_cannot_be_read() -> None:
    batch = fetched(0, 1, codec=Codec.GZIP)
    batch.batch.records_data[:] = bytes(len(batch.batch.records_data))
    with pytest.raises(ClientError, match="partition t-0 at offset 0: the records cannot be read"):
        printer({}).print(batch)
