"""Processes that are started, end in every way, and are started again.

Also tests: broker_lite.server.processes.between_brokers,
broker_lite.server.processes.feed, broker_lite.server.processes.serving,
broker_lite.server.processes.worker, broker_lite.commands.worker.
"""

import signal
import socket
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from broker_lite.client.client import Client
from broker_lite.testing import Broker
from broker_lite.wire import messages
from tests.server.processes.conftest import PROCESSES, Cluster, wait_until
from tests.support.raw_client import RawClient
from tests.support.reference_kafka import free_port

NO_LEADER = -1


def leaders(started: Cluster, topic: str, through: int = 0) -> dict[int, int]:
    """Who leads the partitions of a topic, as one of the brokers tells."""
    asked = messages.MetadataRequest.MetadataRequestTopic(name=topic)
    with RawClient(*started.addresses[through]) as client:
        answer = client.call("Metadata", 1, topics=[asked])
    (told,) = answer.topics
    return {one.partition_index: one.leader_id for one in told.partitions}


def a_topic(started: Cluster) -> tuple[str, int, int]:
    """Make a topic of a partition in each process, and return one that broker 2 leads."""
    started.broker.create_topic("t", partitions=PROCESSES)
    partition = next(index for index, leader in leaders(started, "t").items() if leader == 2)
    return "t", partition, 2


def test_each_process_is_a_broker_of_one_cluster(started: Cluster) -> None:
    assert sorted(started.processes()) == [2, 3]
    answers = []
    for address in started.addresses:
        with RawClient(*address) as client:
            answer = client.call("Metadata", 1, topics=[])
            answers.append({one.node_id: (one.host, one.port) for one in answer.brokers})
    assert answers == [dict(enumerate(started.addresses, 1))] * PROCESSES
    topic, _, _ = a_topic(started)
    assert sorted(leaders(started, topic).values()) == [1, 2, 3]
    assert [leaders(started, topic, each) for each in range(PROCESSES)] == [
        leaders(started, topic)
    ] * PROCESSES


def test_a_killed_process_comes_back_with_its_records(started: Cluster) -> None:
    topic, partition, _ = a_topic(started)
    started.broker.produce(topic, "one", partition=partition)
    killed = started.processes()[2]
    addresses = started.addresses
    killed.kill()
    wait_until(lambda: started.processes().get(2) not in (None, killed))
    wait_until(lambda: leaders(started, topic)[partition] == 2)
    started.broker.produce(topic, "two", partition=partition)
    assert [one.value for one in started.broker.records(topic)] == [b"one", b"two"]
    assert started.addresses == addresses
    assert "process ended and is started again node=2 how=SIGKILL pause_s=" in started.broker.log
    assert "last stop was not clean" in started.broker.log


def test_its_partitions_have_no_leader_meanwhile(started: Cluster) -> None:
    topic, partition, _ = a_topic(started)
    host, port = started.addresses[1]
    # Somebody else has its port, so it cannot come back.
    started.processes()[2].suspend()
    with socket.socket() as other:
        other.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        started.processes()[2].kill()
        wait_until(lambda: _binds(other, host, port))
        other.listen()
        wait_until(lambda: leaders(started, topic)[partition] == NO_LEADER)
        # It cannot start, again and again, and waits longer each time.
        told = f"how=cannot listen on {host}:{port}: Address already in use pause_s="
        wait_until(lambda: f"{told}2.0" in started.broker.log)
        assert f"{told}1.0" in started.broker.log
        assert sorted(set(leaders(started, topic, 2).values())) == [NO_LEADER, 1, 3]
    wait_until(lambda: leaders(started, topic)[partition] == 2)


def _binds(sock: socket.socket, host: str, port: int) -> bool:
    try:
        sock.bind((host, port))
    except OSError:
        return False
    return True


def test_a_process_that_is_stopped_is_started_again_without_recovery(started: Cluster) -> None:
    topic, partition, _ = a_topic(started)
    started.broker.produce(topic, "one", partition=partition)
    stopped = started.processes()[2]
    stopped.send_signal(signal.SIGTERM)
    wait_until(lambda: started.processes().get(2) not in (None, stopped))
    wait_until(lambda: leaders(started, topic)[partition] == 2)
    assert [one.value for one in started.broker.records(topic)] == [b"one"]
    assert "how=a stop" in started.broker.log
    assert "last stop was not clean" not in started.broker.log
    assert "unclean election" not in started.broker.log


def test_nobody_is_left_when_the_first_process_is_killed(started: Cluster) -> None:
    topic, partition, _ = a_topic(started)
    started.broker.produce(topic, "one", partition=partition)
    others = started.processes().values()
    started.broker.kill()
    assert psutil.wait_procs(others, timeout=30)[1] == []
    started.broker.restart()
    assert [one.value for one in started.broker.records(topic)] == [b"one"]


def test_all_stop_together_and_nothing_is_recovered(tmp_path: Path) -> None:
    with Broker({"broker.lite.processes": "2"}, data_dir=tmp_path) as broker:
        started = Cluster(broker)
        broker.create_topic("t", partitions=2)
        for partition in range(2):
            broker.produce("t", str(partition), partition=partition)
        others = started.processes().values()
        broker.stop()
        assert psutil.wait_procs(others, timeout=0)[1] == []
        assert (tmp_path / ".kafka_cleanshutdown").exists()
        assert (tmp_path / "nodes" / "2" / ".kafka_cleanshutdown").exists()
        broker.start()
        assert sorted(one.value for one in broker.records("t")) == [b"0", b"1"]
        assert "not clean" not in broker.log


def serve(port: int, data_dir: Path) -> list[str]:
    command = [sys.executable, "-m", "broker_lite", "serve", "--processes", "2"]
    return [*command, "--port", str(port), "--data-dir", str(data_dir)]


def test_ctrl_c_reaches_all_and_is_one_stop(tmp_path: Path) -> None:
    broker = subprocess.Popen(
        serve(0, tmp_path), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert broker.stdout is not None
    assert "ready on" in broker.stdout.readline()
    others = psutil.Process(broker.pid).children()
    for process in (*others, broker):
        process.send_signal(signal.SIGINT)
    _, log = broker.communicate(timeout=30)
    assert broker.returncode == 0
    assert psutil.wait_procs(others, timeout=0)[1] == []
    assert "started again" not in log


def test_a_port_that_is_taken_ends_the_start_with_one_line(tmp_path: Path) -> None:
    with socket.socket() as second:
        wait_until(lambda: _binds(second, "127.0.0.1", free_port() + 1))
        second.listen()
        port = second.getsockname()[1] - 1
        ended = subprocess.run(
            serve(port, tmp_path), capture_output=True, text=True, timeout=60, check=False
        )
    assert ended.returncode == 2
    assert f"cannot listen on 127.0.0.1:{port + 1}" in ended.stderr
    assert "Traceback" not in ended.stderr


def test_a_reset_empties_all_data_directories(started: Cluster) -> None:
    topic, partition, _ = a_topic(started)
    started.broker.produce(topic, "one", partition=partition)
    addresses = started.addresses
    started.broker.reset()
    assert started.addresses == addresses
    with Client(started.broker.bootstrap) as client:
        assert not client.metadata().topics
    started.broker.create_topic(topic, partitions=PROCESSES)
    assert started.broker.records(topic) == []


@pytest.mark.parametrize("through", range(PROCESSES))
def test_a_change_is_seen_by_who_has_asked_for_it(started: Cluster, through: int) -> None:
    with RawClient(*started.addresses[through]) as client:
        for number in range(10):
            name = f"t{number}"
            new = messages.CreateTopicsRequest.CreatableTopic
            topic = new(name=name, num_partitions=2, replication_factor=1)
            (made,) = client.call("CreateTopics", 2, topics=[topic], timeout_ms=5000).topics
            assert made.error_code == 0
            offsets = messages.ListOffsetsRequest
            wanted = [
                offsets.ListOffsetsPartition(partition_index=index, timestamp=-1)
                for index in range(2)
            ]
            asked = [offsets.ListOffsetsTopic(name=name, partitions=wanted)]
            (told,) = client.call("ListOffsets", 1, replica_id=-1, topics=asked).topics
            # no partition is unknown: this broker leads it, or says that another one does
            assert {one.error_code for one in told.partitions} <= {0, 6}


def test_one_process_imports_nothing_of_this(tmp_path: Path) -> None:
    command = [sys.executable, "-X", "importtime", "-m", "broker_lite", "serve", "--port", "0"]
    with (tmp_path / "imported").open("w") as sink:
        broker = subprocess.Popen(
            [*command, "--data-dir", str(tmp_path)], stdout=subprocess.PIPE, stderr=sink, text=True
        )
    assert broker.stdout is not None
    assert "ready on" in broker.stdout.readline()
    broker.terminate()
    broker.communicate(timeout=30)
    imported = (tmp_path / "imported").read_text()
    assert "broker_lite.server.run" in imported
    assert "broker_lite.server.processes" not in imported
    assert "broker_lite.control.cluster.following" not in imported
