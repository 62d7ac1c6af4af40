"""Processes that hang: noticed by their silence, let in again, or ended. See: C-26."""

import logging
import os
import re
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, cast

import anyio
import psutil
import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic

from broker_lite.control.cluster.membership import Membership
from broker_lite.server.processes.session import Session, heartbeat_s, timeout_s
from broker_lite.server.processes.spawning import Spawned
from broker_lite.settings import Given, Settings
from broker_lite.testing import Broker
from tests.server.processes.conftest import NAME, Cluster, wait_until
from tests.server.processes.test_children import NO_LEADER, a_topic, leaders, serve
from tests.support.raw_client import RawClient

HERE = Path(__file__).parents[3]
SESSION = {"broker.session.timeout.ms": "1000"}
# A process that is told to hang does so in Python, in the midst of its loop.
HANGS = """
import signal

def hang(number, frame):
    while True:
        pass

signal.signal(signal.SIGUSR1, hang)
"""

# A process that is told to cannot write to its disk any more.
HAS_NO_DISK = """
import os, signal, time

def wait(descriptor):
    time.sleep(3600)

def lose_disk(number, frame):
    from broker_lite.log.files import disk_calls
    disk_calls.take_over(os.pwrite, wait, wait)

signal.signal(signal.SIGUSR1, lose_disk)
"""


@pytest.fixture
def impatient() -> Iterator[Cluster]:
    """Three processes, of which each is fenced after a second of silence."""
    with Broker({"broker.lite.processes": "3", **SESSION}) as broker:
        yield Cluster(broker)


def told_brokers(cluster: Cluster, through: int = 0) -> list[int]:
    """The brokers that a client is told."""
    with RawClient(*cluster.addresses[through]) as client:
        return sorted(one.node_id for one in client.call("Metadata", 1, topics=[]).brokers)


def test_c_26_a_silent_process_is_fenced_and_let_in_again(impatient: Cluster) -> None:
    topic, partition, _ = a_topic(impatient)
    impatient.broker.produce(topic, "one", partition=partition)
    silent = impatient.processes()[2]
    silent.suspend()
    for through in (0, 2):
        wait_until(lambda through=through: told_brokers(impatient, through) == [1, 3])  # type: ignore[misc]
        assert leaders(impatient, topic, through)[partition] == NO_LEADER
    assert "process is silent, its broker is fenced node=2" in impatient.broker.log
    silent.resume()
    for through in range(3):
        wait_until(lambda through=through: told_brokers(impatient, through) == [1, 2, 3])  # type: ignore[misc]
        wait_until(lambda through=through: leaders(impatient, topic, through)[partition] == 2)  # type: ignore[misc]
    impatient.broker.produce(topic, "two", partition=partition)
    assert [one.value for one in impatient.broker.records(topic)] == [b"one", b"two"]
    assert impatient.processes()[2] == silent


def further(first: psutil.Process) -> psutil.Process | None:
    """The process of broker 2."""
    return next((each for each in first.children() if each.name() == f"{NAME}2"), None)


@contextmanager
def signalled(path: Path, on_signal: str) -> Iterator[tuple[psutil.Process, list[str]]]:
    """Serve with two processes that do something on SIGUSR1; give the first, and later its log."""
    (path / "sitecustomize.py").write_text(on_signal)
    log, lines = path / "log", list[str]()
    with log.open("w") as sink:
        broker = subprocess.Popen(
            [*serve(0, path / "data"), "--set", "broker.session.timeout.ms=1000"],
            stdout=subprocess.PIPE,
            stderr=sink,
            text=True,
            env={**os.environ, "PYTHONPATH": os.pathsep.join((str(path), str(HERE)))},
        )
    try:
        assert broker.stdout is not None
        lines.append(broker.stdout.readline())
        assert "ready on" in lines[0]
        yield psutil.Process(broker.pid), lines
    finally:
        broker.terminate()
        broker.communicate(timeout=30)
        lines[:] = [log.read_text()]


def test_a_process_in_a_dead_loop_is_ended_and_started_again(tmp_path: Path) -> None:
    with signalled(tmp_path, HANGS) as (first, lines):
        hanging = further(first)
        assert hanging is not None
        hanging.send_signal(signal.SIGUSR1)
        wait_until(lambda: further(first) not in (None, hanging))
    assert "process is silent, its broker is fenced node=2" in lines[0]
    assert "process hangs and is ended node=2" in lines[0]
    assert "process ended and is started again node=2 how=SIGKILL" in lines[0]


def test_a_process_that_hangs_as_it_stops_leads_nothing(tmp_path: Path) -> None:
    with signalled(tmp_path, HAS_NO_DISK) as (first, lines):
        addresses = re.findall(r"([\d.]+):(\d+)", lines[0])
        bootstrap = ",".join(":".join(each) for each in addresses)
        ports = [("127.0.0.1", int(port)) for _, port in addresses]

        def brokers() -> list[int]:
            with RawClient(*ports[0]) as client:
                return sorted(one.node_id for one in client.call("Metadata", 1, topics=[]).brokers)

        wait_until(lambda: brokers() == [1, 2])
        producer = Producer({"bootstrap.servers": bootstrap})
        admin = AdminClient({"bootstrap.servers": bootstrap})
        admin.create_topics([NewTopic("t", 4)])["t"].result(30)
        for partition in range(4):
            producer.produce("t", b"v", partition=partition)
        assert producer.flush(30) == 0
        leaving = further(first)
        assert leaving is not None
        leaving.send_signal(signal.SIGUSR1)
        leaving.send_signal(signal.SIGTERM)
        wait_until(lambda: brokers() == [1])
        assert leaving.is_running()
        leaving.kill()
        wait_until(lambda: brokers() == [1, 2])


def test_all_stop_although_one_is_suspended(impatient: Cluster) -> None:
    others = list(impatient.processes().values())
    others[0].suspend()
    wait_until(lambda: "its broker is fenced" in impatient.broker.log)
    impatient.broker.stop()
    assert psutil.wait_procs(others, timeout=0)[1] == []


class Members:
    """Notes what becomes of a broker."""

    def __init__(self) -> None:
        self.calls: list[tuple[str, int]] = []

    def fence(self, node_id: int) -> None:
        self.calls.append(("fence", node_id))

    def speak(self, node_id: int) -> None:
        self.calls.append(("speak", node_id))


class Suspended:
    """A process, as far as a session looks at it."""

    def __init__(self, *answers: bool) -> None:
        self._answers = [*answers]

    @property
    def is_suspended(self) -> bool:
        return self._answers.pop(0)


class Scene:
    """A session of 9 seconds, and the time."""

    def __init__(self) -> None:
        self.now_s = 100.0
        self.members = Members()
        members = cast("Membership", self.members)
        self.session = Session(2, members, 9.0, now_s=lambda: self.now_s)

    def look_at(self, now_s: float) -> bool:
        self.now_s = now_s
        return self.session.look(now_s)


def test_c_26_the_edge_of_a_session() -> None:
    scene = Scene()
    assert not scene.look_at(108.999)
    assert scene.members.calls == []
    assert not scene.look_at(109.0)
    assert scene.members.calls == [("fence", 2)]
    assert not scene.look_at(126.999)
    assert scene.look_at(127.0)
    scene.session.heard()
    assert scene.members.calls == [("fence", 2), ("speak", 2)]
    assert not scene.look_at(135.999)
    scene.session.heard()
    assert scene.members.calls[2:] == []


def test_who_has_slept_itself_begins_anew() -> None:
    """As after SIGSTOP to all processes: the heartbeats of the others are not read yet."""
    scene = Scene()
    scene.now_s = 200.0
    assert not scene.session.look(109.0)
    assert scene.members.calls == []
    assert not scene.look_at(208.999)
    assert not scene.look_at(209.0)
    assert scene.members.calls == [("fence", 2)]


def test_a_suspended_process_is_asked_again(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "broker_lite.server")

    async def watch() -> None:
        members = cast("Membership", Members())
        session = Session(2, members, 0.01)
        process = Suspended(True, True, False)
        with anyio.fail_after(30):
            await session.watch(cast("Spawned", process), anyio.Event())

    anyio.run(watch)
    assert [each.getMessage().split(",")[0] for each in caplog.records] == [
        "process is silent",
        "process hangs and is ended node=2",
    ]


def test_a_process_that_leaves_may_take_its_time() -> None:
    members = Members()

    async def watch() -> None:
        session, leaving = Session(2, cast("Membership", members), 3600.0), anyio.Event()
        with anyio.fail_after(30):
            async with anyio.create_task_group() as group:
                group.start_soon(session.watch, cast("Spawned", Suspended()), leaving)
                await anyio.lowlevel.checkpoint()
                leaving.set()

    anyio.run(watch)
    assert members.calls == []


@pytest.mark.parametrize(
    ("given", "session_s", "pause_s"),
    [
        ({}, 9.0, 2.0),
        ({"broker.session.timeout.ms": "3000"}, 3.0, 1.0),
        ({"broker.heartbeat.interval.ms": "100"}, 9.0, 0.1),
        ({"broker.heartbeat.interval.ms": "0"}, 9.0, 3.0),
        ({"broker.session.timeout.ms": "0"}, 0.5, 0.5 / 3),
    ],
    ids=str,
)
def test_heartbeats_fit_into_a_session(given: Any, session_s: float, pause_s: float) -> None:
    settings = Settings({name: Given(text, "test") for name, text in given.items()})
    assert timeout_s(settings) == session_s
    assert heartbeat_s(settings) == pytest.approx(pause_s)
