"""A real Apache Kafka (KRaft, one node, loopback) and its own tools, fetched once through Maven.

`ReferenceKafka` starts and ends a broker; `run_tool` runs one class of Kafka's jars.
Both need Java 17 and Maven.
"""

import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Self

from tests.support.toolchain import user_cache

KAFKA_VERSION = "4.3.1"
KAFKA_OF_OLD_CLIENTS = "3.9.1"
"""The last line of releases that serves the versions of Produce and Fetch from before 0.11."""
CLUSTER_ID = "MkU3OEVBNTcwNTJENDM2Qk"
READY_TIMEOUT_S = 90
_HERE = Path(__file__).parent / "kafka"
_SHORT_LIVED = ["-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC"]


def jars(version: str = KAFKA_VERSION) -> Path:
    """The folder with Kafka's jars; fetched at the first call."""
    return fetch_jars(_HERE / "pom.xml", f"reference-kafka-{version}", version)


def fetch_jars(pom: Path, name: str, version: str) -> Path:
    """The folder with what a pom.xml asks for, with a version of Kafka; fetched once."""
    folder = user_cache(name)
    if not (folder / "complete").exists():
        folder.mkdir(parents=True, exist_ok=True)
        goal = [
            "dependency:copy-dependencies",
            f"-Dkafka.version={version}",
            f"-DoutputDirectory={folder / 'lib'}",
            "-DexcludeArtifactIds=slf4j-reload4j",  # 3.9's own; one way of logging is enough
        ]
        subprocess.run(["mvn", "-q", "-B", "-f", str(pom), *goal], check=True)
        (folder / "complete").touch()
    return folder / "lib"


def java_command(
    main_class: str, arguments: Sequence[str], heap: str = "256m", version: str = KAFKA_VERSION
) -> list[str]:
    """The command line that runs one class of Kafka's jars."""
    logging = f"-Dlog4j2.configurationFile={_HERE / 'log4j2.xml'}"
    classpath = f"{_HERE}:{jars(version)}/*"
    return ["java", f"-Xmx{heap}", logging, "-cp", classpath, main_class, *arguments]


def run_tool(
    main_class: str, *arguments: str, timeout_s: float = 120, version: str = KAFKA_VERSION
) -> str:
    """Run a tool of Kafka's and return what it printed; a non-zero exit raises with its output."""
    command = java_command(main_class, arguments, version=version)
    command[1:1] = _SHORT_LIVED
    done = subprocess.run(command, capture_output=True, text=True, timeout=timeout_s)
    if done.returncode != 0:
        raise RuntimeError(
            f"{main_class} exited with {done.returncode}:\n{done.stdout}{done.stderr}"
        )
    return done.stdout


def free_port() -> int:
    """A TCP port of the loopback that nobody listened on a moment ago."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


class ReferenceKafka:
    """One Kafka process with its data in a folder; a context manager."""

    def __init__(
        self,
        folder: Path,
        *,
        settings: Mapping[str, str] | None = None,
        heap: str = "700m",
        has_dynamic_voters: bool = False,
        is_short_lived: bool = False,
        version: str = KAFKA_VERSION,
        more_listeners: str = "",
        java_options: Sequence[str] = (),
        classes: Path | None = None,
    ) -> None:
        self.folder = folder
        self.version = version
        self.port = free_port()
        self._controller_port = free_port()
        self._has_dynamic_voters = has_dynamic_voters
        self._is_short_lived = is_short_lived
        self.log_dir = folder / "log"
        self._heap = heap
        self._more_listeners = more_listeners
        self._java_options = list(java_options)
        self._classes = classes
        self._settings = dict(settings or {})
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def bootstrap(self) -> str:
        """HOST:PORT for clients."""
        return f"127.0.0.1:{self.port}"

    @property
    def pid(self) -> int:
        """The process id of the running broker."""
        assert self._process is not None
        return self._process.pid

    def start(self) -> Self:
        """Format the folder when it is new, start the broker and wait until it is ready."""
        self.folder.mkdir(parents=True, exist_ok=True)
        properties = self.folder / "server.properties"
        properties.write_text(self._properties())
        if not (self.log_dir / "meta.properties").exists():
            voters = ["--standalone"] if self._has_dynamic_voters else []
            run_tool(
                "kafka.tools.StorageTool",
                *("format", "-t", CLUSTER_ID, "-c", str(properties), *voters),
                version=self.version,
            )
        output = self.folder / "server.out"
        command = java_command("kafka.Kafka", [str(properties)], self._heap, self.version)
        # what would make it faster later costs a start that is over before it pays
        options = _SHORT_LIVED if self._is_short_lived else [f"-Xms{self._heap}", "-XX:+UseG1GC"]
        command[1:1] = [*options, *self._java_options]
        if self._classes is not None:  # of plug-ins
            command[command.index("-cp") + 1] += f":{self._classes}"
        with output.open("wb") as sink:
            self._process = subprocess.Popen(
                command, stdout=sink, stderr=subprocess.STDOUT, start_new_session=True
            )
        deadline = time.monotonic() + READY_TIMEOUT_S
        while "Kafka Server started" not in output.read_text():
            if self._process.poll() is not None or time.monotonic() > deadline:
                self.stop()
                raise RuntimeError(f"Kafka did not start:\n{output.read_text()[-3000:]}")
            time.sleep(0.1)
        return self

    def stop(self) -> None:
        """End the broker that `start` started."""
        if self._process is None:
            return
        self._process.send_signal(signal.SIGTERM)
        try:
            self._process.wait(15)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._process = None

    def kill(self) -> None:
        """End the broker with SIGKILL."""
        assert self._process is not None
        self._process.kill()
        self._process.wait()
        self._process = None

    def remove(self) -> None:
        """Delete its folder."""
        shutil.rmtree(self.folder, ignore_errors=True)

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.stop()

    def _properties(self) -> str:
        controller = f"127.0.0.1:{self._controller_port}"
        voters = (
            {"controller.quorum.bootstrap.servers": controller}
            if self._has_dynamic_voters
            else {"controller.quorum.voters": f"1@{controller}"}
        )
        clients = f"PLAINTEXT://127.0.0.1:{self.port}{self._more_listeners}"
        lines = {
            "process.roles": "broker,controller",
            "node.id": "1",
            **voters,
            "listeners": f"{clients},CONTROLLER://{controller}",
            "advertised.listeners": clients,
            "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT",
            "inter.broker.listener.name": "PLAINTEXT",
            "controller.listener.names": "CONTROLLER",
            "log.dirs": str(self.log_dir),
            "offsets.topic.replication.factor": "1",
            "offsets.topic.num.partitions": "4",
            "transaction.state.log.replication.factor": "1",
            "transaction.state.log.min.isr": "1",
            "transaction.state.log.num.partitions": "4",
            "share.coordinator.state.topic.replication.factor": "1",
            "share.coordinator.state.topic.min.isr": "1",
            "share.coordinator.state.topic.num.partitions": "2",
            "group.initial.rebalance.delay.ms": "0",
            **self._settings,
        }
        return "".join(f"{name}={value}\n" for name, value in lines.items())
