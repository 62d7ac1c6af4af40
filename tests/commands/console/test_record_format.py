"""What is printed is what Kafka's DefaultMessageFormatter prints."""

import pytest

from broker_lite.commands.console.record_format import RecordFormatter
from broker_lite.record.batch import RecordBatch
from broker_lite.record.builder import BatchBuilder
from broker_lite.record.records import iterate_records

ALL = {
    f"print.{column}": "true"
    for column in ("timestamp", "partition", "offset", "epoch", "headers", "key")
}


def printed(properties: dict[str, str], *, log_append_time_ms: int | None = None) -> bytes:
    builder = BatchBuilder(base_offset=5, log_append_time_ms=log_append_time_ms)
    builder.append(17, b"k", b"v", [(b"h", b"1"), (b"i", None)])
    builder.append(-1, None, None)
    data = memoryview(builder.build())
    batch = RecordBatch(data, 0, len(data))
    formatter = RecordFormatter(properties)
    return b"".join(formatter.record(each, 3, batch) for each in iterate_records(batch))


def test_values() -> None:
    assert printed({}) == b"v\nnull\n"
    assert RecordFormatter({}).plain
    assert RecordFormatter({}).values([b"v", None]) == b"v\nnull\n"
    assert RecordFormatter({}).values([]) == b""


def test_every_column() -> None:
    assert printed(ALL) == (
        b"CreateTime:17\tPartition:3\tOffset:5\tEpoch:NOT_PRESENT\th:1,i:null\tk\tv\n"
        b"CreateTime:-1\tPartition:3\tOffset:6\tEpoch:NOT_PRESENT\tNO_HEADERS\tnull\tnull\n"
    )


def test_time_of_the_broker() -> None:
    assert printed({"print.timestamp": " True "}, log_append_time_ms=99) == (
        b"LogAppendTime:99\tv\nLogAppendTime:99\tnull\n"
    )


@pytest.mark.parametrize(
    ("properties", "text"),
    [
        ({"print.value": "false", "print.key": "true"}, b"k\nnull\n"),
        ({"print.value": "no"}, b""),
        ({"print.key": "true", "key.separator": "::", "line.separator": "$"}, b"k::v$null::null$"),
        ({"print.headers": "true", "headers.separator": ";"}, b"h:1;i:null\tv\nNO_HEADERS\tnull\n"),
        ({"null.literal": "<nil>"}, b"v\n<nil>\n"),
    ],
)
def test_properties(properties: dict[str, str], text: bytes) -> None:
    assert printed(properties) == text
