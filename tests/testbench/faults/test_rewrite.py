"""Fields of an answer get other values."""

from typing import Any

import msgspec
import pytest

from broker_lite.testbench.errors import ControlError
from broker_lite.testbench.faults.rewrite import check_rewrite
from broker_lite.testbench.faults.rules import Rule
from tests.testbench.conftest import FaultyBroker

METADATA = frozenset((3,))
ID_TEXT = "AAECAwQFBgcICQoLDA0ODw"


@pytest.mark.parametrize(
    ("path", "value", "text"),
    [
        ("brokers[0].port", 2**31, "port is a number from -2147483648 to 2147483647"),
        ("brokers[0].port", 1.5, "port is a number"),
        ("brokers[0].port", True, "port is a number, not True"),
        ("brokers[0].port", None, "port cannot be null"),
        ("brokers[0].host", 1, "host is a text, not 1"),
        ("brokers", [1], "brokers is a struct"),
        ("brokers[0]", 1, "brokers is a struct"),
        ("topics[].is_internal", 1, "is_internal is true or false, not 1"),
        ("topics[].topic_id", "x", "'x' is no topic id"),
        ("topics[].partitions[].isr_nodes", 1, "write isr_nodes[] for each"),
        ("topics[].partitions[].isr_nodes", ["a"], "isr_nodes is a number"),
        ("nothing", 1, "MetadataResponse has no field 'nothing'"),
        ("a b", 1, "is no path"),
    ],
)
def test_values_that_do_not_fit(path: str, value: object, text: str) -> None:
    with pytest.raises(ControlError) as caught:
        check_rewrite(path, value, METADATA, "at")
    assert text in caught.value.text


@pytest.mark.parametrize(
    ("path", "value"),
    [("throttle_time_ms", 1), ("entries[].values[].value", 1.5), ("entries", None)],
)
def test_a_field_of_one_api_is_enough(path: str, value: object) -> None:
    check_rewrite(path, value, None, "at")


def test_fields_of_an_answer(bench: FaultyBroker) -> None:
    bench.topic()
    fields: dict[str, Any] = {
        "brokers[0].port": 1,
        "brokers[].rack": None,
        "cluster_id": "other",
        "topics[].topic_id": ID_TEXT,
        "topics[].is_internal": True,
        "topics[].partitions[1].isr_nodes": [4, 5],
        "topics[].partitions[2].replica_nodes[0]": 9,
        "topics[].partitions[].leader_id": -1,
    }
    bench.rule(keys=["Metadata"], rewrite=fields)
    answer = bench.call("Metadata", 12, topics=None)
    assert (answer.brokers[0].port, answer.cluster_id) == (1, "other")
    topic = next(each for each in answer.topics if each.name == "orders")
    assert (topic.topic_id, topic.is_internal) == (bytes(range(16)), True)
    assert [each.leader_id for each in topic.partitions] == [-1, -1, -1]
    assert topic.partitions[1].isr_nodes == [4, 5]
    assert topic.partitions[2].replica_nodes == [9]


@pytest.mark.parametrize(
    ("rule", "version", "reason"),
    [
        ({"rewrite": {"cluster_id": "x"}}, 1, "version 1 of the answer has no cluster_id"),
        ({"rewrite": {"brokers[9].port": 1}}, 12, "the answer has nothing at brokers[9].port"),
        ({"rewrite": {"cluster_id": None}, "keys": None}, 12, ""),
        ({"rewrite": {"error_message": "x"}, "keys": None}, 12, "MetadataResponse has no field"),
        ({"rewrite": {"topics[].name": None}}, 9, "MetadataResponse v9"),
    ],
)
def test_what_cannot_be_applied(
    rule: dict[str, Any], version: int, reason: str, bench: FaultyBroker
) -> None:
    bench.topic()
    fault = bench.rule(**{"keys": ["Metadata"], **rule})
    assert bench.call("Metadata", version, topics=None).brokers
    assert (reason in "".join(fault.state().reasons)) == bool(reason) or fault.hits
    assert fault.hits == (0 if reason else 1)


def test_rules_come_from_json() -> None:
    text = b'{"keys": ["Metadata"], "rewrite": {"brokers[0].port": 1}, "delay_ms": 3}'
    assert msgspec.json.decode(text, type=Rule).rewrite == {"brokers[0].port": 1}
