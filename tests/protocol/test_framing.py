"""Framing: P-01 to P-03, P-08, P-34, P-40, P-41."""

import mmap
import struct
from collections.abc import Iterable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from broker_lite.protocol import framing as module
from broker_lite.protocol.framing import ProtocolError, Request, RequestFraming
from broker_lite.protocol.request_memory import NoMemory, RequestMemory
from broker_lite.wire.primitives import DecodeError

MAX_BYTES = 1000
FLEXIBLE_FROM = {18: 3, 3: 9}


def request_bytes(
    key: int = 3, version: int = 1, correlation_id: int = 7, body: bytes = b"", tags: bytes = b""
) -> bytes:
    frame = struct.pack(">hhih4s", key, version, correlation_id, 4, b"test") + tags + body
    return struct.pack(">i", len(frame)) + frame


def connection(
    request_bytes_max: int = MAX_BYTES, *, memory: RequestMemory | None = None
) -> RequestFraming:
    return RequestFraming(request_bytes_max, FLEXIBLE_FROM, memory=memory)


def feed(conn: RequestFraming, data: bytes, step_bytes: int) -> Iterable[tuple[Request, bytes]]:
    """Deliver in steps, hand out each request with its body as it was at that moment."""
    position = 0
    while position < len(data):
        space = conn.get_buffer()
        count = min(step_bytes, len(space), len(data) - position)
        space[:count] = data[position : position + count]
        conn.bytes_received(count)
        position += count
        while (request := conn.next_request()) is not None:
            yield request, bytes(request.body[request.position :])


def test_p_40_header_v1() -> None:
    [(request, body)] = feed(connection(), request_bytes(3, 8, -1, b"body"), 1000)
    assert request[:4] == (3, 8, -1, "test")
    assert (body, request.flexible) == (b"body", False)


@pytest.mark.parametrize("tags", [b"\0", b"\1\5\2ab"], ids=["P-41 no tags", "P-41 unknown tag"])
def test_header_v2(tags: bytes) -> None:
    [(request, body)] = feed(connection(), request_bytes(18, 3, 1, b"body", tags), 1000)
    assert (body, request.flexible) == (b"body", True)


def test_p_10_unknown_keys_are_handed_out() -> None:
    [(request, _)] = feed(connection(), request_bytes(999, 99), 1000)
    assert (request.api_key, request.flexible) == (999, False)


@pytest.mark.parametrize(
    "size",
    [-1, -(2**31), 0, 9, MAX_BYTES + 1, 2**31 - 1, int.from_bytes(b"GET ", "big")],
    ids=["P-02 -1", "P-02 min", "P-03 0", "P-03 9", "P-02 max+1", "P-02 int max", "P-03 HTTP"],
)
def test_bad_sizes_are_refused_before_the_body(size: int) -> None:
    with pytest.raises(ProtocolError):
        list(feed(connection(), struct.pack(">i", size), 4))


def test_p_02_the_largest_size_is_allowed() -> None:
    frame = request_bytes(body=bytes(MAX_BYTES - 14))
    assert len(list(feed(connection(), frame, 10_000))) == 1


CONTROL_BYTES_MAX = 200


@pytest.mark.parametrize(
    ("key", "size"),
    [(3, CONTROL_BYTES_MAX), (0, CONTROL_BYTES_MAX + 1), (0, MAX_BYTES)],
    ids=["P-02 control", "P-02 Produce", "P-02 Produce max"],
)
@pytest.mark.parametrize("step_bytes", [1, 5, 10_000])
def test_the_largest_size_is_that_of_the_api(key: int, size: int, step_bytes: int) -> None:
    conn = RequestFraming(MAX_BYTES, FLEXIBLE_FROM, control_bytes_max=CONTROL_BYTES_MAX)
    frame = request_bytes(key, body=bytes(size - 14))
    assert len(list(feed(conn, frame + frame, step_bytes))) == 2


@pytest.mark.parametrize("key", [1, 3, 18, 999, -1], ids=lambda key: f"P-02 API {key}")
def test_a_large_request_without_records_is_refused_at_its_key(key: int) -> None:
    conn = RequestFraming(MAX_BYTES, FLEXIBLE_FROM, control_bytes_max=CONTROL_BYTES_MAX)
    head = struct.pack(">ih", CONTROL_BYTES_MAX + 1, key)
    assert list(feed(conn, head[:5], 1)) == []
    with pytest.raises(ProtocolError):
        list(feed(conn, head[5:], 1))


@pytest.mark.parametrize(
    "frame",
    [
        struct.pack(">ihhih", 10, 3, 1, 1, 5),
        struct.pack(">ihhih", 10, 18, 3, 1, -1),
        struct.pack(">ihhihB", 11, 18, 3, 1, -1, 200),
    ],
    ids=["P-08 client id", "P-08 no tags", "P-08 tag count"],
)
def test_bad_headers(frame: bytes) -> None:
    with pytest.raises(DecodeError):
        list(feed(connection(), frame, 1000))


@settings(max_examples=60, deadline=None)
@given(
    sizes=st.lists(st.sampled_from([0, 1, 100, 5_000, 40_000, 200_000]), max_size=8),
    step_bytes=st.sampled_from([1, 7, 1000, 70_000, 1 << 20]),
)
def test_p_01_any_delivery_gives_the_same_requests(sizes: list[int], step_bytes: int) -> None:
    if step_bytes < 1000:
        sizes = [size for size in sizes if size <= 5_000]
    bodies = [bytes([number]) * size for number, size in enumerate(sizes)]
    data = b"".join(request_bytes(correlation_id=n, body=b) for n, b in enumerate(bodies))
    received = list(feed(connection(1 << 20), data, step_bytes))
    assert [body for _, body in received] == bodies
    assert [request.correlation_id for request, _ in received] == list(range(len(bodies)))


def test_the_body_is_a_writable_view_into_the_buffer() -> None:
    conn = connection()
    data = request_bytes(body=b"body")
    space = conn.get_buffer()
    space[: len(data)] = data
    conn.bytes_received(len(data))
    request = conn.next_request()
    assert request is not None
    request.body[request.position] = ord("B")
    assert bytes(space[: len(data)]).endswith(b"Body")


def test_a_new_buffer_leaves_views_of_the_old_one_as_they_are() -> None:
    conn = connection(1 << 20)
    [(request, _)] = feed(conn, request_bytes(body=b"x" * 100_000), 1 << 20)
    conn.release_idle_memory()
    list(feed(conn, request_bytes(body=b"y" * 100_000), 1 << 20))
    assert bytes(request.body[request.position :]) == b"x" * 100_000


def resident_bytes() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * mmap.PAGESIZE


def test_memory_follows_what_arrives_not_what_is_announced() -> None:
    """The pages of a large frame take memory when bytes are received into them."""
    conn = connection(100 << 20)
    assert list(feed(conn, struct.pack(">i", 100 << 20), 4)) == []
    conn.get_buffer()
    assert conn.buffer_bytes <= module.READ_AHEAD_BYTES
    before = resident_bytes()
    list(feed(conn, bytes(1 << 20), 1 << 20))
    conn.get_buffer()
    assert conn.buffer_bytes == (100 << 20) + 4
    # a page may be one of 2 MiB
    assert resident_bytes() - before <= 5 << 20


def test_frames_take_memory_for_their_size_when_some_has_arrived() -> None:
    memory = RequestMemory(4 << 20)
    first, second = (connection(100 << 20, memory=memory) for _ in range(2))
    head = struct.pack(">ih", (5 << 20) - 4, 0)
    for conn in (first, second):
        list(feed(conn, head + bytes(20_000), 1 << 20))
    assert memory.large.used_bytes == 0
    assert memory.small.used_bytes == 2 * (64 << 10)
    list(feed(first, bytes(20_000), 1 << 20))
    first.get_buffer()
    assert (memory.large.used_bytes, memory.small.used_bytes) == (5 << 20, 64 << 10)
    list(feed(second, bytes(40_000), 1 << 20))
    with pytest.raises(NoMemory):
        second.get_buffer()
    assert second.has_taken_memory
    first.close()
    assert memory.large.used_bytes == 0
    assert not first.has_taken_memory
    second.get_buffer()
    second.close()
    assert (memory.large.used_bytes, memory.small.used_bytes) == (0, 0)


def test_small_requests_need_no_memory() -> None:
    memory = RequestMemory(4 << 20)
    memory.large.take(1 << 30)
    memory.small.take(1 << 30)
    conn = connection(1 << 20, memory=memory)
    frame = request_bytes(body=bytes(900))
    assert len(list(feed(conn, frame * 30, 1 << 20))) == 30
    assert not conn.has_taken_memory
    with pytest.raises(NoMemory):
        list(feed(conn, request_bytes(body=bytes(5000)), 1 << 20))


def test_a_buffer_that_is_in_order_is_kept_until_memory_is_short() -> None:
    memory = RequestMemory(4 << 20)
    conn = connection(1 << 20, memory=memory)
    frame = request_bytes(body=bytes(500_000))
    assert len(list(feed(conn, frame, 1 << 20))) == 1
    conn.rest()
    assert conn.buffer_bytes == len(frame) == memory.large.used_bytes
    memory.large.take(4 << 20)
    with pytest.raises(NoMemory):
        memory.large.take(1)
    conn.rest()
    assert conn.buffer_bytes == module.IDLE_BUFFER_BYTES
    assert memory.large.used_bytes == 4 << 20
    conn.rest()


def test_an_idle_connection_is_small() -> None:
    conn = connection(1 << 20)
    assert conn.buffer_bytes <= 8192
    list(feed(conn, request_bytes(body=bytes(500_000)), 1 << 20))
    assert conn.buffer_bytes >= 500_000
    conn.release_idle_memory()
    assert conn.buffer_bytes <= 8192
    assert len(list(feed(conn, request_bytes(), 1000))) == 1


def test_memory_with_a_request_in_it_is_not_released() -> None:
    conn = connection(1 << 20)
    data = request_bytes(body=bytes(500_000))
    list(feed(conn, data + data[:100], 1 << 20))
    conn.release_idle_memory()
    assert conn.pending_bytes == 100
    assert len(list(feed(conn, data[100:], 1 << 20))) == 1


def test_a_huge_buffer_is_not_kept() -> None:
    conn = connection(100 << 20)
    list(feed(conn, request_bytes(body=bytes(module.RETAINED_BUFFER_BYTES + 1)), 1 << 30))
    conn.get_buffer()
    assert conn.buffer_bytes == module.IDLE_BUFFER_BYTES


def test_space_ends_with_a_large_frame_so_that_nothing_has_to_be_moved() -> None:
    conn = connection(1 << 20)
    data = request_bytes(body=bytes(300_000))
    list(feed(conn, data + data[:10_000], 1 << 20))
    space = conn.get_buffer()
    assert len(space) == len(data) - 10_000


def test_space_for_the_next_frame_is_as_large_as_the_last() -> None:
    conn = connection(1 << 20)
    data = request_bytes(body=bytes(300_000))
    list(feed(conn, data, 1 << 20))
    assert len(conn.get_buffer()) == len(data)


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"", False),
        (request_bytes(0)[:5], False),
        (request_bytes(0)[:-1], False),
        (request_bytes(0), True),
        (request_bytes(0) + request_bytes(3), True),
        (request_bytes(1), False),
        (struct.pack(">ih", -1, 0), False),
    ],
)
def test_p_04_whether_a_produce_request_waits(data: bytes, expected: bool) -> None:
    conn = connection()
    space = conn.get_buffer()
    space[: len(data)] = data
    conn.bytes_received(len(data))
    assert conn.has_whole_produce() is expected
