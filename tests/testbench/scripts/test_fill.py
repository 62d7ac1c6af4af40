"""What a script brings along: records and committed offsets, before its rules are in force.

Also tests: broker_lite.testbench.record_writing.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from broker_lite.testing import Broker, BrokerFailed
from tests.testbench.scripts.test_run import start

RECORDS = [
    {"topic": "t", "partition": 1, "key": "k", "value": "one", "timestamp": 1000},
    {"topic": "t", "partition": 1, "value": {"base64": "/w=="}, "headers": [["h", "v"]]},
    {"topic": "u", "value": "two"},
]
OFFSETS = {"g": {"t": {"1": 1}}, "h": {"u": {"0": 0}, "t": {"0": 0}}}


@pytest.fixture
def broker() -> Iterator[Broker]:
    with Broker() as started:
        yield started


def committed(broker: Broker, group: str) -> dict[str, dict[str, int]]:
    view: Any = broker.control("GET", f"/v1/groups/{group}")
    return {
        topic: {index: each["committed"] for index, each in partitions.items()}
        for topic, partitions in view["offsets"].items()
    }


def test_records_and_offsets_are_there_when_it_has_begun(broker: Broker) -> None:
    full = {"disk": "write", "count": -1}  # would refuse the records if it was in force
    start(broker, topics=["t:2", "u"], records=RECORDS, offsets=OFFSETS, rules=[full])
    found = [(each.partition, each.key, each.value, each.headers) for each in broker.records("t")]
    assert found == [(1, b"k", b"one", ()), (1, None, b"\xff", (("h", b"v"),))]
    assert [each.value for each in broker.records("u")] == [b"two"]
    assert committed(broker, "g") == {"t": {"1": 1}}
    assert committed(broker, "h") == {"u": {"0": 0}, "t": {"0": 0}}


def test_a_broker_is_ready_when_they_are_there(tmp_path: Path) -> None:
    path = tmp_path / "s.json"
    many = [{"topic": "t", "value": f"{number}"} for number in range(3000)]
    path.write_text(json.dumps({"topics": ["t"], "records": many, "offsets": {"g": {"t": {0: 7}}}}))
    with Broker({"broker.lite.script": path}) as broker:
        assert len(broker.records("t")) == 3000
        assert committed(broker, "g") == {"t": {"0": 7}}


@pytest.mark.parametrize(
    ("script", "text"),
    [
        ({"records": [{"topic": "t"}, {"value": 1}]}, "records[1]: topic: has to be a text"),
        (
            {"topics": ["t"], "records": [{"topic": "t", "partition": 1}]},
            "records[0]: partition: topic t has 1 of them, 1 is too high",
        ),
        ({"offsets": {"g": {"t": {"0": 1}}}}, "offsets.g.t: there is no topic 't'"),
        (
            {"topics": ["t"], "offsets": {"g": {"t": {"1": 1}}}},
            "offsets.g.t.1: topic t has 1 partitions, not 1",
        ),
    ],
)
def test_what_is_wrong_is_told_with_its_place(
    broker: Broker, script: dict[str, Any], text: str
) -> None:
    rule = {"keys": ["Fetch"], "drop": "before"}
    with pytest.raises(BrokerFailed) as caught:
        start(broker, **script, rules=[rule])
    assert text in str(caught.value)
    assert broker.control("GET", "/v1/scripts") == broker.control("GET", "/v1/faults") == []


def test_a_script_that_cannot_be_filled_ends_the_start(tmp_path: Path) -> None:
    path = tmp_path / "s.json"
    path.write_text(json.dumps({"offsets": {"g": {"t": {0: 7}}}}))
    with pytest.raises(BrokerFailed, match=r"the script: offsets\.g\.t: there is no topic 't'"):
        Broker({"broker.lite.script": path}).start()
