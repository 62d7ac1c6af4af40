"""Paths to fields of messages."""

import pytest

from broker_lite.testbench.paths import field_of, parse_path, places
from broker_lite.wire import messages

KIND = messages.MetadataResponse


def answer() -> messages.MetadataResponse:
    partitions = [KIND.MetadataResponsePartition(replica_nodes=[each, 9]) for each in (1, 2)]
    topics = [KIND.MetadataResponseTopic(name="a", partitions=partitions)]
    return KIND(brokers=[KIND.MetadataResponseBroker(port=each) for each in (7, 8)], topics=topics)


@pytest.mark.parametrize(
    ("path", "values"),
    [
        ("controller_id", [-1]),
        ("ControllerId", [-1]),
        ("brokers[0].port", [7]),
        ("brokers[].port", [7, 8]),
        ("brokers[2].port", []),
        ("topics[].partitions[1].replica_nodes[]", [2, 9]),
        ("topics[].partitions[0].replica_nodes", [[1, 9]]),
        ("controller_id.port", []),
        ("nothing", []),
        ("controller_id[]", []),
    ],
)
def test_what_is_there(path: str, values: list[object]) -> None:
    assert [place.get() for place in places(answer(), parse_path(path))] == values


def test_what_is_there_can_be_changed() -> None:
    value = answer()
    for path in ("brokers[1].port", "topics[].partitions[].replica_nodes[0]"):
        for place in places(value, parse_path(path)):
            place.set(5)
    assert [each.port for each in value.brokers] == [7, 5]
    assert [each.replica_nodes for each in value.topics[0].partitions] == [[5, 9], [5, 9]]


@pytest.mark.parametrize("path", ["", "a..b", "a[x]", "a b", "a[0", "[0]"])
def test_what_is_no_path(path: str) -> None:
    with pytest.raises(ValueError, match="is no path"):
        parse_path(path)


@pytest.mark.parametrize(
    ("path", "problem"),
    [
        ("broker[].port", "MetadataResponse has no field 'broker'"),
        ("brokers[].prt", "MetadataResponseBroker has no field 'prt'"),
        ("controller_id[0]", "'controller_id' of MetadataResponse is no array"),
        ("controller_id.port", "'controller_id' of MetadataResponse has no fields"),
        ("brokers.port", "'brokers' of MetadataResponse is an array: write brokers[]"),
    ],
)
def test_why_there_is_no_field(path: str, problem: str) -> None:
    assert field_of(parse_path(path), KIND.name, KIND.structs) == problem


def test_a_field() -> None:
    field = field_of(parse_path("brokers[0].port"), KIND.name, KIND.structs)
    assert not isinstance(field, str)
    assert field.element_type == "int32"
    assert field_of([], KIND.name, KIND.structs) == "the path is empty"
