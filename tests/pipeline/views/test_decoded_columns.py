import json
from pathlib import Path

import pyarrow as pa
import pytest

from broker_lite.pipeline.files.file_io import LocalFileIO
from broker_lite.pipeline.read.option_values import OptionError
from broker_lite.pipeline.read.options import ReadOptions
from broker_lite.pipeline.registry.wanted import NoResultSchema
from broker_lite.pipeline.stream.planned import plan_settled, read_planned
from broker_lite.pipeline.views.decoded_columns import with_schemas
from broker_lite.pipeline.views.table import view_schema
from tests.pipeline.registry.avro_messages import encoded, field, record
from tests.pipeline.support import NewRecord, Partition

IO = LocalFileIO()
SCHEMA = record(field("n", "int"))
VALUES = [encoded(SCHEMA, {"n": 1}, 7), None, b"junk", encoded(SCHEMA, {"n": 2}, 8)]
STRUCT = pa.struct([("n", pa.int32())])


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "schemas"
    folder.mkdir()
    for name in ("7", "topic-value"):
        (folder / f"{name}.avsc").write_text(json.dumps(SCHEMA))
    (folder / "topic-key.avsc").write_text('"string"')
    with Partition(tmp_path) as partition:
        partition.append([NewRecord(encoded("string", "k", 9), value) for value in VALUES])
    (folder / "9.avsc").write_text('"string"')
    return folder


def options(folder: Path, **more: str) -> ReadOptions:
    given = {"subscribe": "topic", "value.format": "avro", "schema.registry": str(folder)}
    given |= {name.replace("_", "."): value for name, value in more.items()}
    return with_schemas(ReadOptions.parse({"path": str(folder.parent), **given}))


def table(chosen: ReadOptions) -> pa.Table:
    splits = plan_settled(IO, chosen.path, chosen)
    batches = [batch for split in splits for batch in read_planned(IO, split, chosen)]
    return pa.Table.from_batches(batches, view_schema(chosen))


def test_a_row_for_every_record(folder: Path) -> None:
    found = table(options(folder))
    assert found.schema.field("value").type == STRUCT
    assert found.schema.names[-1] == "valueError"
    assert found["offset"].to_pylist() == [0, 1, 2, 3]
    assert found["value"].to_pylist() == [{"n": 1}, None, None, None]
    unread = f"schema 8: {folder} has no 8.avsc or 8.proto"
    errors = [None, None, "the message has 4 bytes, too few for a schema id", unread]
    assert found["valueError"].to_pylist() == errors
    assert found["key"][0].as_py() == encoded("string", "k", 9)


def test_keys_too(folder: Path) -> None:
    found = table(options(folder, key_format="avro", includeHeaders="true"))
    assert found.schema.names[-3:] == ["headers", "keyError", "valueError"]
    assert found["key"].to_pylist() == ["k"] * 4
    assert found["keyError"].null_count == 4


@pytest.mark.parametrize(
    ("columns", "names"),
    [
        ("valueerror,offset", ["valueError", "offset"]),
        ("VALUE,batchOffset", ["value", "batchOffset"]),
        ("offset", ["offset"]),
        ("headers,key", ["headers", "key"]),
    ],
)
def test_some_columns(folder: Path, columns: str, names: list[str]) -> None:
    found = table(options(folder, columns=columns))
    assert found.schema.names == names
    assert found.num_rows == 4


def test_no_such_column(folder: Path) -> None:
    with pytest.raises(ValueError, match="there is no keyError"):
        view_schema(options(folder, columns="keyError"))


def test_the_schema_travels_with_the_options(folder: Path) -> None:
    chosen = options(folder)
    (folder / "topic-value.avsc").unlink()
    assert with_schemas(chosen) == chosen
    assert table(chosen)["value"][0].as_py() == {"n": 1}


def test_without_a_schema_of_the_result_there_is_no_query(folder: Path) -> None:
    with pytest.raises(NoResultSchema, match=r"the latest schema of the subject none: .* has no"):
        options(folder, value_subject="none")
    with pytest.raises(OptionError, match="only records have keys and values"):
        options(folder, view="batches")
