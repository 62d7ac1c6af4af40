"""Three real Kafka brokers on the loopback, each in a process of its own, and their controller.

The controller is a fourth process. Brokers that were controllers, too, could not all be stopped:
two of three would take the quorum with them, and nothing would move any more.
"""

import signal
import subprocess
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Final, Self

from tests.support.raw_client import RawClient
from tests.support.reference_kafka import (
    CLUSTER_ID,
    READY_TIMEOUT_S,
    free_port,
    java_command,
)

NODE_IDS: Final = (1, 2, 3)
RACKS: Final = {1: "a", 2: "b", 3: "c"}
CONTROLLER_ID: Final = 100
SESSION_TIMEOUT_MS: Final = 3000
STOP_TIMEOUT_S: Final = 30
ELECTION_TIMEOUT_S: Final = 60
FENCING_TIMEOUT_S: Final = 40
FENCING_POLL_S: Final = 0.02
_STARTED: Final = "Kafka Server started"
# ReplicationControlManager.maybeFenceOneStaleBroker
_FENCED: Final = "Fencing broker {} at epoch"
_HEAP: Final = {CONTROLLER_ID: "256m"}
_BROKER_HEAP: Final = "400m"
# a start is over before the better compiler would pay
_JAVA_OPTIONS: Final = ("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC")


class KafkaProcess:
    """One process of the cluster, with its data in a folder; only its own pid gets signals."""

    def __init__(self, node_id: int, folder: Path, settings: Mapping[str, str]) -> None:
        self.node_id = node_id
        self._folder = folder
        self._properties = folder / "server.properties"
        self._output = folder / "server.out"
        self._process: subprocess.Popen[bytes] | None = None
        self._read_from = 0
        folder.mkdir(parents=True, exist_ok=True)
        lines = {**settings, "log.dirs": str(folder / "log")}
        self._properties.write_text("".join(f"{name}={text}\n" for name, text in lines.items()))

    @property
    def is_running(self) -> bool:
        """Whether it was started and has not ended."""
        return self._process is not None and self._process.poll() is None

    @property
    def pid(self) -> int:
        """The process id while it runs."""
        assert self._process is not None
        return self._process.pid

    def begin_format(self) -> subprocess.Popen[bytes]:
        """Start the tool that formats the folder."""
        words = ("format", "-t", CLUSTER_ID, "-c", str(self._properties))
        command = java_command("kafka.tools.StorageTool", words)
        command[1:1] = _JAVA_OPTIONS
        return subprocess.Popen(command, stdout=subprocess.DEVNULL, start_new_session=True)

    def begin_start(self) -> None:
        """Start it, and do not wait."""
        heap = _HEAP.get(self.node_id, _BROKER_HEAP)
        command = java_command("kafka.Kafka", [str(self._properties)], heap)
        command[1:1] = _JAVA_OPTIONS
        with self._output.open("ab") as sink:
            self._read_from = sink.tell()
            # a group of its own: Ctrl-C reaches this process, which then stops all of them
            self._process = subprocess.Popen(
                command, stdout=sink, stderr=subprocess.STDOUT, start_new_session=True
            )

    def wait_until_started(self) -> None:
        """Wait until it is ready."""
        assert self._process is not None
        deadline = time.monotonic() + READY_TIMEOUT_S
        while _STARTED not in (said := self.said()):
            if self._process.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError(f"Kafka {self.node_id} did not start:\n{said[-3000:]}")
            time.sleep(0.05)

    def send(self, which: signal.Signals) -> None:
        """Send it a signal."""
        assert self._process is not None
        self._process.send_signal(which)

    def end(self, which: signal.Signals) -> None:
        """Send it a signal that ends it, and wait until it is gone."""
        if self._process is None:
            return
        self._process.send_signal(which)
        self._process.send_signal(signal.SIGCONT)
        try:
            self._process.wait(STOP_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._process = None

    def forget_output(self) -> None:
        """Let said() leave out what it has printed so far."""
        self._read_from = self._output.stat().st_size

    def said(self) -> str:
        """What it has printed since its start, or since forget_output()."""
        with self._output.open("rb") as source:
            source.seek(self._read_from)
            return source.read().decode(errors="replace")


class KafkaCluster:
    """Three brokers with the ids 1 to 3 in the racks a, b and c; a context manager.

    See tests.differential.cluster for what its methods promise.
    """

    name = "kafka"

    def __init__(self, folder: Path, settings: Mapping[str, str]) -> None:
        """Choose ports and write the settings; start() starts it."""
        self._silent: set[int] = set()
        controller = f"127.0.0.1:{free_port()}"
        self.addresses = {node_id: ("127.0.0.1", free_port()) for node_id in NODE_IDS}
        voters = {
            "controller.quorum.voters": f"{CONTROLLER_ID}@{controller}",
            "controller.listener.names": "CONTROLLER",
            "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT",
        }
        self._controller = KafkaProcess(
            CONTROLLER_ID,
            folder / "controller",
            {
                **voters,
                **settings,
                "process.roles": "controller",
                "node.id": str(CONTROLLER_ID),
                "listeners": f"CONTROLLER://{controller}",
            },
        )
        self._brokers = {
            node_id: KafkaProcess(
                node_id,
                folder / f"broker-{node_id}",
                {
                    **voters,
                    **settings,
                    "process.roles": "broker",
                    "node.id": str(node_id),
                    "broker.rack": RACKS[node_id],
                    "listeners": f"PLAINTEXT://127.0.0.1:{port}",
                    "inter.broker.listener.name": "PLAINTEXT",
                },
            )
            for node_id, (_, port) in self.addresses.items()
        }

    def start_all(self) -> None:
        """Format all folders, start all processes and wait until they are ready."""
        everyone = [self._controller, *self._brokers.values()]
        for each in [process.begin_format() for process in everyone]:
            assert each.wait(READY_TIMEOUT_S) == 0, "not formatted"
        for process in everyone:
            process.begin_start()
        for process in everyone:
            process.wait_until_started()

    def stop_all(self) -> None:
        """End everything that was started."""
        for process in self._brokers.values():
            with suppress(ProcessLookupError):
                if process.is_running:
                    process.send(signal.SIGCONT)
        # the controller last, because brokers say goodbye to it
        for process in [*self._brokers.values(), self._controller]:
            process.end(signal.SIGTERM)

    def kill(self, node_id: int) -> None:
        """Send SIGKILL."""
        self._expect_silence(node_id)
        self._brokers[node_id].end(signal.SIGKILL)

    def stop(self, node_id: int) -> None:
        """Send SIGTERM, and wait for the end of the controlled shutdown."""
        self._brokers[node_id].end(signal.SIGTERM)

    def pause(self, node_id: int) -> None:
        """Send SIGSTOP."""
        self._expect_silence(node_id)
        self._brokers[node_id].send(signal.SIGSTOP)

    def resume(self, node_id: int) -> None:
        """Send SIGCONT."""
        self._silent.discard(node_id)
        self._brokers[node_id].send(signal.SIGCONT)

    def start(self, node_id: int) -> None:
        """Start a broker again that was killed or stopped, and wait until it is ready."""
        self._silent.discard(node_id)
        self._brokers[node_id].begin_start()
        self._brokers[node_id].wait_until_started()

    def let_sessions_end(self) -> None:
        """Wait until the controller has fenced the silent brokers, which it does by itself.

        A broker that comes back before finds them leading, and leads after them without an election
        in between: the leader epoch is one lower then. Only the controller can tell when the last
        broker is gone.

        Raises:
            TimeoutError: they are not fenced in time.
        """
        deadline = time.monotonic() + FENCING_TIMEOUT_S
        while self._silent:
            said = self._controller.said()
            self._silent = {one for one in self._silent if _FENCED.format(one) not in said}
            if self._silent and time.monotonic() > deadline:
                raise TimeoutError(f"not fenced: {sorted(self._silent)}")
            time.sleep(FENCING_POLL_S)

    def _expect_silence(self, node_id: int) -> None:
        if not self._silent:
            self._controller.forget_output()
        self._silent.add(node_id)

    def elect_preferred(self) -> None:
        """Send ElectLeaders for all partitions."""
        with RawClient(*self.addresses[NODE_IDS[0]], timeout_s=ELECTION_TIMEOUT_S) as client:
            client.call("ElectLeaders", 2, election_type=0, topic_partitions=None)

    def __enter__(self) -> Self:
        try:
            self.start_all()
        except BaseException:
            self.stop_all()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.stop_all()
