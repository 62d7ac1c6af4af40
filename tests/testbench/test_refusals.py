"""The refused requests that are kept: how many, how large, and by which ids."""

from types import SimpleNamespace
from typing import Any

import pytest

from broker_lite.errors import ErrorCode, Why
from broker_lite.handler.context import Request
from broker_lite.testbench.errors import ControlError
from broker_lite.testbench.refusals import BYTES_MAX, KEPT_MAX, Refusals


def keep(refusals: Refusals, correlation_id: int, size: int = 10) -> str:
    clock = SimpleNamespace(now_ms=lambda: 7)
    context: Any = SimpleNamespace(connection_id=1, clock=clock)
    body = memoryview(bytearray(size))
    request = Request(0, 9, correlation_id, "me", body, 0, True)
    why = Why("V-20", "the CRC is wrong", {})
    return refusals.keep(context, request, ErrorCode.CORRUPT_MESSAGE, why, {})


def test_partitions_of_one_request_share_an_id() -> None:
    refusals = Refusals()
    assert [keep(refusals, 1), keep(refusals, 1), keep(refusals, 2)] == ["x1", "x1", "x2"]
    first = refusals.get("x1")
    assert (first.error, first.client_id, first.now_ms, first.frame) == (
        ErrorCode.CORRUPT_MESSAGE,
        "me",
        7,
        b"\0\0\0\x0a" + bytes(10),
    )
    with pytest.raises(ControlError, match="'x3'"):
        refusals.get("x3")


def test_the_last_ones_are_kept() -> None:
    refusals = Refusals()
    for number in range(KEPT_MAX + 5):
        keep(refusals, number)
    kept = refusals.list()
    assert (len(kept), kept[0].id, kept[-1].id) == (KEPT_MAX, "x6", f"x{KEPT_MAX + 5}")


def test_their_bytes_are_bounded() -> None:
    refusals = Refusals()
    for number in range(10):
        keep(refusals, number, BYTES_MAX)
    kept = refusals.list()
    assert sum(len(each.frame) for each in kept) <= BYTES_MAX
    assert kept[-1].id == "x10"
    assert kept[-1].frame[:4] == BYTES_MAX.to_bytes(4, "big")
