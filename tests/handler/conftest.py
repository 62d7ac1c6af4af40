"""Tests that wait run under both event loops."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from broker_lite.handler import large
from broker_lite.handler.context import ListenerInfo
from tests.handler.data_apis import Handlers
from tests.handler.transactions.transaction_requests import Transactor
from tests.support.disk import disk
from tests.support.handler_broker import LISTENER, HandlerBroker, OpenBroker, handler_broker

__all__ = ["disk"]


@pytest.fixture(
    params=[("asyncio", {"use_uvloop": False}), ("asyncio", {"use_uvloop": True})],
    ids=["asyncio", "uvloop"],
)
def anyio_backend(request: pytest.FixtureRequest) -> Any:
    return request.param


@pytest.fixture
def open_broker(tmp_path: Path) -> Iterator[OpenBroker]:
    """Opens a broker with settings (underscores for dots), and closes it at the end."""
    with ExitStack() as stack:

        def open_one(listener: ListenerInfo = LISTENER, **settings: str) -> HandlerBroker:
            given = {name.replace("_", "."): text for name, text in settings.items()}
            return stack.enter_context(handler_broker(tmp_path / "data", given, listener))

        yield open_one


@pytest.fixture
def short_turns(monkeypatch: pytest.MonkeyPatch) -> None:
    """Others have their turn after each step of a large request, however short it is."""
    monkeypatch.setattr(large, "TURN_S", 0)


@pytest.fixture
def bug(monkeypatch: pytest.MonkeyPatch) -> Callable[[object, str], None]:
    """Has a method of a class, or a function of a module, fail in a way that nobody foresaw."""

    def fail(*_: object, **__: object) -> None:
        raise RuntimeError("a bug")

    return lambda owner, name: monkeypatch.setattr(owner, name, fail)


@pytest.fixture
def broker(open_broker: OpenBroker) -> HandlerBroker:
    """A broker with the default settings."""
    return open_broker()


@pytest.fixture
def handlers(tmp_path: Path) -> Iterator[Handlers]:
    """The data APIs with the default settings, and a topic of two partitions."""
    opened = Handlers(tmp_path / "data")
    yield opened
    opened.cluster.close()


@pytest.fixture
def producer(handlers: Handlers) -> Transactor:
    """A transactional producer that was initialised."""
    transactor = Transactor(handlers)
    assert transactor.init() == 0
    return transactor
