"""A standalone Spark cluster on the loopback: a master, and workers that a test may kill.

Each of them leads a session of processes, a worker's executors and their Pythons being in it, so
that nothing is left behind whatever happens to it.
"""

import os
import re
import signal
import subprocess
import time
from pathlib import Path
from queue import Empty, SimpleQueue
from threading import Thread
from typing import IO, Final, Self

import pyspark

from broker_lite.pipeline.spark.class_archive import class_archive
from broker_lite.pipeline.spark.java import Java, find_java
from broker_lite.pipeline.spark.session import LOOPBACK

LINE_TIMEOUT_S: Final = 60
WORKERS: Final = 2
_HOME: Final = Path(pyspark.__file__).parent


def shared_classes(java: Java) -> str:
    """Options for a Java that takes its classes from the archive of the sessions, if it is there.

    It saves each of a cluster's processes a third of the CPU time of its start.
    """
    archive = class_archive(java)
    return archive.use_options() if archive is not None and archive.is_there else ""


class Cluster:
    """A master and two workers with a core each; a context manager.

    Args:
        folder: for what workers and executors write.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._daemons: list[_Daemon] = []
        self.master_url = ""

    def __enter__(self) -> Self:
        try:
            master = self._start("master.Master", "--host", LOOPBACK, "--port", "0")
            self.master_url = master.wait_for(r"Starting Spark master at (spark://\S+)")[1]
            for _ in range(WORKERS):
                self._add_worker()
            for worker in self.workers:
                worker.wait_for("Successfully registered with master")
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def workers(self) -> list["_Daemon"]:
        """Those that run, the oldest first."""
        return self._daemons[1:]

    def replace_worker(self) -> None:
        """Kill the oldest worker with all that it runs, and start another one."""
        worker = self.workers[0]
        worker.kill()
        self._daemons.remove(worker)
        self._add_worker()

    def close(self) -> None:
        """Kill everything that was started."""
        while self._daemons:
            self._daemons.pop().kill()

    def _add_worker(self) -> None:
        limits = ("--cores", "1", "--memory", "1g", "--work-dir", str(self._folder / "work"))
        self._start("worker.Worker", "--host", LOOPBACK, *limits, self.master_url)

    def _start(self, name: str, *arguments: str) -> "_Daemon":
        java = find_java()
        options = "-XX:+UseSerialGC -XX:TieredStopAtLevel=1"
        environment = {
            **os.environ,
            "JAVA_HOME": str(java.home),
            "SPARK_HOME": str(_HOME),
            "SPARK_LOCAL_IP": LOOPBACK,
            "SPARK_LOCAL_DIRS": str(self._folder / "local"),
            "SPARK_DAEMON_MEMORY": "256m",
            "SPARK_DAEMON_JAVA_OPTS": f"{options} {shared_classes(java)}",
        }
        program = (_HOME / "bin" / "spark-class", f"org.apache.spark.deploy.{name}")
        process = subprocess.Popen(
            [*program, "--webui-port", "0", *arguments],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            env=environment,
            start_new_session=True,
        )
        daemon = _Daemon(name, process)
        self._daemons.append(daemon)
        return daemon


class _Daemon:
    """A process whose lines on standard error are read as they come."""

    def __init__(self, name: str, process: subprocess.Popen[str]) -> None:
        assert process.stderr is not None
        self._name = name
        self._process = process
        self._lines: SimpleQueue[str] = SimpleQueue()
        self._reader = Thread(target=self._read, args=(process.stderr,), daemon=True)
        self._reader.start()

    def _read(self, stream: IO[str]) -> None:
        for line in stream:
            self._lines.put(line)

    def wait_for(self, pattern: str) -> re.Match[str]:
        """Wait for a line that has a match."""
        seen = []
        deadline = time.monotonic() + LINE_TIMEOUT_S
        while True:
            try:
                seen.append(self._lines.get(timeout=max(deadline - time.monotonic(), 0)))
            except Empty:
                raise RuntimeError(f"{self._name} printed:\n{''.join(seen)}") from None
            found = re.search(pattern, seen[-1])
            if found is not None:
                return found

    def kill(self) -> None:
        """End it and what it started with SIGKILL."""
        os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        self._reader.join()
        assert self._process.stderr is not None
        self._process.stderr.close()
