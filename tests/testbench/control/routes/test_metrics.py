"""Metrics: their format, and that they say what there is.

Also tests: broker_lite.testbench.metrics.
"""

import re
from collections.abc import Iterator

import pytest

from broker_lite.testbench.metrics import Metric, render
from broker_lite.testing import Broker
from broker_lite.wire import messages
from tests.support.raw_client import RawClient
from tests.testbench.conftest import Others

_SAMPLE = re.compile(r'[a-z_]+(\{[a-z]+="[^"]*"(,[a-z]+="[^"]*")*\})? -?[0-9.e+-]+')


@pytest.fixture(scope="module")
def broker() -> Iterator[Broker]:
    with Broker({"default.replication.factor": 3}, brokers=3, topics=["t:2"]) as started:
        yield started


def scrape(broker: Broker) -> dict[str, float]:
    text = broker.control("GET", "/metrics")
    assert isinstance(text, str)
    samples = [line for line in text.splitlines() if not line.startswith("#")]
    assert [each for each in samples if _SAMPLE.fullmatch(each) is None] == []
    return {name: float(value) for name, _, value in (each.rpartition(" ") for each in samples)}


@pytest.mark.anyio
async def test_the_format() -> None:
    metric = Metric("a_total", "counter", "What it is.", [({}, 3), ({"x": 'a"\\\n'}, 0.5)])
    assert (await render([metric])).splitlines() == [
        "# HELP a_total What it is.",
        "# TYPE a_total counter",
        "a_total 3",
        r'a_total{x="a\"\\\n"} 0.5',
    ]


@pytest.mark.anyio
async def test_large_numbers_are_told_in_full() -> None:
    told = await render([Metric("a", "gauge", "It.", [({}, 2**53)])])
    assert told.endswith("a 9007199254740992\n")


@pytest.mark.anyio
async def test_many_samples_let_others_run(others: Others) -> None:
    metric = Metric("a", "gauge", "It.", [({"x": each}, 1) for each in range(30)])
    assert await others.while_running(render([metric])) >= 30


def test_logs(broker: Broker) -> None:
    broker.produce("t", "a", "b", partition=1)
    told = scrape(broker)
    assert told['kafka_server_brokertopicmetrics_messagesin_total{topic="t"}'] == 2
    assert told['kafka_log_log_logendoffset{topic="t",partition="0"}'] == 0
    assert told['kafka_log_log_logendoffset{topic="t",partition="1"}'] == 2
    assert told['kafka_log_log_logstartoffset{topic="t",partition="1"}'] == 0
    assert told['kafka_log_log_size{topic="t",partition="1"}'] > 60
    assert told['kafka_log_log_numlogsegments{topic="t",partition="1"}'] == 1


def test_logs_that_were_not_used_since_the_start(broker: Broker) -> None:
    broker.control("PUT", "/v1/snapshots/s")
    before = scrape(broker)
    broker.control("POST", "/v1/snapshots/s/restore")
    ends = {key: value for key, value in before.items() if "logendoffset" in key}
    assert ends.items() <= scrape(broker).items()


def test_brokers(broker: Broker) -> None:
    broker.control("PATCH", "/v1/topics/t/0", {"isr": [1, 2, 3]})
    leader = broker.partition("t", 0)["leader"]
    name = f'kafka_server_replicamanager_underreplicatedpartitions{{broker="{leader}"}}'
    assert scrape(broker)[name] == 0
    broker.control("PATCH", "/v1/topics/t/0", {"isr": [leader]})
    told = scrape(broker)
    assert told[name] == 1
    assert told['kafka_server_replicamanager_partitioncount{broker="2"}'] >= 2
    assert told["kafka_controller_kafkacontroller_offlinepartitionscount"] == 0
    assert told["kafka_controller_kafkacontroller_globaltopiccount"] >= 1


def test_groups_and_the_process(broker: Broker) -> None:
    broker.control("PUT", "/v1/groups/g/offsets", {"t": {"0": 0}})
    told = scrape(broker)
    assert told["kafka_coordinator_group_groupmetadatamanager_numgroups"] == 1
    assert told["kafka_coordinator_group_groupmetadatamanager_numgroupsempty"] == 1
    assert told["kafka_coordinator_group_groupmetadatamanager_numgroupsstable"] == 0
    assert told["process_cpu_seconds_total"] > 0
    assert told["process_resident_memory_bytes"] > 10_000_000
    assert told["process_open_fds"] > 3
    assert told["broker_lite_journal_requests_total"] == 0


def test_throttled_requests(broker: Broker) -> None:
    names = [f'broker_lite_throttled_requests_total{{broker="{each}"}}' for each in (1, 2, 3)]
    assert [scrape(broker)[name] for name in names] == [0, 0, 0]
    kind = messages.AlterClientQuotasRequest
    entity = kind.EntityData(entity_type="client-id", entity_name="throttled")
    little = kind.OpData(key="request_percentage", value=0.0001)
    port = int(broker.brokers[2].bootstrap.rpartition(":")[2])
    with RawClient("127.0.0.1", port, client_id="throttled") as client:
        client.request(kind, kind(entries=[kind.EntryData(entity=[entity], ops=[little])]), 1)
        assert client.call("Metadata", 9, topics=[]).throttle_time_ms > 0
    assert [scrape(broker)[name] for name in names] == [0, 1, 0]
