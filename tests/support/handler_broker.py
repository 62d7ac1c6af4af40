"""Handlers without a server: requests as values, through the wire codec, to a real Cluster."""

import asyncio
import os
import random
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from broker_lite.control.clock import Clock
from broker_lite.control.cluster.cluster import Cluster
from broker_lite.control.coordinators.start import Coordinators
from broker_lite.handler.context import HandlerContext, ListenerInfo, Parts, Request
from broker_lite.handler.dispatch import dispatch
from broker_lite.handler.fetch.session import FetchSessionCache
from broker_lite.handler.lane import Lane
from broker_lite.handler.table import APIS, load_handlers
from broker_lite.rate_limited_log import RateLimitedLog
from broker_lite.settings import Given, Settings
from broker_lite.wire import messages
from tests.support.coordinator_topics import GROUP_APIS, make_offsets_topic

LISTENER = ListenerInfo("PLAINTEXT")
load_handlers()  # a handler of here waits for no thread


class HandlerBroker:
    """One cluster and one connection to it; ids and time are the same in every run.

    Attributes:
        finds_coordinator: whether requests of groups are sent as by a client that has asked for
            the coordinator before, so that the topic for their state is there.
        siblings: the listener of each broker; a test may take one away.
    """

    def __init__(self, data_dir: Path, settings: Mapping[str, str], listener: ListenerInfo) -> None:
        self.finds_coordinator = True
        self.clock = Clock.standing_still()
        self.settings = Settings({name: Given(text, "test") for name, text in settings.items()})
        self.cluster = Cluster.open(
            self.settings, data_dir, self.clock, random_bytes=random.Random(1).randbytes
        )
        self.coordinators = Coordinators.start(self.cluster, self.clock)
        self.listener = listener
        self.siblings = {
            node_id: listener._replace(bound_port=9091 + node_id)
            for node_id in self.cluster.node_ids
        }
        self.talk_to(self.cluster.node_id)

    def talk_to(self, node_id: int) -> None:
        """Send the next requests to another broker of the process."""
        self.context = HandlerContext(
            cluster=self.cluster,
            groups=self.coordinators.groups,
            transactions=self.coordinators.transactions,
            clock=self.clock,
            client_log=RateLimitedLog(self.clock.monotonic_ms),
            settings=self.settings,
            apis=APIS,
            listener=self.listener,
            local_address=("127.0.0.1", 9091 + node_id),
            client_address=("127.0.0.1", 50000),
            fetch_sessions=FetchSessionCache(1000),
            lane=Lane(),
            node_id=node_id,
            sibling=self.siblings.get,
        )

    def call(self, name: str, version: int, **fields: Any) -> Any:
        """Send a request by the name of its API and return the decoded response."""
        request_type = getattr(messages, f"{name}Request")
        return self.request(name, version, request_type(**fields))

    def request(self, name: str, version: int, value: Any) -> Any:
        """Send a request value and return the decoded response.

        One for a group's coordinator is sent as by a client that has found the coordinator.
        """
        if name in GROUP_APIS and self.finds_coordinator:
            make_offsets_topic(self.cluster)
        request_type = getattr(messages, f"{name}Request")
        response_type = getattr(messages, f"{name}Response")
        body = memoryview(bytearray(b"head" + request_type.encode(value, version)))
        request = Request(request_type.api_key, version, 1, "test", body, 4, True)

        async def answer() -> bytes:
            parts = await dispatch(self.context, request)
            assert parts is not None
            return join(parts)

        data = asyncio.run(answer())
        response, end = response_type.decode(data, version)
        assert end == len(data)
        return response


@contextmanager
def handler_broker(
    data_dir: Path, settings: Mapping[str, str] | None = None, listener: ListenerInfo = LISTENER
) -> Iterator[HandlerBroker]:
    """A broker that is closed at the end."""
    broker = HandlerBroker(data_dir, settings or {}, listener)
    try:
        yield broker
    finally:
        broker.cluster.close(sync=False)


OpenBroker = Callable[..., HandlerBroker]
"""A fixture: opens a broker with settings given as keyword arguments."""


def join(parts: Parts) -> bytes:
    """A response body in memory, with the ranges of files read."""
    return b"".join(
        part if isinstance(part, bytes) else os.pread(part.fd, part.size_bytes, part.position)
        for part in parts
    )


def one(results: list[Any]) -> Any:
    """The only result."""
    (result,) = results
    return result
