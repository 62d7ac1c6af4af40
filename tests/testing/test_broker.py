"""Broker, sync and async: what a test does with it.

Also tests: broker_lite.testing.aio, broker_lite.testing.records.
"""

import os
import socket
import threading
import time
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import anyio
import psutil
import pytest
from confluent_kafka import Producer

from broker_lite.client import Client
from broker_lite.client.consuming.fetcher import FetchedBatch, Fetcher
from broker_lite.errors import ClientError
from broker_lite.record.murmur2 import partition_of_key
from broker_lite.testing import AsyncBroker, Broker, BrokerFailed
from broker_lite.wire import messages
from tests.testing.interruption import interrupted


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(scope="module")
def shared() -> Iterator[Broker]:
    with Broker() as started:
        yield started


def values(broker: Broker, topic: str) -> list[bytes | None]:
    return [record.value for record in broker.records(topic)]


def running_children(process: psutil.Process) -> set[int]:
    children = process.children()
    return {each.pid for each in children if each.status() != psutil.STATUS_ZOMBIE}


def cluster_id(broker: Broker) -> str:
    with Client(broker.bootstrap) as client:
        found = client.metadata(()).cluster_id
    assert isinstance(found, str)
    return found


def test_it_runs_in_its_context_and_leaves_nothing() -> None:
    with Broker() as broker:
        assert broker.is_running
        assert broker.bootstrap == f"127.0.0.1:{broker.port}"
        assert broker.pid != os.getpid()
        data_dir = broker.data_dir
        assert (data_dir / "meta.properties").exists()
        assert f"ready on {broker.bootstrap}" in broker.log
    assert not broker.is_running
    assert not data_dir.exists()
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection((broker.host, broker.port))
    assert "ready on" in broker.log


def test_topics_and_records(shared: Broker) -> None:
    shared.create_topic("orders", 3, {"cleanup.policy": ["compact", "delete"]})
    shared.produce(
        "orders", "one", b"two", None, key="k", headers=[("h", b"1"), ("n", None)], timestamp_ms=5
    )
    (partition,) = {record.partition for record in shared.records("orders")}
    assert partition == partition_of_key(b"k", 3)
    shared.produce("orders", "last", key="l", partition=(partition + 1) % 3)
    keyed = [record for record in shared.records("orders") if record.partition == partition]
    (last,) = [record for record in shared.records("orders") if record.partition != partition]
    assert [record.value for record in keyed] == [b"one", b"two", None]
    assert [record.offset for record in keyed] == [0, 1, 2]
    assert keyed[0][2:] == (5, b"k", b"one", (("h", b"1"), ("n", None)))
    assert (last.key, last.value, last.headers) == (b"l", b"last", ())


def test_a_topic_is_created_by_its_first_record(shared: Broker) -> None:
    shared.produce("made-by-use", "x")
    assert values(shared, "made-by-use") == [b"x"]


def test_what_the_broker_refuses_is_one_line(shared: Broker) -> None:
    with pytest.raises(ClientError, match="INVALID_TOPIC_EXCEPTION"):
        shared.create_topic("no topic")
    with pytest.raises(ClientError, match="UNKNOWN_TOPIC_OR_PARTITION"):
        shared.records("nobody-made-this")


def test_a_topic_that_is_deleted_while_it_is_read(
    shared: Broker, monkeypatch: pytest.MonkeyPatch
) -> None:
    shared.produce("short-lived", "x")
    poll = Fetcher.poll

    def delete_then_poll(fetcher: Fetcher, wait_s: float) -> list[FetchedBatch]:
        with Client(shared.bootstrap) as client:
            request = messages.DeleteTopicsRequest
            gone = request.DeleteTopicState(name="short-lived")
            client.request(request(topics=[gone], topic_names=["short-lived"], timeout_ms=10_000))
        return poll(fetcher, wait_s)

    monkeypatch.setattr(Fetcher, "poll", delete_then_poll)
    with pytest.raises(ClientError, match="topic short-lived was deleted while it was read"):
        shared.records("short-lived")


def test_headers_that_can_be_read_once_are_those_of_every_record(shared: Broker) -> None:
    shared.produce("read-once", "a", "b", headers=iter([("h", b"1")]))
    assert [one.headers for one in shared.records("read-once")] == [(("h", b"1"),)] * 2


def test_topics_may_be_a_text() -> None:
    with Broker(topics="orders:3 prices") as broker, Client(broker.bootstrap) as client:
        names = {topic.name for topic in client.metadata().topics}
        assert names == {"orders", "prices"}
        assert len(client.leaders("orders")) == 3


def test_several_at_once() -> None:
    with Broker() as one, Broker() as other:
        assert one.port != other.port
        assert one.pid != other.pid
        one.produce("t", "1")
        other.produce("t", "2")
        assert (values(one, "t"), values(other, "t")) == ([b"1"], [b"2"])


def test_a_restart_keeps_port_and_data() -> None:
    with Broker() as broker:
        broker.produce("t", "kept")
        before = broker.bootstrap, broker.data_dir, cluster_id(broker)
        pid = broker.pid
        broker.restart()
        assert (broker.bootstrap, broker.data_dir, cluster_id(broker)) == before
        assert broker.pid != pid
        assert values(broker, "t") == [b"kept"]
        assert broker.log.count("ready on") == 2


def test_data_outlives_a_kill() -> None:
    with Broker() as broker:
        broker.produce("t", "kept")
        broker.kill()
        assert not broker.is_running
        broker.restart()
        assert values(broker, "t") == [b"kept"]
        broker.kill()
        data_dir = broker.data_dir
        broker.stop()
    assert not data_dir.exists()


def test_s50_time_that_is_let_pass_makes_records_go(shared: Broker) -> None:
    shared.reset()
    shared.create_topic("aging", configs={"retention.ms": 3_600_000})
    shared.produce("aging", "old")
    shared.advance()
    shared.advance(timedelta(minutes=59))
    assert values(shared, "aging") == [b"old"]
    shared.advance(timedelta(minutes=2))
    assert values(shared, "aging") == []
    now_ms = time.time_ns() // 1_000_000
    shared.produce("aging", "new", timestamp_ms=now_ms + 3_660_000)
    shared.advance()
    assert [record.offset for record in shared.records("aging")] == [1]
    shared.reset()
    with pytest.raises(ValueError, match="cannot go back"):
        shared.advance(timedelta(seconds=-1))


def test_a_reset_keeps_port_process_and_cluster() -> None:
    with Broker(topics=["first:2", "second:1:cleanup.policy=compact"]) as broker:
        broker.produce("other", "gone")
        before = broker.bootstrap, broker.pid, cluster_id(broker)
        broker.reset()
        assert (broker.bootstrap, broker.pid, cluster_id(broker)) == before
        with Client(broker.bootstrap) as client:
            names = {topic.name for topic in client.metadata().topics}
        assert names == {"first", "second"}


def test_a_reset_after_one_that_was_interrupted() -> None:
    with Broker() as broker:
        with interrupted(broker.pid):
            broker.reset()
        broker.advance()
        with interrupted(broker.pid):
            broker.reset()
        broker.reset()
        assert broker.log.count("beginning anew with an empty data directory") == 3


def test_an_interrupted_start_leaves_no_broker() -> None:
    with Broker() as first:
        launcher = psutil.Process(psutil.Process(first.pid).ppid())
        before = running_children(launcher)
        with interrupted(launcher.pid):
            Broker().start()
        with Broker() as second:  # what was asked before has been done by then
            while running_children(launcher) != before | {second.pid}:
                time.sleep(0.01)


def test_a_reset_that_fails_says_why(tmp_path: Path) -> None:
    seed = tmp_path / "seed.jsonl"
    seed.write_text('{"topic": "seeded", "value": "1"}\n')
    broker = Broker(seed_file=seed).start()
    seed.unlink()
    with pytest.raises(BrokerFailed, match=r"seed\.jsonl"):
        broker.reset()
    assert not broker.is_running
    broker.stop()


def test_a_directory_of_ones_own_is_kept(tmp_path: Path) -> None:
    seed = tmp_path / "seed.jsonl"
    seed.write_text('{"topic": "seeded", "value": "1"}\n')
    broker = Broker(data_dir=tmp_path / "data", seed_file=seed)
    for _ in range(2):
        with broker:
            assert broker.data_dir == tmp_path / "data"
            broker.produce("t", "x")
            assert values(broker, "seeded") == [b"1"]
    with broker:
        assert values(broker, "t") == [b"x", b"x"]


def test_a_stopped_broker_begins_empty() -> None:
    broker = Broker()
    with broker:
        broker.produce("t", "x")
    with broker, pytest.raises(ClientError):
        broker.records("t")


def test_settings_are_written_as_kafka_writes_them(tmp_path: Path) -> None:
    config = tmp_path / "broker.toml"
    config.write_text('"num.partitions" = 2\n"auto.create.topics.enable" = true\n')
    settings = {"auto.create.topics.enable": False, "num.partitions": 3}
    with Broker(settings, config=config) as broker:
        assert broker.settings == {"auto.create.topics.enable": "false", "num.partitions": "3"}
        with pytest.raises(ClientError):
            broker.produce("t", "x")
        broker.create_topic("t", partitions=-1)
        with Client(broker.bootstrap) as client:
            assert len(client.leaders("t")) == 3


def test_listeners_of_the_settings_stay() -> None:
    settings = {
        "listeners": "A://127.0.0.1:0,B://127.0.0.1:0",
        "listener.security.protocol.map": "A:PLAINTEXT,B:PLAINTEXT",
    }
    with Broker(settings) as broker:
        port = broker.port
        broker.restart()
        assert broker.port == port
        with Client(broker.bootstrap):
            pass
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    with Broker(settings, port=port) as broker:
        assert broker.port == port


def test_ipv6() -> None:
    with Broker(host="::1") as broker:
        assert broker.bootstrap == f"[::1]:{broker.port}"
        with Client(broker.bootstrap):
            pass


def test_the_environment_has_no_say(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KAFKA_NODE_ID", "77")
    with Broker() as broker, Client(broker.bootstrap) as client:
        assert list(client.nodes()) == [1]


@pytest.mark.parametrize(
    ("settings", "options", "message"),
    [
        ({"log.segment.byte": 1}, {}, r"settings: unknown setting log\.segment\.byte"),
        ({"log.segment.bytes": "x"}, {}, "log.segment.bytes"),
        ({}, {"config": "missing.toml"}, "missing.toml: cannot be read"),
        ({}, {"topics": ["a:b:c:d"]}, "a:b:c:d"),
        ({}, {"seed_file": "missing.jsonl"}, "missing.jsonl"),
        ({}, {"host": "192.0.2.1"}, "cannot listen on 192.0.2.1:0"),
    ],
)
def test_a_start_that_fails_says_why(
    settings: dict[str, object], options: dict[str, object], message: str
) -> None:
    broker = Broker(settings, **options)  # type: ignore[arg-type]
    with pytest.raises(BrokerFailed, match=message) as failure:
        broker.start()
    assert "\n" not in str(failure.value)
    assert not broker.is_running
    broker.stop()


def test_a_directory_in_use_is_told(tmp_path: Path) -> None:
    with (
        Broker(data_dir=tmp_path),
        pytest.raises(BrokerFailed, match="in use by another process"),
    ):
        Broker(data_dir=tmp_path).start()


def test_what_does_not_run_cannot_be_used() -> None:
    broker = Broker()
    for use in (broker.reset, broker.kill, lambda: broker.pid, lambda: broker.data_dir):
        with pytest.raises(BrokerFailed):
            use()
    assert broker.log == ""
    broker.stop()
    with broker, pytest.raises(BrokerFailed, match="already running"):
        broker.start()


def test_what_a_transaction_wrote_is_read_by_isolation_level() -> None:
    with Broker() as broker:
        broker.produce("t", "outside")
        producer = Producer({"bootstrap.servers": broker.bootstrap, "transactional.id": "x"})
        producer.init_transactions(20)
        for value, end in (
            (b"aborted", producer.abort_transaction),
            (b"committed", producer.commit_transaction),
            (b"open", None),
        ):
            producer.begin_transaction()
            producer.produce("t", value, partition=0)
            producer.flush(20)
            if end is not None:
                end(20)
        committed = broker.records("t", read_committed=True)
        assert [record.value for record in committed] == [b"outside", b"committed"]
        assert values(broker, "t") == [b"outside", b"aborted", b"committed", b"open"]
        offsets = [record.offset for record in broker.records("t")]
        assert offsets == [0, 1, 3, 5], "a marker takes an offset"
        producer.abort_transaction(20)


def test_a_start_that_takes_too_long_is_ended() -> None:
    broker = Broker(timeout_s=1e-6)
    with pytest.raises(BrokerFailed, match="not ready within 1e-06 s"):
        broker.start()
    broker.stop()


def test_many_threads_start_brokers() -> None:
    ports: list[int] = []

    def work() -> None:
        with Broker() as broker:
            ports.append(broker.port)

    threads = [threading.Thread(target=work) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(ports)) == 6


@pytest.mark.anyio
async def test_everything_without_blocking() -> None:
    async with Broker() as broker:
        aio = broker.aio
        assert isinstance(aio, AsyncBroker)
        assert aio.broker is broker
        await aio.create_topic("t", configs={"retention.ms": 1000})
        async with anyio.create_task_group() as group:
            group.start_soon(aio.produce, "t", "1")
        await aio.restart()
        assert [record.value for record in await aio.records("t")] == [b"1"]
        await aio.advance()
        await aio.reset()
        await aio.kill()
        await aio.start()
        pid = broker.pid
    assert not broker.is_running
    assert pid
    await aio.stop()
