"""The trials of a module's tests: two at a time, each with a cluster of its own."""

from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from queue import SimpleQueue

import pytest

from broker_lite.testing import Broker
from tests.catalogue.bug import bug_of
from tests.catalogue.play import SETTINGS, Tried, command_of, try_client
from tests.catalogue.table import version_of
from tests.conformance.clients import Builds

TRIES = 3


class Trials:
    """Tries each client on each bug that a test asks for, and some before they are asked for."""

    def __init__(self, folder: Path, brokers: list[Broker]) -> None:
        self._folder = folder
        self._builds = Builds(folder)
        self._free: SimpleQueue[Broker] = SimpleQueue()
        for broker in brokers:
            self._free.put(broker)
        self._pool = ThreadPoolExecutor(len(brokers))
        self._tried: dict[tuple[str, str], Future[Tried]] = {}

    def begin(self, name: str, client: str) -> None:
        """Let a trial begin as soon as a broker is free."""
        command = command_of(self._builds, client, bug_of(name).program)
        self._tried[name, client] = self._pool.submit(self._try, name, client, command)

    def of(self, name: str, client: str) -> Tried:
        """What came of a trial."""
        if (name, client) not in self._tried:
            self.begin(name, client)
        return self._tried[name, client].result()

    def check(self, name: str, client: str, verdict: str) -> None:
        """Demand that a client does what is known of it.

        One that does not is asked twice more: under load, a client may come too late for the
        situation. A bug that was mended or is new is seen each time.
        """
        for _ in range(TRIES):
            tried = self.of(name, client)
            if tried.verdict == verdict:
                return
            del self._tried[name, client]
        told = (
            f"{tried.why}\n{client} {version_of(client)}: if this is so for good, change the table"
        )
        pytest.fail(f"{told} tests/catalogue/verdicts.toml\n{tried.printed}")

    def end(self) -> None:
        """Wait for those that have begun, and begin no more."""
        self._pool.shutdown(cancel_futures=True)

    def _try(self, name: str, client: str, command: list[str]) -> Tried:
        broker = self._free.get()
        folder = self._folder / f"{name}-{client}"
        folder.mkdir(exist_ok=True)
        try:
            return try_client(broker, name, client, command, folder)
        finally:
            self._free.put(broker)


@pytest.fixture(scope="module")
def trials(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Trials]:
    """The trials; all that the chosen tests of the module will ask for have begun."""
    with Broker(SETTINGS, brokers=3) as one, Broker(SETTINGS, brokers=3) as other:
        for broker in (one, other):
            broker.record_requests("headers")
        trials = Trials(tmp_path_factory.mktemp("catalogue"), [one, other])
        for item in request.session.items:
            if isinstance(item, pytest.Function) and item.module is request.module:
                params = item.callspec.params if hasattr(item, "callspec") else {}
                if {"name", "client"} <= params.keys():
                    trials.begin(params["name"], params["client"])
        yield trials
        trials.end()
