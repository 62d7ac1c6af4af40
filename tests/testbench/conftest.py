"""A broker without its sockets that misbehaves as rules say, and turns that are counted."""

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any, TypeVar

import anyio
import msgspec
import pytest

from broker_lite.handler.context import Parts, Request, WireAnswer
from broker_lite.handler.dispatch import dispatch
from broker_lite.handler.table import APIS
from broker_lite.server.seams import Seams
from broker_lite.testbench import turns
from broker_lite.testbench.faults.engine import Faults
from broker_lite.testbench.faults.fault import Fault
from broker_lite.testbench.faults.rules import Rule
from broker_lite.testbench.hooks import BenchHooks
from broker_lite.wire import messages
from tests.support.coordinator_topics import make_offsets_topic
from tests.support.handler_broker import HandlerBroker, handler_broker, join

T = TypeVar("T")


class SentBytes:
    """What a fault sends to a client."""

    def __init__(self) -> None:
        self.pieces: list[bytes] = []
        self.is_reset = False

    async def send(self, data: bytes) -> None:
        self.pieces.append(data)

    def reset(self) -> None:
        self.is_reset = True


class FaultyBroker:
    """A broker, its faults, and a client of it.

    Attributes:
        now_ms: the time of the rules.
        handled: the requests that handlers were called with.
    """

    def __init__(self, broker: HandlerBroker) -> None:
        self.broker = broker
        self.context = broker.context
        self.now_ms = 0.0
        self.seams = Seams()
        self.faults = Faults(lambda: self.now_ms)
        BenchHooks(self.seams, self.faults)
        self.context.hooks = self.seams.hooks
        self.handled: list[Request] = []
        apis = {key: api._replace(handle=self._noting(api.handle)) for key, api in APIS.items()}
        self.context.apis = apis

    def _noting(self, handle: Any) -> Any:
        def noting(context: Any, request: Request) -> Awaitable[Parts | None]:
            self.handled.append(request)
            answer: Awaitable[Parts | None] = handle(context, request)
            return answer

        return noting

    def rule(self, **fields: Any) -> Fault:
        """Put one rule in force."""
        return self.rules(fields)[0]

    def rules(self, *every: dict[str, Any]) -> list[Fault]:
        """Put rules in force, given as JSON."""
        return self.faults.add([msgspec.convert(fields, Rule) for fields in every])

    def topic(self, name: str = "orders", partitions: int = 3) -> bytes:
        """Create a topic, and return its id."""
        kind = messages.CreateTopicsRequest
        topic = kind.CreatableTopic(name=name, num_partitions=partitions, replication_factor=1)
        answer = self.call("CreateTopics", 7, topics=[topic], timeout_ms=1000)
        topic_id: bytes = answer.topics[0].topic_id
        return topic_id

    def call(self, name: str, version: int, **fields: Any) -> Any:
        """Send a request by the name of its API, and return the decoded answer."""
        return asyncio.run(self.send(name, version, **fields))

    async def send(self, name: str, version: int, **fields: Any) -> Any:
        """Do what call() does within a loop."""
        kind = messages.message(f"{name}Request")
        return await self.send_body(kind, version, kind(**fields))

    async def send_body(self, kind: Any, version: int, body: Any) -> Any:
        """Send a request, and return the decoded answer."""
        parts = await self.answer(request_of(kind, version, body))
        assert parts is not None
        assert not isinstance(parts, WireAnswer)
        response = messages.by_api(kind.api_key)[1]
        value, end = response.decode(join(parts), version)
        assert end == len(join(parts))
        return value

    async def answer(self, request: Request) -> Parts | None:
        """Send a request, and return the answer as it is."""
        return await dispatch(self.context, request)


def request_of(kind: Any, version: int, body: Any, client_id: str | None = "me") -> Request:
    """A request as it comes from a connection."""
    data = memoryview(bytearray(b"head" + kind.encode(body, version)))
    flexible = kind.flexible_from is not None and version >= kind.flexible_from
    return Request(kind.api_key, version, 7, client_id, data, 4, flexible)


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[FaultyBroker]:
    """A broker that is closed at the end, and that holds nothing then."""
    with handler_broker(tmp_path / "data") as broker:
        make_offsets_topic(broker.cluster)
        faulty = FaultyBroker(broker)
        yield faulty
        faulty.faults.clear()
        assert faulty.faults.held == 0
        assert not faulty.seams.hooks


Bench = Callable[[], FaultyBroker]


class Others:
    """Another task, which counts its turns."""

    async def while_running(self, work: Awaitable[object]) -> int:
        """Await some work; return how many turns the task had meanwhile."""
        count = 0

        async def count_turns() -> None:
            nonlocal count
            while True:
                count += 1
                await anyio.lowlevel.checkpoint()

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(count_turns)
            await work
            tasks.cancel_scope.cancel()
        return count


@pytest.fixture
def others(monkeypatch: pytest.MonkeyPatch) -> Others:
    """Turns that end at once."""
    monkeypatch.setattr(turns, "TURN_S", 0)
    return Others()
