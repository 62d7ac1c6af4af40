"""Faults, recorded requests, waits and snapshots for async tests."""

import os
from collections.abc import Callable, Generator, Iterable, Mapping
from datetime import timedelta
from functools import partial
from types import TracebackType
from typing import TYPE_CHECKING, Self, TypeVar

from anyio import CancelScope
from anyio.to_thread import run_sync

from broker_lite.testing.controlled import WAIT
from broker_lite.testing.telemetry import TELEMETRY_INTERVAL, TELEMETRY_SUBSCRIPTION

if TYPE_CHECKING:
    from broker_lite.testing.aio_scripts import AsyncScript
    from broker_lite.testing.bench_commands import Recording
    from broker_lite.testing.broker import Broker
    from broker_lite.testing.faults import Fault
    from broker_lite.testing.groups import ShareGroup, StreamsGroup
    from broker_lite.testing.requests import Expected, Request
    from broker_lite.testing.telemetry import ClientTelemetry

T = TypeVar("T")


class AsyncBenchCommands:
    """The methods of BenchCommands as coroutines; a wait can be cancelled.

    Attributes:
        broker: the same broker with blocking methods.
    """

    broker: "Broker"

    def fault(self, *keys: str | int, unused_ok: bool = False, **rule: object) -> "AsyncFault":
        """See Broker.fault(): `async with broker.aio.fault("Produce", ...) as fault:`, or await."""
        return AsyncFault(partial(self.broker.fault, *keys, unused_ok=unused_ok, **rule))

    def hold(self, *keys: str | int, unused_ok: bool = False, **rule: object) -> "AsyncFault":
        """See Broker.hold(): `async with broker.aio.hold("EndTxn") as held:`, or await."""
        return AsyncFault(partial(self.broker.hold, *keys, unused_ok=unused_ok, **rule))

    def script(
        self,
        source: str | os.PathLike[str] | Mapping[str, object],
        *,
        timeout: timedelta | None = None,
    ) -> "AsyncScript":
        """See Broker.script(): `async with broker.aio.script("lost.yaml") as script:`."""
        from broker_lite.testing.aio_scripts import AsyncScript

        return AsyncScript(partial(self.broker.script, source, timeout=timeout))

    async def faults(self) -> "list[AsyncFault]":
        """See Broker.faults()."""
        return [AsyncFault.of(fault) for fault in await run_sync(self.broker.faults)]

    async def clear_faults(self) -> None:
        """See Broker.clear_faults()."""
        await run_sync(self.broker.clear_faults)

    async def record_requests(
        self,
        recording: "Recording" = "headers",
        *,
        keys: Iterable[str | int] | None = None,
        keep: int | None = None,
    ) -> None:
        """See Broker.record_requests()."""
        await run_sync(partial(self.broker.record_requests, recording, keys=keys, keep=keep))

    async def requests(
        self,
        *keys: str | int,
        errors: bool = False,
        after: "Request | str | None" = None,
        **selectors: object,
    ) -> "list[Request]":
        """See Broker.requests(); the requests are decoded already."""

        def found() -> "list[Request]":
            return _loaded(self.broker.requests(*keys, errors=errors, after=after, **selectors))

        return await run_sync(found)

    async def expect(
        self,
        *expected: "Expected",
        others_ok: Iterable[str | int] | None = (),
        after: "Request | str | None" = None,
    ) -> "list[Request]":
        """See Broker.expect()."""
        check = partial(self.broker.expect, *expected, others_ok=others_ok, after=after)
        return await run_sync(lambda: _loaded(check()))

    async def wait_for_request(
        self,
        *keys: str | int,
        count: int = 1,
        after: "Request | str | None" = None,
        timeout: timedelta = WAIT,  # noqa: ASYNC109 - as the broker does
        **selectors: object,
    ) -> "list[Request]":
        """See Broker.wait_for_request(); the requests are decoded already."""

        def waited() -> "list[Request]":
            wait = self.broker.wait_for_request
            return _loaded(wait(*keys, count=count, after=after, timeout=timeout, **selectors))

        return await _waited(waited)

    async def wait_for_group(
        self,
        group: str,
        *,
        state: str | None = None,
        members: int | None = None,
        assigned: int | None = None,
        lag: int | None = None,
        timeout: timedelta = WAIT,  # noqa: ASYNC109 - as the broker does
    ) -> dict[str, object]:
        """See Broker.wait_for_group()."""
        wait = partial(self.broker.wait_for_group, group, state=state, members=members)
        return await _waited(partial(wait, assigned=assigned, lag=lag, timeout=timeout))

    async def share_group(self, group: str, *, topic: str | None = None) -> "ShareGroup":
        """See Broker.share_group()."""
        return await run_sync(partial(self.broker.share_group, group, topic=topic))

    async def wait_for_share_group(
        self,
        group: str,
        *,
        accepted: int | None = None,
        released: int | None = None,
        rejected: int | None = None,
        in_flight: int | None = None,
        lag: int | None = None,
        topic: str | None = None,
        timeout: timedelta = WAIT,  # noqa: ASYNC109 - as the broker does
    ) -> "ShareGroup":
        """See Broker.wait_for_share_group()."""
        wait = partial(self.broker.wait_for_share_group, group, in_flight=in_flight, lag=lag)
        said = partial(wait, accepted=accepted, released=released, rejected=rejected)
        return await _waited(partial(said, topic=topic, timeout=timeout))

    async def streams_group(self, group: str) -> "StreamsGroup":
        """See Broker.streams_group()."""
        return await run_sync(self.broker.streams_group, group)

    async def wait_for_streams_group(
        self,
        group: str,
        *,
        state: str = "Stable",
        members: int | None = None,
        timeout: timedelta = WAIT,  # noqa: ASYNC109 - as the broker does
    ) -> "StreamsGroup":
        """See Broker.wait_for_streams_group()."""
        wait = partial(self.broker.wait_for_streams_group, group, state=state, members=members)
        return await _waited(partial(wait, timeout=timeout))

    async def wait_for_topic(
        self,
        topic: str,
        *,
        partitions: int | None = None,
        partition: int | None = None,
        end_offset: int | None = None,
        records: int | None = None,
        timeout: timedelta = WAIT,  # noqa: ASYNC109 - as the broker does
    ) -> dict[str, object]:
        """See Broker.wait_for_topic()."""
        wait = partial(self.broker.wait_for_topic, topic, partitions=partitions, timeout=timeout)
        of_records = {"partition": partition, "end_offset": end_offset, "records": records}
        return await _waited(partial(wait, **of_records))

    async def wait_for_transaction(
        self,
        txn_id: str,
        *,
        state: str | None = None,
        timeout: timedelta = WAIT,  # noqa: ASYNC109 - as the broker does
    ) -> dict[str, object]:
        """See Broker.wait_for_transaction()."""
        wait = partial(self.broker.wait_for_transaction, txn_id, state=state, timeout=timeout)
        return await _waited(wait)

    async def subscribe_telemetry(
        self,
        *metrics: str,
        interval: timedelta = TELEMETRY_INTERVAL,
        name: str = TELEMETRY_SUBSCRIPTION,
        **match: str,
    ) -> None:
        """See Broker.subscribe_telemetry()."""
        subscribe = self.broker.subscribe_telemetry
        await run_sync(partial(subscribe, *metrics, interval=interval, name=name, **match))

    async def telemetry(
        self, *, client_id: str | None = None, metric: str = ""
    ) -> "list[ClientTelemetry]":
        """See Broker.telemetry()."""
        return await run_sync(partial(self.broker.telemetry, client_id=client_id, metric=metric))

    async def wait_for_telemetry(
        self,
        metric: str = "",
        *,
        client_id: str | None = None,
        at_least: float | None = None,
        labels: Mapping[str, str] | None = None,
        pushes: int = 1,
        is_ended: bool = False,
        timeout: timedelta = WAIT,  # noqa: ASYNC109 - as the broker does
    ) -> "list[ClientTelemetry]":
        """See Broker.wait_for_telemetry()."""
        wait = partial(self.broker.wait_for_telemetry, metric, client_id=client_id, labels=labels)
        wanted = {"at_least": at_least, "pushes": pushes, "is_ended": is_ended}
        return await _waited(partial(wait, **wanted, timeout=timeout))

    async def snapshot(self, name: str) -> None:
        """See Broker.snapshot()."""
        await run_sync(self.broker.snapshot, name)

    async def restore(self, name: str) -> None:
        """See Broker.restore()."""
        await run_sync(self.broker.restore, name)


class AsyncFault:
    """A Fault with coroutines; it is in force from the `async with`, or from an await of it.

    The properties for which the broker is asked are coroutines, too.
    """

    def __init__(self, make: "Callable[[], Fault]") -> None:
        """Take what puts the rule in force."""
        self._make = make
        self._made: Fault | None = None

    @classmethod
    def of(cls, fault: "Fault") -> Self:
        """Return a fault that is in force already."""
        wrapped = cls(lambda: fault)
        wrapped._made = fault
        return wrapped

    @property
    def fault(self) -> "Fault":
        """The same with blocking methods.

        Raises:
            RuntimeError: it is not in force yet.
        """
        if self._made is None:
            raise RuntimeError("the fault is not in force: use `async with`, or await it")
        return self._made

    @property
    def id(self) -> str:
        """See Fault.id."""
        return self.fault.id

    async def hits(self) -> int:
        """See Fault.hits."""
        return await run_sync(lambda: self.fault.hits)

    async def left(self) -> int:
        """See Fault.left."""
        return await run_sync(lambda: self.fault.left)

    async def held(self) -> int:
        """See Fault.held."""
        return await run_sync(lambda: self.fault.held)

    async def near(self) -> list[str]:
        """See Fault.near."""
        return await run_sync(lambda: self.fault.near)

    async def wait(
        self,
        hits: int = 1,
        timeout: timedelta = WAIT,  # noqa: ASYNC109 - as the broker does
    ) -> None:
        """See Fault.wait()."""
        await _waited(partial(self.fault.wait, hits, timeout))

    async def release(self, count: int | None = None) -> int:
        """See Fault.release()."""
        return await run_sync(self.fault.release, count)

    async def remove(self) -> None:
        """See Fault.remove()."""
        await run_sync(self.fault.remove)

    async def __aenter__(self) -> Self:
        """Put it in force."""
        if self._made is None:
            self._made = await run_sync(self._make)
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """See Fault.__exit__(); it is removed also if the test is cancelled."""
        with CancelScope(shield=True):
            await run_sync(self.fault.__exit__, kind, error, traceback)

    def __await__(self) -> Generator[object, None, Self]:
        """Put it in force."""
        return self.__aenter__().__await__()


def _loaded(requests: "list[Request]") -> "list[Request]":
    for each in requests:
        each.load()
    return requests


async def _waited(wait: Callable[[], T]) -> T:
    """Wait in a thread; a cancelled test goes on at once, and the thread ends with the wait."""
    return await run_sync(wait, abandon_on_cancel=True)
