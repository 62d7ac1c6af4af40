"""Whole runs of idle connections, against a broker and against servers that misbehave."""

import socket
import threading
import time

import pytest

from broker_lite.client import Client, NoConnection
from broker_lite.load.cluster import Cluster
from broker_lite.load.idle import IdleWork
from broker_lite.load.idle_run import IdleRun
from broker_lite.load.recorder import Recorder
from broker_lite.load.schedule import Schedule
from tests.load.lanes import MS, TOPIC
from tests.load.test_idle import metadata_answer
from tests.load.test_run import OneBroker
from tests.support.scripted_server import ScriptedServer, answer, read_request, speak

ASKED = {"Metadata": (0, 12)}
WAIT_S = 30


def run_of(
    cluster: object, *, connections: int, topic: str = TOPIC, rate: float | None = None
) -> tuple[IdleRun, IdleWork, Recorder]:
    """A run that asks every 50 ms and fetches never, and what it counts by."""
    metadata, connects = Recorder(warmup_s=0), Recorder(warmup_s=0)
    work = IdleWork(
        topic=topic,
        ends={},
        client_id="me",
        ask_every_ns=50 * MS,
        fetch_every_ns=None,
        metadata=metadata,
        fetches=Recorder(warmup_s=0),
    )
    run = IdleRun(
        cluster,  # type: ignore[arg-type]
        work,
        connections=connections,
        opening=Schedule(rate),
        connects=connects,
        clock=time.monotonic_ns,
    )
    return run, work, connects


def test_connections_stay_and_ask(bootstrap: str, topic: str) -> None:
    cluster = Cluster(Client(bootstrap), topic, Client)
    cluster.create_topic(200)
    cluster.wait_for_leaders()
    run, work, connects = run_of(cluster, connections=20, topic=topic, rate=1000)
    run.open()
    assert (run.connections, run.partitions) == (20, 200)
    assert connects.measured.latencies_ns.count == 20
    run.run(0.3)
    cluster.close()
    # answered or not, sent or not: each was due six times
    assert work.metadata.measured.latencies_ns.count == 20 * 6
    assert work.metadata.errors == {}
    assert (work.partitions_told, run.open_at_end) == (200, 20)


def test_no_connection_can_be_opened() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    run, work, _ = run_of(OneBroker(f"127.0.0.1:{port}"), connections=3)
    with pytest.raises(NoConnection, match="connection refused"):
        run.open()
    assert work.metadata.errors == {"no connection": 3}


def test_a_broker_without_the_api() -> None:
    with ScriptedServer(speak) as server:
        run, _, _ = run_of(OneBroker(server.bootstrap), connections=1)
        with pytest.raises(Exception, match="does not have the API Metadata"):
            run.open()


def test_a_connection_that_ends_is_counted() -> None:
    def answer_one(client: socket.socket) -> None:
        speak(client, **ASKED)
        answer_metadata(client)

    with ScriptedServer(answer_one) as server:
        run, work, _ = run_of(OneBroker(server.bootstrap), connections=1)
        run.open()
        run.run(1.5)
    assert work.metadata.measured.requests == 1
    assert work.metadata.errors == {"connection lost": 1}
    assert run.open_at_end == 0


def answer_metadata(client: socket.socket) -> None:
    _, _, correlation_id = read_request(client)
    answer(client, correlation_id, bytes(metadata_answer(partitions=3000)))


def test_a_broker_that_does_not_answer_in_time() -> None:
    def silent(client: socket.socket) -> None:
        speak(client, **ASKED)
        while client.recv(1 << 16):
            pass

    with ScriptedServer(silent) as server:
        cluster = OneBroker(server.bootstrap)
        cluster.timeout_s = 0.1
        run, work, _ = run_of(cluster, connections=1)
        run.open()
        run.run(1.5)
    assert work.metadata.errors == {"no answer in time": 1}
    assert work.metadata.measured.latencies_ns.count == 1


def test_it_ends_when_it_is_told_to_stop() -> None:
    def stopping(client: socket.socket) -> None:
        speak(client, **ASKED)
        read_request(client)
        stopped.set()
        while client.recv(1 << 16):
            pass

    stopped = threading.Event()
    with ScriptedServer(stopping) as server:
        run, work, _ = run_of(OneBroker(server.bootstrap), connections=1)
        run.open()
        waiter = threading.Thread(target=lambda: (stopped.wait(WAIT_S), run.stop()))
        waiter.start()
        run.run(WAIT_S)
        waiter.join()
    assert work.metadata.unanswered == 1
    assert work.metadata.measured.length_s < WAIT_S
