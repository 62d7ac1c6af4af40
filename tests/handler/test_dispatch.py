"""From a request to its handler: P-10, P-45, P-56, and the seam for hooks.

Also tests: broker_lite.handler.context, broker_lite.handler.table.
"""

import subprocess
import sys
from typing import Any

import pytest

from broker_lite.handler.context import (
    Api,
    CloseConnection,
    Handler,
    HandlerContext,
    Hooks,
    ListenerInfo,
    Parts,
    Request,
)
from broker_lite.handler.dispatch import begin, dispatch
from broker_lite.handler.table import APIS, NEVER_FLEXIBLE
from broker_lite.wire import messages
from broker_lite.wire.produce import ManyPartitions


async def answer_version(context: HandlerContext, request: Request) -> Parts | None:
    return [b"v%d" % request.api_version]


TABLE = {
    3: Api("Metadata", 1, 5, 4, answer_version),
    18: Api("ApiVersions", 0, 4, 3, answer_version),
}


def context_of(apis: dict[int, Api], hooks: Hooks | None = None) -> HandlerContext:
    anything: Any = None
    return HandlerContext(
        cluster=anything,
        groups=anything,
        transactions=anything,
        clock=anything,
        client_log=anything,
        settings=anything,
        fetch_sessions=anything,
        lane=anything,
        apis=apis,
        listener=ListenerInfo("PLAINTEXT"),
        local_address=("127.0.0.1", 1),
        client_address=("127.0.0.1", 2),
        hooks=hooks,
        node_id=1,
    )


def run(key: int, version: int, hooks: Hooks | None = None, apis: Any = TABLE) -> Parts | None:
    awaitable: Any = dispatch(
        context_of(apis, hooks), Request(key, version, 1, None, memoryview(b""), 0, False)
    )
    try:
        awaitable.send(None)
    except StopIteration as stopped:
        value: Parts | None = stopped.value
        return value
    raise AssertionError("it waits")


@pytest.mark.parametrize("version", [1, 5])
def test_offered_versions_reach_the_handler(version: int) -> None:
    assert run(3, version) == [b"v%d" % version]


@pytest.mark.parametrize(
    ("key", "version"),
    [(7, 0), (999, 0), (3, 0), (3, 6), (3, -1), (18, -1)],
    ids=["P-10 7", "P-10 999", "P-10 below", "P-10 above", "P-10 negative", "P-45 negative"],
)
def test_e07_what_is_not_offered_closes(key: int, version: int) -> None:
    with pytest.raises(CloseConnection):
        run(key, version)


def test_p_45_a_newer_api_versions_gets_the_range_in_version_0() -> None:
    assert run(18, 5) == [bytes.fromhex("0023 00000001 0012 0000 0004")]


def test_p_45_without_api_versions_it_closes_too() -> None:
    with pytest.raises(CloseConnection):
        run(18, 9, apis={})


def test_p_56_a_version_that_is_served_but_not_offered_closes() -> None:
    capped = {3: TABLE[3]._replace(max_version=2)}
    with pytest.raises(CloseConnection):
        run(3, 3, apis=capped)


def test_a_hook_wraps_the_handler_of_its_api_only() -> None:
    async def hook(context: HandlerContext, request: Request, handle: Handler) -> Parts | None:
        inner = await handle(context, request) or []
        return [b"a", *inner]

    assert run(3, 1, Hooks({3: hook})) == [b"a", b"v1"]
    assert run(3, 1, Hooks({4: hook})) == [b"v1"]


def test_a_hook_may_answer_itself() -> None:
    async def hook(context: HandlerContext, request: Request, handle: Handler) -> Parts | None:
        return None

    assert run(999, 0, Hooks({999: hook})) is None


def test_the_table_is_well_formed() -> None:
    for key, api in APIS.items():
        assert 0 <= api.min_version <= api.max_version, api.name
        request, _ = messages.by_api(key)
        assert api.name == request.name.removesuffix("Request")
        flexible_from = request.flexible_from
        assert api.flexible_from == (NEVER_FLEXIBLE if flexible_from is None else flexible_from)


def test_the_advertised_address_is_where_the_client_came_to() -> None:
    context = context_of(TABLE)
    assert context.advertised_address() == ("127.0.0.1", 1)
    context.listener = ListenerInfo("EXTERNAL", "PLAINTEXT", "broker.example", 9)
    assert context.advertised_address() == ("broker.example", 9)


def begin_version(context: HandlerContext, request: Request) -> Parts:
    return [b"begun v%d" % request.api_version]


def begin_many(context: HandlerContext, request: Request) -> Parts:
    raise ManyPartitions


BEGINNING = {3: Api("Metadata", 1, 5, 4, answer_version, begin_version)}


def began(key: int, version: int, hooks: Hooks | None = None, apis: Any = BEGINNING) -> Any:
    return begin(context_of(apis, hooks), Request(key, version, 1, None, memoryview(b""), 0, False))


def test_an_api_that_can_answer_at_once_does() -> None:
    assert began(3, 5) == [b"begun v5"]


@pytest.mark.parametrize(("key", "version"), [(3, 0), (3, 6), (18, 0), (999, 0)])
def test_p_10_what_is_not_offered_is_left_to_dispatch(key: int, version: int) -> None:
    assert began(key, version, apis=BEGINNING | {18: TABLE[18]}) is None


def test_what_has_a_hook_is_left_to_dispatch() -> None:
    async def hook(context: HandlerContext, request: Request, handle: Handler) -> Parts | None:
        return None

    assert began(3, 5, Hooks({3: hook})) is None
    assert began(3, 5, Hooks({4: hook})) == [b"begun v5"]


def test_what_counts_for_a_quota_is_left_to_dispatch() -> None:
    context = context_of(BEGINNING)
    throttling: Any = object()
    context.quotas = throttling
    assert begin(context, Request(3, 5, 1, None, memoryview(b""), 0, False)) is None


def test_what_is_decoded_in_slices_is_left_to_dispatch() -> None:
    many = {3: Api("Metadata", 1, 5, 4, answer_version, begin_many)}
    assert began(3, 5, apis=many) is None


IMPORTS_OF_A_FIRST_REQUEST = """
import sys, threading
import anyio
import broker_lite.server.run
from broker_lite.handler.table import APIS

class Watching:
    def find_spec(self, name, path=None, target=None):
        is_on_loop = threading.current_thread() is threading.main_thread()
        if is_on_loop and name.startswith("broker_lite."):
            seen.append(name)

async def ask():
    try:
        await APIS[12].handle(None, None)
    except AttributeError:  # it is in the handler now, which finds no request
        pass

seen = []
sys.meta_path.insert(0, Watching())
assert "broker_lite.coordinator.groups.coordinator" not in sys.modules
anyio.run(ask)
assert "broker_lite.coordinator.groups.coordinator" in sys.modules
sys.exit(repr(seen) if seen else 0)
"""


def test_the_first_request_about_a_group_imports_nothing_on_the_event_loop() -> None:
    command = [sys.executable, "-c", IMPORTS_OF_A_FIRST_REQUEST]
    subprocess.run(command, check=True, timeout=60)
