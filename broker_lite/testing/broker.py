"""A broker for tests: a context manager around a process that ends with this one."""

import os
import shutil
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Final, Self

from broker_lite.errors import ClientError
from broker_lite.testing.forks import BrokerDied, BrokerFailed, forks_of_process
from broker_lite.testing.plan import Plan, setting_text
from broker_lite.testing.process import BrokerProcess

if TYPE_CHECKING:
    from broker_lite.testing.aio import AsyncBroker
    from broker_lite.testing.batches import Headers
    from broker_lite.testing.records import Record

_HOST: Final = "127.0.0.1"


class Broker:
    """One broker in a process of its own: `with Broker() as broker: connect(broker.bootstrap)`.

    It is stopped when the context ends, or when this process ends in whatever way. The environment
    has no say in its settings. All methods block; `aio` has them as coroutines, and
    `async with Broker() as broker` starts and stops without blocking.

    A broker that somebody else kills, or that breaks, is noticed: every method raises BrokerDied
    then, which says how it ended and what it logged last, until restart(), start() or stop().

    Attributes:
        settings: what was given, as texts by Kafka's names.
        host: the address at which it listens.
        port: the port at which it listens; 0 before the first start when any free one will do.
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
        timeout_s: float = 60.0,
    ) -> None:
        """Remember what is asked for; nothing happens before start().

        Args:
            settings: by Kafka's names; True, numbers and lists are written as Kafka writes them.
            topics: to begin with: `name`, `name:partitions` or `name:partitions:config=value,...`;
                a text is one of them, or several with blanks between.
            seed_file: records to begin with, *.jsonl or *.csv.
            config: a settings file, weaker than `settings`.
            data_dir: kept at the end; None is a temporary directory.
            host: of the first listener, 127.0.0.1 by default.
            port: of the first listener, 0 for a free one. Without host and port, `listeners` among
                the settings stay as they are.
            timeout_s: how long a start or a reset may take.
        """
        self.settings = {name: setting_text(value) for name, value in (settings or {}).items()}
        if topics:
            specs = [topics] if isinstance(topics, str) else topics
            self.settings["broker.lite.topics"] = "\n".join(specs)
        if seed_file is not None:
            self.settings["broker.lite.seed.file"] = os.path.abspath(seed_file)
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

    # -- what it is

    @property
    def bootstrap(self) -> str:
        """HOST:PORT for clients."""
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"

    @property
    def data_dir(self) -> Path:
        """The directory of its data; a temporary one begins empty with each start().

        Raises:
            BrokerFailed: it is a temporary directory, and the broker was never started.
        """
        if self._data_dir is None:
            raise BrokerFailed("a temporary data directory is made when the broker is started")
        return self._data_dir

    @property
    def pid(self) -> int:
        """Its process id.

        Raises:
            BrokerFailed: it does not run.
            BrokerDied: it ended by itself.
        """
        return self._running().pid

    @property
    def is_running(self) -> bool:
        """Whether it was started by this process, was not stopped since, and is alive."""
        process = self._process
        return process is not None and not process.is_inherited and not process.has_ended

    @property
    def log(self) -> str:
        """What it printed so far, in all its lives."""
        if self._log_path is None or not self._log_path.exists():
            return ""
        return self._log_path.read_text("utf-8", errors="replace")

    @property
    def aio(self) -> "AsyncBroker":
        """The same broker with coroutines instead of methods that block."""
        from broker_lite.testing.aio import AsyncBroker

        return AsyncBroker(self)

    # -- what can be done with it

    def start(self) -> Self:
        """Start it, and wait until it is ready; a temporary directory begins empty.

        Raises:
            BrokerFailed: it does not start; the text says why.
        """
        if self.is_running:
            raise BrokerFailed("the broker runs already")
        self._bury()
        self._clear()
        try:
            self._start(*self._first_address)
        except BrokerFailed:
            self._clear()
            raise
        return self

    def stop(self) -> None:
        """Stop it, if it runs; temporary data is removed.

        Raises:
            BrokerFailed: it does not end as it should.
            BrokerDied: it had ended by itself, and no method has told that yet.
        """
        if self._process is not None and self._process.is_inherited:
            return
        try:
            self._stop()
        finally:
            self._clear()

    def kill(self) -> None:
        """End it with SIGKILL; what it wrote stays, also in a temporary directory.

        Raises:
            BrokerFailed: it does not run.
            BrokerDied: it ended by itself.
        """
        process = self._running()
        self._process = None
        process.kill()

    def restart(self) -> None:
        """Stop it, unless it was killed or died, and start it with the same data at the same port.

        Raises:
            BrokerFailed: it does not end as it should, or does not start.
        """
        self._bury()
        self._stop()
        self._start(self._first_address[0], self.port)

    def reset(self) -> None:
        """Begin anew with nothing but the topics and records of the start, at the same port.

        All connections are closed. Cluster id and node id stay; settings are those of the start.

        Raises:
            BrokerFailed: it does not run, or does not begin anew.
            BrokerDied: it ended by itself.
        """
        process = self._running()
        try:
            process.reset(self._timeout_s)
        except BrokerFailed as error:
            self._note_end(error)
            raise

    def advance(self, delta: timedelta = timedelta()) -> None:
        """Let the broker's clock jump forward, and wait for the retention that this makes due.

        Whatever waits for a time sees it: old records go, members that are silent lose their place
        in a group, transactions time out. The clocks of clients stay, and so do the timestamps that
        they write. Without a step it is retention on demand.

        Args:
            delta: by how much, at least nothing; steps add up until reset() or the end.

        Raises:
            BrokerFailed: it does not run.
            BrokerDied: it ended by itself.
        """
        process = self._running()
        if delta < timedelta():
            raise ValueError("a clock cannot be stepped back")
        try:
            process.step(delta // timedelta(milliseconds=1), self._timeout_s)
        except BrokerFailed as error:
            self._note_end(error)
            raise

    # -- topics and records

    def create_topic(
        self, name: str, partitions: int = 1, configs: Mapping[str, object] | None = None
    ) -> None:
        """Create a topic.

        Args:
            name: of the topic.
            partitions: how many.
            configs: by Kafka's names, written as `settings` are.

        Raises:
            ClientError: the broker says no.
            BrokerDied: it ended by itself.
        """
        from broker_lite.testing import records

        texts = {key: setting_text(value) for key, value in (configs or {}).items()}
        with self._asked():
            records.create_topic(self.bootstrap, name, partitions=partitions, configs=texts)

    def produce(
        self,
        topic: str,
        *values: bytes | str | None,
        key: bytes | str | None = None,
        headers: "Headers" = (),
        partition: int | None = None,
        timestamp_ms: int | None = None,
    ) -> None:
        """Write one record for each value, in one batch; a missing topic is created.

        Args:
            topic: where to.
            values: text is written as UTF-8.
            key: of all of them.
            headers: of all of them.
            partition: None is the one that Kafka's producer takes for the key, 0 without a key.
            timestamp_ms: of all of them, since the epoch; None is now.

        Raises:
            ClientError: the broker says no.
            BrokerDied: it ended by itself.
        """
        from broker_lite.testing import records

        with self._asked():
            records.produce(
                self.bootstrap,
                topic,
                values,
                key=key,
                headers=headers,
                partition=partition,
                timestamp_ms=timestamp_ms,
            )

    def records(self, topic: str, *, read_committed: bool = False) -> "list[Record]":
        """Read all records that a topic has now, partition by partition, in the order of offsets.

        Of transactions that is everything which was written, as a consumer with Kafka's default
        isolation.level=read_uncommitted sees it: records of transactions that are open or were
        aborted are among them. With read_committed=True only records are given that were written
        outside of transactions, or in committed ones, up to the first transaction that is open.
        Markers of commits and aborts take an offset and are never given.

        Args:
            topic: where from.
            read_committed: as a consumer with isolation.level=read_committed.

        Raises:
            ClientError: there is no such topic, or the broker says no.
            BrokerDied: it ended by itself.
        """
        from broker_lite.testing import records

        with self._asked():
            return records.read_all(self.bootstrap, topic, read_committed=read_committed)

    # -- context managers

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

    # -- how

    @contextmanager
    def _asked(self) -> Iterator[None]:
        """Say that the broker died, rather than that it does not answer.

        Raises:
            BrokerDied: before it is asked, or while it is.
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
        """Forget that it died, which is told or does not matter any more."""
        process, self._death = self._process, None
        if process is not None and not process.is_inherited and process.has_ended:
            process.death()
            self._process = None

    def _running(self) -> BrokerProcess:
        self._check_alive()
        if self._process is None or self._process.is_inherited:
            raise BrokerFailed("the broker does not run")
        return self._process

    def _start(self, host: str | None, port: int | None) -> None:
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
            data_dir=str(self._data_dir),
            is_temporary=self._is_temporary,
            log_path=str(self._log_path),
        )
        self._process = BrokerProcess(forks, plan, self._timeout_s)
        found_host, _, found_port = self._process.address.rpartition(":")
        self.host, self.port = found_host.strip("[]"), int(found_port)

    def _stop(self) -> None:
        process, self._process, self._death = self._process, None, None
        if process is not None:
            process.stop()

    def _clear(self) -> None:
        """Remove temporary data."""
        if self._is_temporary and self._data_dir is not None:
            shutil.rmtree(self._data_dir, ignore_errors=True)
            self._data_dir = None
