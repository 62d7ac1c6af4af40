"""A broker that somebody else started, such as one in a container, driven by its control API."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Final, NoReturn, Self

from broker_lite.errors import ClientError, SettingsError
from broker_lite.testbench.http.client import ControlClient
from broker_lite.testing.broker import Broker
from broker_lite.testing.controlled import in_ms
from broker_lite.testing.processes.forks import BrokerFailed, ControlRefused

_OK: Final = 200
_ANY_ADDRESS: Final = frozenset(("0.0.0.0", "[::]", ""))  # noqa: S104 - told by a broker


class ConnectedBroker(Broker):
    """A broker at a URL. What only the owner of its process can do raises BrokerFailed.

    Leaving it as a context manager changes nothing.
    """

    def __init__(
        self,
        url: str,
        *,
        bootstrap: str | None = None,
        timeout_s: float = 60.0,
        client_properties: Mapping[str, str] | None = None,
    ) -> None:
        """Ask the broker what it is; see Broker.connect().

        Raises:
            BrokerFailed: it cannot be reached.
        """
        super().__init__(timeout_s=timeout_s, client_properties=client_properties)
        self._bootstrap = bootstrap
        try:
            self._client = ControlClient(url)
        except SettingsError as error:
            raise BrokerFailed(str(error)) from None
        told = str(self._control("GET", "/v1")["bootstrap"])
        self.addresses = (bootstrap or self._reachable(told)).split(",")
        host, _, port = self.addresses[0].rpartition(":")
        self.host, self.port = host.strip("[]"), int(port)
        brokers = self.control("GET", "/v1/brokers")
        assert isinstance(brokers, list)
        self.settings["node.id"] = str(min(each["id"] for each in brokers))

    @property
    def url(self) -> str:
        """Where its control API is."""
        return self._client.url

    @property
    def data_dir(self) -> Path:  # type: ignore[explicit-override]
        """Raise BrokerFailed: it is on another machine, or belongs to somebody else."""
        self._refuse("has no data directory here")

    @property
    def pid(self) -> int:  # type: ignore[explicit-override]
        """Raise BrokerFailed: the process belongs to somebody else."""
        self._refuse("is no process of this one")

    @property
    def is_running(self) -> bool:  # type: ignore[explicit-override]
        """Whether it says that it accepts clients."""
        try:
            self.control("GET", "/v1/ready")
        except BrokerFailed:
            return False
        return True

    @property
    def is_controlled(self) -> bool:  # type: ignore[explicit-override]
        """True: it is driven by its control API."""
        return True

    @property
    def log(self) -> str:  # type: ignore[explicit-override]
        """Nothing: whoever started it has its log."""
        return ""

    def start(self) -> Self:  # type: ignore[explicit-override]
        """Raise BrokerFailed: whoever started it does that."""
        self._refuse("is not started from here")

    def stop(self) -> None:  # type: ignore[explicit-override]
        """Raise BrokerFailed: whoever started it does that."""
        self._refuse("is not stopped from here")

    def kill(self) -> None:  # type: ignore[explicit-override]
        """Raise BrokerFailed: whoever started it does that."""
        self._refuse("is not killed from here")

    def restart(self) -> None:  # type: ignore[explicit-override]
        """Raise BrokerFailed: whoever started it does that."""
        self._refuse("is not restarted from here")

    def reset(self, *, keep_topics: bool = False) -> None:  # type: ignore[explicit-override]
        """Remove all data but the topics and records of the start; see Broker.reset()."""
        self._reset_by_control(keep_topics=keep_topics)

    def advance(  # type: ignore[explicit-override]
        self, delta: timedelta = timedelta()
    ) -> None:
        """Move the broker's clock forward; see Broker.advance()."""
        if delta < timedelta():
            raise ValueError("the clock cannot go back")
        self.control("POST", "/v1/clock", {"advance_ms": round(in_ms(delta))})

    def control(  # type: ignore[explicit-override]
        self, method: str, path: str, body: object = None, *, wait: timedelta = timedelta()
    ) -> object:
        """Send a request of the control API, and return the body of its answer."""
        __tracebackhide__ = True
        timeout_s = self._timeout_s + wait.total_seconds()
        try:
            answer = self._client.request(method, path, body, timeout_s)
        except ClientError as error:
            raise BrokerFailed(str(error)) from None
        if answer.status != _OK:
            raise ControlRefused(answer.status, answer.body)
        return answer.body

    def __enter__(self) -> Self:  # type: ignore[explicit-override]
        """Return itself."""
        return self

    def __exit__(self, *_: object) -> None:  # type: ignore[explicit-override]
        """Leave it as it is."""

    async def __aenter__(self) -> Self:  # type: ignore[explicit-override]
        """Return itself."""
        return self

    async def __aexit__(self, *_: object) -> None:  # type: ignore[explicit-override]
        """Leave it as it is."""

    @contextmanager
    def _asked(self) -> Iterator[None]:  # type: ignore[explicit-override]
        """Let a client's error be told as it is."""
        yield

    def _reached(self, bootstrap: str) -> str:  # type: ignore[explicit-override]
        """Return the addresses as they were given for clients, or as the broker says."""
        return self._bootstrap or bootstrap

    def _reachable(self, bootstrap: str) -> str:
        """Return addresses with the host of the URL where the broker listens at any address."""
        host = self._client.url.removeprefix("http://").rpartition(":")[0]
        pairs = (each.rpartition(":")[::2] for each in bootstrap.split(","))
        return ",".join(f"{host if at in _ANY_ADDRESS else at}:{port}" for at, port in pairs)

    def _refuse(self, what: str) -> NoReturn:
        raise BrokerFailed(f"the broker at {self.url} {what}")
