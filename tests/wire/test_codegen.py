import pytest

from broker_lite.wire import messages
from broker_lite.wire.codegen import Source
from tests.wire.samples import layout_of


@pytest.mark.parametrize(
    ("name", "version", "struct", "field", "size"),
    [
        pytest.param("MetadataRequest", 1, "MetadataRequest", "Topics", 2, id="P-34 string"),
        pytest.param("MetadataRequest", 9, "MetadataRequest", "Topics", 2, id="P-34 name, tags"),
        pytest.param("MetadataRequest", 10, "MetadataRequest", "Topics", 18, id="P-34 uuid"),
        pytest.param("OffsetFetchRequest", 8, "OffsetFetchRequest", "Groups", 3, id="P-34 nested"),
        pytest.param(
            "DescribeTopicPartitionsRequest",
            0,
            "DescribeTopicPartitionsRequest",
            "Topics",
            2,
            id="P-34 struct",
        ),
        pytest.param(
            "ListGroupsRequest", 4, "ListGroupsRequest", "StatesFilter", 1, id="P-34 text"
        ),
    ],
)
def test_element_size_min(name: str, version: int, struct: str, field: str, size: int) -> None:
    layout = layout_of(messages.message(name), version)
    found = next(each for each in layout.plain_fields(struct) if each.name == field)
    assert layout.element_size_min(found) == size


def test_the_client_id_is_not_compact_p32() -> None:
    layout = layout_of(messages.RequestHeader, 2)
    client_id = list(layout.plain_fields("RequestHeader"))[-1]
    assert layout.flexible
    assert not layout.field_is_flexible(client_id)


def test_tagged_and_absent_fields_p33() -> None:
    layout = layout_of(messages.FetchRequest, 14)
    assert [field.name for field in layout.tagged_fields("FetchRequest")] == ["ClusterId"]
    assert [field.name for field in layout.absent_fields("FetchRequest")] == ["ReplicaState"]
    assert "MaxNumOffsets" in {
        field.name
        for field in layout_of(messages.ListOffsetsRequest, 2).absent_fields("ListOffsetsPartition")
    }


def test_source_p172() -> None:
    source = Source({"base": 40})
    source.line("def run(x):")
    source.indent()
    name = source.name("n")
    source.line(f"{name} = base + x + len({source.packer('?')}(True))")
    source.line(f"return {source.unpacker('b')}(bytes([{name}]), 0)")
    assert source.packer("?") == source.packer("?")
    assert source.unpacker("b") == source.unpacker("b")
    assert source.compile("run", "test")(1) == (42,)
