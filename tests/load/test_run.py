"""Whole runs: against a server that does what a test says, and against brokers that go away."""

import socket
import threading
import time
from collections.abc import Callable, Mapping, Sequence

import pytest

from broker_lite.client import Address, Client, Connection, NoConnection
from broker_lite.client.deadline import Deadline
from broker_lite.errors import ClientError
from broker_lite.load.cluster import Cluster, View
from broker_lite.load.produce import ProduceWork
from broker_lite.load.recorder import Recorder, Second
from broker_lite.load.run import Load, Run
from broker_lite.load.schedule import Schedule
from broker_lite.load.stamped import Batch
from broker_lite.record.builder import BatchBuilder
from broker_lite.testing import Broker
from tests.load.lanes import SECOND, TOPIC, produce_answer, produce_work
from tests.support.scripted_server import ScriptedServer, answer, read_request, speak

WAIT_S = 30
PRODUCE = {"Produce": (3, 9)}


class OneBroker:
    """A cluster of one broker that leads all partitions."""

    timeout_s = 20.0

    def __init__(self, bootstrap: str, *, partitions: int = 1) -> None:
        self._address = Address.parse(bootstrap)
        self._partitions = partitions

    def look(self, starts_of: Sequence[int] = ()) -> View:
        leaders = dict.fromkeys(range(self._partitions), 1)
        return View(leaders, self._partitions, {1: self._address}, {})

    def open(self, node_id: int, address: Address | None) -> Connection:
        assert address is not None
        return Connection(address)


def run_of(cluster: object, work: ProduceWork, *, connections: int = 1, in_flight: int = 5) -> Run:
    return Run(
        cluster,  # type: ignore[arg-type]
        [Load(work, connections=connections, in_flight=in_flight)],
        schedule=work.schedule,
        recorders=[work.recorder],
        clock=time.monotonic_ns,
    )


def all_were_accepted(recorder: Recorder, due: int) -> bool:
    """Whether so many requests of 10 records were due, and all that could leave were accepted."""
    open_at_the_end = recorder.unsent + recorder.unanswered
    return recorder.accepted_records == 10 * (due - open_at_the_end)


def answer_produce(client: socket.socket) -> None:
    _, _, correlation_id = read_request(client)
    answer(client, correlation_id, bytes(produce_answer()))


def answer_all(client: socket.socket) -> None:
    speak(client, **PRODUCE)
    while True:
        answer_produce(client)


@pytest.mark.slow
def test_a_stall_counts_from_when_requests_were_due() -> None:
    """The server answers nothing before a second has passed, by the run's own account."""
    is_over = threading.Event()

    def stall(client: socket.socket) -> None:
        speak(client, **PRODUCE)
        assert is_over.wait(WAIT_S)
        while True:
            answer_produce(client)

    def on_second(second: Second) -> None:
        is_over.set()

    recorder = Recorder(warmup_s=0, on_second=on_second)
    with ScriptedServer(stall) as server:
        run = run_of(OneBroker(server.bootstrap), produce_work(recorder, per_second=50))
        run.open()
        assert run.connections == 1
        run.run(2)
    latencies_ns = recorder.measured.latencies_ns
    # 50 requests were due in the second of the stall, though only 5 could leave
    assert recorder.seconds[0].requests == 0
    assert latencies_ns.max >= SECOND
    assert latencies_ns.percentile(0.99) > 0.9 * SECOND
    assert latencies_ns.percentile(0.75) > 0.4 * SECOND
    assert latencies_ns.count == 100
    assert all_were_accepted(recorder, 100)


@pytest.mark.slow
def test_a_connection_that_ends_is_opened_again() -> None:
    def answer_one(client: socket.socket) -> None:
        speak(client, **PRODUCE)
        answer_produce(client)
        read_request(client)

    recorder = Recorder(warmup_s=0)
    with ScriptedServer(answer_one, answer_all) as server:
        run = run_of(OneBroker(server.bootstrap), produce_work(recorder, per_second=50))
        run.open()
        run.run(1)
    assert recorder.errors == {"connection lost": 1}
    assert recorder.retries["connection lost"] >= 1
    assert all_were_accepted(recorder, 50)


def test_the_end_does_not_wait_for_what_was_told_to_stop() -> None:
    recorder = Recorder(warmup_s=0)
    stopped: list[Callable[[], None]] = []

    def silent(client: socket.socket) -> None:
        speak(client, **PRODUCE)
        for _ in range(3):
            read_request(client)
        stopped[0]()
        while client.recv(1 << 16):
            pass

    with ScriptedServer(silent) as server:
        run = run_of(OneBroker(server.bootstrap), produce_work(recorder), in_flight=3)
        stopped.append(run.stop)
        run.open()
        run.run(WAIT_S)
    assert recorder.unanswered == 3
    assert recorder.measured.latencies_ns.count == 3
    assert recorder.measured.length_s < WAIT_S


def test_answers_on_their_way_are_awaited_at_the_end() -> None:
    has_ended = threading.Event()
    recorder = Recorder(warmup_s=0, on_finished=has_ended.set)

    def answer_late(client: socket.socket) -> None:
        speak(client, **PRODUCE)
        assert has_ended.wait(WAIT_S)
        while True:
            answer_produce(client)

    with ScriptedServer(answer_late) as server:
        run = run_of(OneBroker(server.bootstrap), produce_work(recorder), in_flight=3)
        run.open()
        run.run(0.1)
    assert (recorder.measured.requests, recorder.unanswered) == (0, 0)
    assert recorder.accepted_records == 30
    assert recorder.measured.latencies_ns.count == 3


@pytest.mark.slow
def test_a_broker_that_does_not_answer_in_time() -> None:
    def silent(client: socket.socket) -> None:
        speak(client, **PRODUCE)
        while client.recv(1 << 16):
            pass

    recorder = Recorder(warmup_s=0)
    with ScriptedServer(silent, answer_all) as server:
        cluster = OneBroker(server.bootstrap)
        cluster.timeout_s = 0.1
        run = run_of(cluster, produce_work(recorder, per_second=50))
        run.open()
        run.run(1)
    assert recorder.errors == {"no answer in time": 1}
    assert all_were_accepted(recorder, 50)


def test_no_connection_can_be_opened() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    run = run_of(OneBroker(f"127.0.0.1:{port}"), produce_work(Recorder(warmup_s=0)))
    with pytest.raises(NoConnection, match="connection refused"):
        run.open()


def test_a_broker_without_the_api() -> None:
    with ScriptedServer(speak) as server:
        run = run_of(OneBroker(server.bootstrap), produce_work(Recorder(warmup_s=0)))
        with pytest.raises(ClientError, match="does not have the API Produce"):
            run.open()


def one_record() -> bytes:
    builder = BatchBuilder()
    builder.append(0, None, b"value")
    return builder.build()


@pytest.mark.slow
def test_a_question_that_fails_is_asked_again() -> None:
    recorder = Recorder(warmup_s=0)
    with ScriptedServer(answer_all) as server:
        cluster = Unsteady(server.bootstrap, partitions=2)
        run = run_of(cluster, produce_work(recorder, per_second=100, partitions=2))
        run.open()
        assert run.partitions == 1
        run.run(2)
        assert run.partitions == 2
    assert cluster.questions >= 3
    assert all_were_accepted(recorder, 200)


class Unsteady(OneBroker):
    """A cluster that tells one leader, then nothing, and then all."""

    questions = 0

    def look(self, starts_of: Sequence[int] = ()) -> View:
        self.questions += 1
        if self.questions == 2:
            raise NoConnection("nobody is there")
        view = super().look(starts_of)
        return view._replace(leaders={0: 1}) if self.questions == 1 else view


def test_a_session_that_ends_soon_is_left_in_time() -> None:
    recorder = Recorder(warmup_s=0)
    with ScriptedServer(answer_all, answer_all) as server:
        cluster = ShortSession(server.bootstrap)
        run = run_of(cluster, produce_work(recorder, per_second=100))
        run.open()
        run.run(0.5)
    assert cluster.opened == 2
    assert (recorder.errors, recorder.retries) == ({}, {})
    assert all_were_accepted(recorder, 50)


class ShortSession(OneBroker):
    """A cluster whose first connection wants a login at once."""

    opened = 0

    def open(self, node_id: int, address: Address | None) -> Connection:
        connection = super().open(node_id, address)
        self.opened += 1
        if self.opened == 1:
            connection._login_due = Deadline(0)
        return connection


class Moving(OneBroker):
    """A cluster whose partitions get other leaders with each question."""

    def __init__(self, first: str, second: str, views: Sequence[Mapping[int, int]]) -> None:
        super().__init__(first, partitions=2)
        self._addresses = {1: Address.parse(first), 2: Address.parse(second)}
        self._views = list(views)

    def look(self, starts_of: Sequence[int] = ()) -> View:
        leaders = self._views.pop(0) if len(self._views) > 1 else self._views[0]
        return View(leaders, 2, self._addresses, {})


@pytest.mark.slow
@pytest.mark.parametrize(("later", "connections"), [({0: 2, 1: 2}, 1), ({0: 2, 1: 1}, 2)])
def test_partitions_that_move_to_another_broker(later: Mapping[int, int], connections: int) -> None:
    """Partition 1 has no leader at first, so the run asks again by itself."""
    recorder = Recorder(warmup_s=0)
    with ScriptedServer(answer_all) as first, ScriptedServer(answer_all) as second:
        work = produce_work(recorder, per_second=100, partitions=2)
        run = run_of(Moving(first.bootstrap, second.bootstrap, [{0: 1}, later]), work)
        run.open()
        assert run.connections == 1
        run.run(1)
        assert run.connections == connections
    assert recorder.errors == {}
    assert all_were_accepted(recorder, 100)


@pytest.mark.slow
def test_a_leader_that_crashes() -> None:
    settings = {"broker.session.timeout.ms": 0, "default.replication.factor": 2}
    with Broker(settings, brokers=2, topics=["load:4"]) as broker:
        schedule = Schedule(100)
        has_begun = threading.Event()
        recorder = Recorder(warmup_s=0, on_second=lambda _: has_begun.set())
        cluster = Cluster(Client(broker.bootstrap), TOPIC, Client)
        work = ProduceWork(
            topic=TOPIC,
            partitions=range(4),
            batches=[Batch(one_record(), 1)],
            acks=-1,
            timeout_ms=1000,
            client_id="me",
            schedule=schedule,
            recorder=recorder,
            producer=cluster.producer(),
        )
        run = run_of(cluster, work, connections=2)
        run.open()
        crash = threading.Thread(target=lambda: (has_begun.wait(WAIT_S), broker.brokers[2].down()))
        crash.start()
        run.run(4)
        crash.join()
        written = sum(cluster.offsets(earliest=False).values())
        assert (
            recorder.accepted_records <= written <= recorder.accepted_records + recorder.unanswered
        )
        cluster.close()
    assert recorder.errors["connection lost"] == 1
    assert recorder.accepted_records == 400 - recorder.unsent - recorder.unanswered
