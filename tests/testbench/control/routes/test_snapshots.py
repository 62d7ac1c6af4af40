"""Snapshots by the control API: everything comes back, and nothing that came later is left.

Also tests: broker_lite.testbench.snapshots.
"""

import itertools
import json
import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest
from confluent_kafka import Producer

from broker_lite.testing import Broker, BrokerFailed
from broker_lite.wire import messages
from tests.support.raw_client import RawClient


@pytest.fixture(scope="module", params=[1, 3])
def running(request: pytest.FixtureRequest) -> Iterator[Broker]:
    count = request.param
    settings = {"default.replication.factor": count, "offsets.topic.num.partitions": 3}
    with Broker(settings, brokers=count, topics=["seeded"]) as started:
        yield started


@pytest.fixture
def broker(running: Broker) -> Broker:
    for each in asked(running, "GET", "/v1/snapshots"):
        running.control("DELETE", f"/v1/snapshots/{each['name']}")
    running.reset()
    return running


def asked(broker: Broker, method: str, path: str, body: object = None) -> Any:
    return broker.control(method, path, body)


def save(broker: Broker, name: str = "s") -> None:
    assert asked(broker, "PUT", f"/v1/snapshots/{name}")["name"] == name


def restore(broker: Broker, name: str = "s") -> None:
    assert broker.control("POST", f"/v1/snapshots/{name}/restore") == {}


def write(broker: Broker, count: int) -> None:
    """Write records, each a batch of its own, so that there are several segments."""
    for number in range(count):
        broker.control("POST", "/v1/topics/t/records", f'{{"value": "{f"{number}" * 100}"}}')


def fill(broker: Broker) -> None:
    """Records in several segments, offsets of a group, a producer with an open transaction."""
    broker.create_topic("t", 1, {"internal.segment.bytes": 1024, "retention.ms": 10**12})
    write(broker, 20)
    broker.control("PUT", "/v1/groups/g/offsets", {"t": {"0": 7}})


def test_everything_comes_back(broker: Broker) -> None:
    fill(broker)
    before = (broker.records("t"), asked(broker, "GET", "/v1/topics/t"))
    save(broker)
    broker.produce("t", "later")
    broker.create_topic("u")
    broker.control("PUT", "/v1/groups/g/offsets", {"t": {"0": 9}})
    broker.control("PUT", "/v1/groups/h/offsets", {"t": {"0": 9}})
    for _ in range(2):
        restore(broker)
        assert (broker.records("t"), asked(broker, "GET", "/v1/topics/t")) == before
        names = [each["name"] for each in asked(broker, "GET", "/v1/topics")]
        assert names == ["seeded", "t"]
        group = asked(broker, "GET", "/v1/groups/g")
        assert group["offsets"]["t"]["0"]["committed"] == 7
        assert [each["group"] for each in asked(broker, "GET", "/v1/groups")] == ["g"]
        broker.produce("t", "again")
        assert broker.records("t")[-1].value == b"again"


def test_a_broker_goes_on_after_a_snapshot(broker: Broker) -> None:
    fill(broker)
    save(broker)
    write(broker, 30)
    records = broker.records("t")
    save(broker, "more")
    restore(broker)
    assert len(broker.records("t")) == 20
    restore(broker, "more")
    assert broker.records("t") == records


def test_a_topic_that_is_deleted_comes_back(broker: Broker) -> None:
    fill(broker)
    before = broker.records("t")
    save(broker)
    broker.control("DELETE", "/v1/topics/t")
    broker.create_topic("t")
    restore(broker)
    assert broker.records("t") == before


def test_the_producer_of_an_open_transaction_goes_on(broker: Broker) -> None:
    broker.create_topic("t")
    producer = Producer({"bootstrap.servers": broker.bootstrap, "transactional.id": "p"})
    producer.init_transactions()
    producer.begin_transaction()
    producer.produce("t", "before")
    producer.flush()
    save(broker)
    producer.abort_transaction()
    restore(broker)
    assert asked(broker, "GET", "/v1/transactions/p")["state"] == "Ongoing"
    offsets = asked(broker, "GET", "/v1/topics/t")["offsets"][0]
    assert (offsets["last_stable_offset"], offsets["end"]) == (0, 1)
    broker.control("POST", "/v1/transactions/p/abort")
    offsets = asked(broker, "GET", "/v1/topics/t")["offsets"][0]
    assert (offsets["last_stable_offset"], offsets["end"]) == (2, 2)


def test_snapshots_of_a_broker_at_work(broker: Broker) -> None:
    """Each has all records up to one of them, whatever was in progress."""
    broker.create_topic("t", 1, {"internal.segment.bytes": 8192})
    settings = {"bootstrap.servers": broker.bootstrap, "linger.ms": 0, "batch.size": 2000}
    producer = Producer(settings)
    is_over = threading.Event()
    numbers = itertools.count()

    def produce() -> None:
        while not is_over.wait(0.001):
            producer.produce("t", f"{next(numbers):>100}")
            producer.poll(0)

    thread = threading.Thread(target=produce)
    thread.start()
    broker.control("POST", "/v1/topics/t/wait", {"records": 50})
    for number in range(5):
        before = asked(broker, "GET", "/v1/topics/t")["offsets"][0]["end"]
        save(broker, f"s{number}")
        broker.control("POST", "/v1/topics/t/wait", {"records": before + 50})
    is_over.set()
    thread.join()
    producer.flush()
    ends = []
    for number in range(5):
        restore(broker, f"s{number}")
        values = [int(each["value"]) for each in lines(broker)]
        assert values == [*range(len(values))]
        ends.append(len(values))
    assert ends == sorted(set(ends))


def lines(broker: Broker) -> list[dict[str, Any]]:
    text = broker.control("GET", "/v1/topics/t/records?limit=100000")
    assert isinstance(text, str)
    return [json.loads(each) for each in text.splitlines()]


def test_the_seed_does_not_come_on_top(broker: Broker) -> None:
    broker.control("DELETE", "/v1/topics/seeded")
    save(broker)
    restore(broker)
    assert asked(broker, "GET", "/v1/topics") == []


@pytest.mark.parametrize("running", [3], indirect=True)
def test_records_that_a_new_leader_lacks_stay_in_the_snapshot(broker: Broker) -> None:
    fill(broker)
    path = "/v1/topics/t/0"
    partition = asked(broker, "GET", path)
    leader, *others = partition["replicas"]
    broker.control("PATCH", path, {"lagging": others})
    broker.control("PATCH", path, {"isr": [leader]})
    write(broker, 20)
    before = broker.records("t")
    save(broker)  # the files of closed segments are those of the snapshot, too
    broker.control("PATCH", path, {"unclean_leader": others[0]})
    assert len(broker.records("t")) == 20
    write(broker, 9)
    restore(broker)
    assert broker.records("t") == before
    assert len(before) == 40


def test_snapshots_are_listed_and_removed(broker: Broker) -> None:
    assert asked(broker, "GET", "/v1/snapshots") == []
    save(broker, "b")
    save(broker, "a")
    broker.reset()
    assert [each["name"] for each in asked(broker, "GET", "/v1/snapshots")] == ["a", "b"]
    broker.control("DELETE", "/v1/snapshots/a")
    assert [each["name"] for each in asked(broker, "GET", "/v1/snapshots")] == ["b"]


@pytest.mark.parametrize(
    ("method", "path", "text"),
    [
        ("PUT", "/v1/snapshots/..", "'..' is no name of a snapshot"),
        ("PUT", "/v1/snapshots/a%2Fb", "'a/b' is no name of a snapshot"),
        ("PUT", "/v1/snapshots/x.unfinished", "is no name of a snapshot"),
        ("PUT", "/v1/snapshots/.topics", "is no name of a snapshot"),
        ("POST", "/v1/snapshots/none/restore", "there is no snapshot 'none'"),
        ("POST", "/v1/snapshots/.topics/restore", "there is no snapshot '.topics'"),
        ("DELETE", "/v1/snapshots/none", "there is no snapshot 'none'"),
    ],
)
def test_what_cannot_be_done_is_told(broker: Broker, method: str, path: str, text: str) -> None:
    with pytest.raises(BrokerFailed) as caught:
        broker.control(method, path)
    assert text in str(caught.value)


def test_a_reset_that_keeps_topics(broker: Broker) -> None:
    fill(broker)
    before = asked(broker, "GET", "/v1/topics")
    broker.control("POST", "/v1/reset", {"keep": ["topics"]})
    assert asked(broker, "GET", "/v1/topics") == before
    assert broker.records("t") == []
    assert asked(broker, "GET", "/v1/groups") == []
    assert asked(broker, "GET", "/v1/snapshots") == []
    assert not (broker.data_dir / ".snapshots").exists()
    broker.produce("t", "a")
    assert [each.value for each in broker.records("t")] == [b"a"]


def test_a_reset_that_keeps_topics_keeps_nothing_else(broker: Broker) -> None:
    broker.create_topic("t", 2)
    last = len(broker.addresses)
    before = broker.partition("t", 0)
    if last > 1:
        moved = next(each for each in (1, 2, 3) if each != before["leader"])
        broker.move_leader("t", 0, to=moved)
    change_settings(broker)
    assert settings_of(broker) == ("2", 1, 1)
    broker.reset(keep_topics=True)
    assert settings_of(broker) == ("1", 0, 0)
    after = broker.partition("t", 0)
    assert (after["leader"], after["leader_epoch"]) == (before["leader"], 0)
    assert after["isr"] == before["isr"]


def change_settings(broker: Broker) -> None:
    """Set a config of a broker, a quota and the credentials of a user."""
    kind = messages.IncrementalAlterConfigsRequest
    config = kind.AlterableConfig(name="log.cleaner.threads", config_operation=0, value="2")
    resource = kind.AlterConfigsResource(resource_type=4, resource_name="1", configs=[config])
    quotas = messages.AlterClientQuotasRequest
    entity = quotas.EntityData(entity_type="client-id", entity_name="slow")
    op = quotas.OpData(key="producer_byte_rate", value=1e6, remove=False)
    users = messages.AlterUserScramCredentialsRequest
    user = users.ScramCredentialUpsertion(
        name="u", mechanism=1, iterations=4096, salt=b"s", salted_password=b"p" * 32
    )
    with RawClient(broker.host, broker.port) as client:
        client.call("IncrementalAlterConfigs", 1, resources=[resource], validate_only=False)
        entry = quotas.EntryData(entity=[entity], ops=[op])
        client.call("AlterClientQuotas", 1, entries=[entry], validate_only=False)
        client.call("AlterUserScramCredentials", 0, deletions=[], upsertions=[user])


def settings_of(broker: Broker) -> tuple[str, int, int]:
    """Return the config of the broker, and how many quotas and users there are."""
    kind = messages.DescribeConfigsRequest
    names = ["log.cleaner.threads"]
    resource = kind.DescribeConfigsResource(
        resource_type=4, resource_name="1", configuration_keys=names
    )
    with RawClient(broker.host, broker.port) as client:
        configs = client.call("DescribeConfigs", 4, resources=[resource])
        quotas = client.call("DescribeClientQuotas", 1, components=[], strict=False)
        users = client.call("DescribeUserScramCredentials", 0, users=None)
    return configs.results[0].configs[0].value, len(quotas.entries or ()), len(users.results)


def test_a_step_of_a_script_that_keeps_topics(broker: Broker) -> None:
    """It ends its own script, and leaves nothing behind."""
    broker.create_topic("t")
    reset = {"method": "POST", "path": "/v1/reset", "body": {"keep": ["topics"]}}
    broker.produce("t", "a")
    broker.control("POST", "/v1/scripts", {"steps": [{"do": reset}]})
    while asked(broker, "GET", "/v1/scripts"):
        time.sleep(0.01)
    while broker.records("t"):
        time.sleep(0.01)
    assert asked(broker, "GET", "/v1/topics/t")["partitions"] == 1
    assert not (broker.data_dir / ".snapshots").exists()


def test_the_folder_goes_with_the_last_snapshot(broker: Broker) -> None:
    for name in ("a", "b"):
        save(broker, name)
    for name in ("a", "b"):
        assert (broker.data_dir / ".snapshots").exists()
        broker.control("DELETE", f"/v1/snapshots/{name}")
    assert not (broker.data_dir / ".snapshots").exists()


def test_a_reset_that_keeps_what_there_is_not(broker: Broker) -> None:
    with pytest.raises(BrokerFailed, match="Invalid enum value 'users'"):
        broker.control("POST", "/v1/reset", {"keep": ["users"]})


@pytest.mark.parametrize("kept", [[], ["faults"], ["journal"], ["journal", "faults"]])
def test_a_reset_that_keeps_faults_and_the_journal(broker: Broker, kept: list[str]) -> None:
    broker.control("POST", "/v1/faults", {"keys": ["EndTxn"], "error": "NOT_COORDINATOR"})
    broker.control("PUT", "/v1/requests/recording", {"recording": "headers"})
    broker.produce("t", "a")
    broker.control("PUT", "/v1/requests/recording", {"recording": "off"})
    broker.control("POST", "/v1/reset", {"keep": kept})
    assert bool(asked(broker, "GET", "/v1/faults")) == ("faults" in kept)
    assert bool(asked(broker, "GET", "/v1/requests")) == ("journal" in kept)
    broker.control("POST", "/v1/reset")
    assert asked(broker, "GET", "/v1/faults") == []
