"""Names, order and types of the connector's columns; some of them."""

from pathlib import Path

import pytest

from broker_lite.pipeline.views.record_schema import record_schema
from tests.pipeline.reading import arrow
from tests.pipeline.support import NewRecord, Partition, whole_split


def test_the_schema_is_the_connectors() -> None:
    assert str(record_schema(include_headers=True)) == "\n".join(
        (
            "key: binary",
            "value: binary",
            "topic: string",
            "partition: int32",
            "offset: int64",
            "timestamp: timestamp[us, tz=UTC]",
            "timestampType: int32",
            "headers: list<element: struct<key: string, value: binary>>",
            "  child 0, element: struct<key: string, value: binary>",
            "      child 0, key: string",
            "      child 1, value: binary",
        )
    )
    assert record_schema().names == record_schema(include_headers=True).names[:-1]


@pytest.mark.parametrize(
    "columns", [("offset",), ("value", "offset"), ("headers",), ("timestampType", "topic", "key")]
)
def test_only_some_columns(tmp_path: Path, columns: tuple[str, ...]) -> None:
    with Partition(tmp_path) as partition:
        partition.append([NewRecord(b"k", b"v", ((b"h", b"x"),)), NewRecord()])
    (found,) = arrow(whole_split(tmp_path), columns=",".join(columns))
    assert found.schema == record_schema(columns=columns)
    (everything,) = arrow(whole_split(tmp_path))
    assert found == everything.select(columns)


def test_a_column_that_there_is_not() -> None:
    with pytest.raises(ValueError, match="columns: there is no size, only key, value, topic"):
        record_schema(columns=["offset", "size"])


def test_the_batch_of_a_record_is_there_only_when_it_is_named() -> None:
    assert "batchOffset" not in record_schema(include_headers=True).names
    assert record_schema(columns=["batchoffset", "key"]).names == ["batchOffset", "key"]
