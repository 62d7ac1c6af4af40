"""A broker for tests: a context manager for a process that ends with this one."""

import os
import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Final, Self

from broker_lite.errors import ClientError
from broker_lite.testing.bench_commands import BenchCommands
from broker_lite.testing.cluster_commands import ClusterCommands
from broker_lite.testing.data_commands import DataCommands
from broker_lite.testing.processes.forks import BrokerDied, BrokerFailed, forks_of_process
from broker_lite.testing.processes.plan import Plan, given_settings, security_settings
from broker_lite.testing.processes.process import BrokerProcess
from broker_lite.testing.secured_commands import SecuredCommands

if TYPE_CHECKING:
    from broker_lite.testing.aio import AsyncBroker
    from broker_lite.testing.connected import ConnectedBroker

_HOST: Final = "127.0.0.1"


class Broker(SecuredCommands, ClusterCommands, DataCommands, BenchCommands):
    """A broker in its own process: `with Broker() as broker: connect(broker.bootstrap)`.

    It stops when the context ends, or when this process ends in any way. Environment variables do
    not change its settings. All methods block; `aio` has them as coroutines, and `async with
    Broker() as broker` starts and stops without blocking.

    If the broker is killed by somebody else, or crashes, every method raises BrokerDied until
    restart(), start() or stop(). The error says how the broker ended and what it logged last.

    With several brokers, `brokers` and the methods of ClusterCommands say what happens to them.

    Attributes:
        settings: the given settings, as texts by Kafka's names.
        host: the address at which it listens; with several brokers, that of the first.
        port: the port at which it listens; 0 before the first start if any free port will do.
        addresses: HOST:PORT of each broker; empty before the first start.
    """

    def __init__(
        self,
        settings: Mapping[str, object] | None = None,
        *,
        topics: Iterable[str] = (),
        seed_file: str | os.PathLike[str] | None = None,
        config: str | os.PathLike[str] | None = None,
        data_dir: str | os.PathLike[str] | None = None,
        host: str | None = None,
        port: int = 0,
        brokers: int = 1,
        racks: Iterable[str] = (),
        security: str = "",
        users: Mapping[str, str] | None = None,
        san: Iterable[str] = (),
        security_only: bool = False,
        timeout_s: float = 60.0,
        client_properties: Mapping[str, str] | None = None,
    ) -> None:
        """Keep the arguments; start() starts the broker.

        Args:
            settings: by Kafka's names; booleans, numbers and lists are converted to Kafka's
                notation.
            topics: to create at the start: `name`, `name:partitions` or
                `name:partitions:config=value,...`; a single string may have several, separated by
                blanks.
            seed_file: records to write at the start, *.jsonl or *.csv.
            config: a settings file; `settings` wins over it.
            data_dir: kept at the end; None means a temporary directory.
            host: of the first listener, 127.0.0.1 by default.
            port: of the first listener, 0 for a free one. Without host and port, a setting
                `listeners` stays unchanged.
            brokers: how many brokers the cluster has, all in one process; see `brokers`.
            racks: of the brokers in turns.
            security: ssl, mtls, sasl_plaintext or sasl_ssl; client_config() says what clients need.
            users: more users with their passwords, beside admin and user.
            san: more names for the certificate.
            security_only: whether there is no PLAINTEXT listener beside the secured one.
            timeout_s: how long a start or a reset may take.
            client_properties: of a Java client, by which topics and records are asked for.
        """
        self.client_properties = dict(client_properties or {})
        self.settings = given_settings(
            settings or {}, brokers=brokers, racks=racks, topics=topics, seed_file=seed_file
        )
        self.settings |= security_settings(security, users or {}, san, is_only=security_only)
        self.addresses = []
        self.host = host or _HOST
        self.port = port
        self._config = None if config is None else os.path.abspath(config)
        leaves_listeners = "listeners" in self.settings and host is None and not port
        self._first_address = (None, None) if leaves_listeners else (self.host, port)
        self._timeout_s = timeout_s
        self._is_temporary = data_dir is None
        self._data_dir = None if data_dir is None else Path(os.path.abspath(data_dir))
        self._log_path: Path | None = None
        self._process: BrokerProcess | None = None
        self._death: BrokerDied | None = None

    @staticmethod
    def connect(
        url: str,
        *,
        bootstrap: str | None = None,
        timeout_s: float = 60.0,
        client_properties: Mapping[str, str] | None = None,
    ) -> "ConnectedBroker":
        """Return a broker that somebody else started, such as one in a container.

        It has the methods of a Broker. Those that start or end its process raise BrokerFailed.

        Args:
            url: of its control API, http://HOST:9099.
            bootstrap: HOST:PORT for clients; None for what the broker says.
            timeout_s: how long an answer may take.
            client_properties: see Broker().

        Raises:
            BrokerFailed: it cannot be reached.
        """
        from broker_lite.testing.connected import ConnectedBroker

        return ConnectedBroker(
            url, bootstrap=bootstrap, timeout_s=timeout_s, client_properties=client_properties
        )

    @property
    def bootstrap(self) -> str:  # type: ignore[explicit-override]
        """HOST:PORT for clients; with several brokers all of them, separated by commas."""
        return ",".join(self.addresses) or f"{self.host}:{self.port}"

    @property
    def data_dir(self) -> Path:
        """The data directory; a temporary one is empty at each start().

        Raises:
            BrokerFailed: it is a temporary directory, and the broker was never started.
        """
        if self._data_dir is None:
            raise BrokerFailed("the temporary data directory does not exist before the first start")
        return self._data_dir

    @property
    def pid(self) -> int:
        """The process id of the broker.

        Raises:
            BrokerFailed: it does not run.
            BrokerDied: it ended by itself.
        """
        return self._running().pid

    @property
    def is_running(self) -> bool:
        """Whether this process started it, did not stop it, and it is alive."""
        process = self._process
        return process is not None and not process.is_inherited and not process.has_ended

    @property
    def is_controlled(self) -> bool:
        """Whether its process was sent a request of the control API."""
        return self._process is not None and self._process.was_asked

    @property
    def log(self) -> str:
        """Everything that it has printed, over all restarts."""
        if self._log_path is None or not self._log_path.exists():
            return ""
        return self._log_path.read_text("utf-8", errors="replace")

    @property
    def aio(self) -> "AsyncBroker":
        """The same broker with coroutines instead of blocking methods."""
        from broker_lite.testing.aio import AsyncBroker

        return AsyncBroker(self)

    def start(self) -> Self:
        """Start it and wait until it is ready; a temporary directory is empty then.

        Raises:
            BrokerFailed: it does not start; the text says why.
        """
        if self.is_running:
            raise BrokerFailed("the broker is already running")
        self._bury()
        self._clear()
        try:
            self._start(*self._first_address)
        except BrokerFailed:
            self._clear()
            raise
        return self

    def stop(self) -> None:
        """Stop it, if it runs, and remove temporary data.

        Raises:
            BrokerFailed: it does not end properly.
            BrokerDied: it had ended by itself, and no method has reported that yet.
        """
        if self._process is not None and self._process.is_inherited:
            return
        try:
            self._stop()
        finally:
            self._clear()

    def kill(self) -> None:
        """End it with SIGKILL; its data stays, also in a temporary directory.

        Raises:
            BrokerFailed: it does not run.
            BrokerDied: it ended by itself.
        """
        process = self._running()
        self._process = None
        process.kill()

    def restart(self) -> None:
        """Stop it, if it runs, and start it with the same data at the same ports.

        Raises:
            BrokerFailed: it does not end properly, or does not start.
        """
        self._bury()
        self._stop()
        ports = [int(each.rpartition(":")[2]) for each in self.addresses]
        self._start(self._first_address[0], self.port, ports if len(ports) > 1 else [])

    def reset(self, *, keep_topics: bool = False) -> None:
        """Remove all data but the topics and records of the start, and restart at the same port.

        All connections are closed. Cluster id and node id stay; settings are reset to those of the
        start. Faults and recorded requests stay.

        Args:
            keep_topics: whether topics stay, without records, with their ids and configs; nothing
                else does.

        Raises:
            BrokerFailed: it does not run, or the reset fails.
            BrokerDied: it ended by itself.
        """
        if keep_topics:
            self._reset_by_control(keep_topics=True)
            return
        with self._noting_its_end() as process:
            process.reset(self._timeout_s)

    def advance(self, delta: timedelta = timedelta()) -> None:
        """Move the broker's clock forward, and wait for the retention that this triggers.

        All timers of the broker see it: old records are deleted, silent members are removed from
        their group, transactions time out. The clocks of clients, and the timestamps that they
        write, do not change. With a delta of 0, it only runs retention.

        Args:
            delta: not negative; steps add up until reset() or the end.

        Raises:
            BrokerFailed: it does not run.
            BrokerDied: it ended by itself.
        """
        if delta < timedelta():
            raise ValueError("the clock cannot go back")
        with self._noting_its_end() as process:
            process.step(delta // timedelta(milliseconds=1), self._timeout_s)

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, *_: object) -> None:
        if self._process is not None or self._death is not None:
            self.stop()

    async def __aenter__(self) -> Self:
        await self.aio.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._process is not None or self._death is not None:
            await self.aio.stop()

    def control(  # type: ignore[explicit-override]
        self, method: str, path: str, body: object = None, *, wait: timedelta = timedelta()
    ) -> object:
        """Send a request of the control API, and return the body of its answer.

        Args:
            method: GET, POST, PUT, PATCH or DELETE.
            path: such as /v1/brokers/2.
            body: what becomes JSON; bytes are sent as they are.
            wait: how long the broker waits before it answers, if it is to wait for something.

        Returns:
            The JSON, decoded; bytes where the resource has octets, and a text where it has lines.

        Raises:
            BrokerFailed: it does not run, or refuses the request.
            BrokerDied: it ended by itself.
        """
        __tracebackhide__ = True
        with self._noting_its_end() as process:
            return process.control(method, path, body, self._timeout_s + wait.total_seconds())

    @contextmanager
    def _noting_its_end(self) -> Iterator[BrokerProcess]:
        """Give the process for an order; remember if it ends meanwhile.

        Raises:
            BrokerFailed: it does not run, or cannot do what it is told.
            BrokerDied: it ended by itself.
        """
        process = self._running()
        try:
            yield process
        except BrokerFailed as error:
            has_ended = isinstance(error, BrokerDied) or process.is_closed
            if has_ended and self._process is process:  # another thread may have stopped it
                self._note_end(error)
            raise

    @contextmanager
    def _asked(self) -> Iterator[None]:  # type: ignore[explicit-override]
        """Report that the broker died, rather than that it does not respond.

        Raises:
            BrokerDied: before the request or during it.
        """
        self._check_alive()
        try:
            yield
        except (ClientError, OSError):
            self._check_alive()
            raise

    def _check_alive(self) -> None:
        process = self._process
        if process is not None and not process.is_inherited and process.has_ended:
            self._note_end(process.death())
        if self._death is not None:
            raise BrokerDied(*self._death.args)

    def _note_end(self, error: BrokerFailed) -> None:
        self._process = None
        if isinstance(error, BrokerDied):
            self._death = error

    def _bury(self) -> None:
        """Forget that it died: that was reported, or does not matter any more."""
        process, self._death = self._process, None
        if process is not None and not process.is_inherited and process.has_ended:
            process.death()
            self._process = None

    def _running(self) -> BrokerProcess:
        self._check_alive()
        if self._process is None or self._process.is_inherited:
            raise BrokerFailed("the broker does not run")
        return self._process

    def _start(self, host: str | None, port: int | None, ports: Sequence[int] = ()) -> None:
        forks = forks_of_process()
        if self._log_path is None or not self._log_path.parent.exists():
            self._log_path = forks.root / f"broker-{forks.new_number()}.log"
        if self._data_dir is None:
            self._data_dir = self._log_path.with_suffix(".data")
        plan = Plan(
            settings=self.settings,
            config=self._config,
            host=host,
            port=port,
            ports=list(ports),
            data_dir=str(self._data_dir),
            is_temporary=self._is_temporary,
            log_path=str(self._log_path),
        )
        self._process = BrokerProcess(forks, plan, self._timeout_s)
        self.addresses = self._process.address.split(",")
        found_host, _, found_port = self.addresses[0].rpartition(":")
        self.host, self.port = found_host.strip("[]"), int(found_port)
        self._record_again()

    def _stop(self) -> None:
        process, self._process, self._death = self._process, None, None
        if process is not None:
            process.stop()

    def _clear(self) -> None:
        """Remove temporary data."""
        if self._is_temporary and self._data_dir is not None:
            shutil.rmtree(self._data_dir, ignore_errors=True)
            self._data_dir = None
