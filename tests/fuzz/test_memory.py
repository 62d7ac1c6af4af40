"""Requests that ask for much memory, at a live broker: P-02, P-34."""

import contextlib
import socket
import struct
from collections.abc import Iterator

import pytest

from tests.bench.growth import resident_bytes
from tests.fuzz.well_behaved import WellBehaved, longest_wait_s
from tests.support.broker_process import KEEP, BrokerProcess
from tests.support.control_group import peak_bytes

CONNECTIONS = 200
LARGEST = 104_857_600
CONTROL_MAX = 2_097_152
# 0.7 s on an idle machine
WAIT_S_MAX = 3.0
PEAK_BYTES_MAX = 500_000_000


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BrokerProcess]:
    with BrokerProcess(tmp_path_factory.mktemp("memory") / "data", settings=[KEEP]) as running:
        yield running


@pytest.fixture
def calm(broker: BrokerProcess) -> Iterator[WellBehaved]:
    client = WellBehaved(broker.port)
    client.next_offset = client.produce()[1] + 1
    yield client
    client.close()


def frame(key: int, version: int, body: bytes, size: int | None = None) -> bytes:
    head = struct.pack(">hhih", key, version, 7, -1)
    return struct.pack(">i", len(head) + len(body) if size is None else size) + head + body


@contextlib.contextmanager
def connections(broker: BrokerProcess, count: int) -> Iterator[list[socket.socket]]:
    with contextlib.ExitStack() as stack:
        yield [
            stack.enter_context(socket.create_connection((broker.host, broker.port), 20))
            for _ in range(count)
        ]


def is_closed(sock: socket.socket) -> bool:
    try:
        return sock.recv(1) == b""
    except ConnectionError:
        return True


def names(count: int) -> bytes:
    """The body of a Metadata request, version 1, of empty names."""
    return struct.pack(">i", count) + bytes(2 * count)


@pytest.mark.slow
def test_p_02_announcing_a_large_frame_costs_nothing(
    broker: BrokerProcess, calm: WellBehaved
) -> None:
    before = resident_bytes(broker.pid)
    with connections(broker, CONNECTIONS) as clients:
        for client in clients:
            client.sendall(frame(0, 9, bytes(1000), LARGEST))
        assert calm.check() is None
        assert (resident_bytes(broker.pid) - before) / CONNECTIONS < 200_000


def test_p_02_a_large_request_without_records_closes_the_connection(
    broker: BrokerProcess, calm: WellBehaved
) -> None:
    before = resident_bytes(broker.pid)
    with connections(broker, 3) as clients:
        for client in clients:
            client.sendall(frame(3, 1, names(1000), LARGEST)[:1000])
            assert is_closed(client)
    assert calm.check() is None
    assert resident_bytes(broker.pid) - before < 10_000_000


@pytest.mark.slow
@pytest.mark.parametrize(
    ("key", "version", "body"),
    [
        pytest.param(3, 1, names((CONTROL_MAX - 14) // 2), id="P-34 Metadata"),
        pytest.param(
            0, 3, struct.pack(">hhii", -1, 1, 1, 100_000) + bytes(600_000), id="P-34 topics"
        ),
        pytest.param(
            0,
            3,
            struct.pack(">hhiihi", -1, 1, 1, 1, 0, 13_000_000) + bytes(104_000_000),
            id="P-34 partitions",
        ),
    ],
)
def test_the_largest_request_is_decoded_in_bounds(
    broker: BrokerProcess, calm: WellBehaved, key: int, version: int, body: bytes
) -> None:
    with connections(broker, 1) as (client,):
        client.sendall(frame(key, version, body))
        waited_s = longest_wait_s(calm, client)
    assert waited_s < WAIT_S_MAX
    assert peak_bytes(broker.pid) < PEAK_BYTES_MAX
    print(f"waited {waited_s:.2f} s, peak {peak_bytes(broker.pid) / 1e6:.0f} MB")
