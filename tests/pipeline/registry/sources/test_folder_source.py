import json
from pathlib import Path

import pytest

from broker_lite.pipeline.registry.errors import RegistryDown, UnknownSchema, UnusableSchema
from broker_lite.pipeline.registry.settings import Format, StoredSchema
from broker_lite.pipeline.registry.sources import folder_source
from broker_lite.pipeline.registry.sources.folder_source import FolderSource
from tests.pipeline.registry.avro_messages import field, record


def test_schemas_by_id_and_by_subject(tmp_path: Path) -> None:
    (tmp_path / "7.avsc").write_text('"long"')
    (tmp_path / "8.proto").write_text('syntax = "proto3";')
    (tmp_path / "orders-value.avsc").write_text('"int"')
    for folder in (str(tmp_path), f"file://{tmp_path}"):
        source = FolderSource(folder)
        assert source.by_id(7) == StoredSchema(Format.AVRO, '"long"')
        assert source.by_id(8) == StoredSchema(Format.PROTOBUF, 'syntax = "proto3";')
        assert source.latest("orders-value") == StoredSchema(Format.AVRO, '"int"')
        with pytest.raises(UnknownSchema, match=r"has no 9\.avsc or 9\.proto$"):
            source.by_id(9)


def test_types_of_other_files(tmp_path: Path) -> None:
    last = json.dumps(record(field("n", "int"), name="a.Last"))
    middle = json.dumps(record(field("last", "Last"), name="a.Middle"))
    first = json.dumps(record(field("one", "Last"), field("two", "Middle"), name="a.First"))
    (tmp_path / "7.avsc").write_text(first)
    (tmp_path / "a.Middle.avsc").write_text(middle)
    (tmp_path / "a.Last.avsc").write_text(last)
    expected = (("a.Last", last), ("a.Middle", middle))
    assert FolderSource(str(tmp_path)).by_id(7).references == expected
    (tmp_path / "a.Last.avsc").unlink()
    with pytest.raises(UnusableSchema, match=r"a\.Last\.avsc is not in"):
        FolderSource(str(tmp_path)).by_id(7)


def test_imports_of_other_files(tmp_path: Path) -> None:
    (tmp_path / "common").mkdir()
    money = 'syntax = "proto3"; message Money {}'
    (tmp_path / "common" / "money.proto").write_text(money)
    (tmp_path / "1.proto").write_text(
        'import "google/protobuf/timestamp.proto";\n  import public "common/money.proto" ;\n'
    )
    assert FolderSource(str(tmp_path)).by_id(1).references == (("common/money.proto", money),)


def test_files_that_import_each_other_end(tmp_path: Path) -> None:
    (tmp_path / "1.proto").write_text('import "a.proto";')
    (tmp_path / "a.proto").write_text('import "b.proto";')
    (tmp_path / "b.proto").write_text('import "a.proto";')
    names = [name for name, _ in FolderSource(str(tmp_path)).by_id(1).references]
    assert names == ["b.proto", "a.proto"]


@pytest.mark.parametrize("path", ["../secret.proto", "sub/../../secret.proto"])
def test_nothing_outside_of_the_folder(tmp_path: Path, path: str) -> None:
    folder = tmp_path / "schemas"
    (folder / "sub").mkdir(parents=True)
    (tmp_path / "secret.proto").write_text("secret")
    (folder / "1.proto").write_text(f'import "{path}";')
    with pytest.raises(UnusableSchema, match="is not in"):
        FolderSource(str(folder)).by_id(1)
    with pytest.raises(UnknownSchema):
        FolderSource(str(folder)).latest("../secret")


def test_files_of_no_use(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = FolderSource(str(tmp_path))
    (tmp_path / "1.avsc").write_bytes(b"\xff")
    with pytest.raises(UnusableSchema, match="is no UTF-8"):
        source.by_id(1)
    monkeypatch.setattr(folder_source, "SCHEMA_BYTES_MAX", 0)
    with pytest.raises(UnusableSchema, match="larger than 0 bytes"):
        source.by_id(1)
    with pytest.raises(RegistryDown):
        source.latest("x" * 5000)
    with pytest.raises(RegistryDown, match="there is no folder"):
        FolderSource(str(tmp_path / "none")).by_id(1)


def test_how_much_a_schema_may_refer_to(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(150):
        (tmp_path / f"{number}.proto").write_text(f'import "{number + 1}.proto";')
    (tmp_path / "150.proto").write_text("")
    assert len(FolderSource(str(tmp_path)).by_id(60).references) == 90
    with pytest.raises(UnusableSchema, match="nested more than 100 deep"):
        FolderSource(str(tmp_path)).by_id(0)
    monkeypatch.setattr(folder_source, "REFERENCES_MAX", 10)
    with pytest.raises(UnusableSchema, match="more than 10 schemas"):
        FolderSource(str(tmp_path)).by_id(0)
