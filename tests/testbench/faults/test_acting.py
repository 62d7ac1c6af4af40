"""Every action on every API and version: the answer is what the rule says, the broker is unharmed.

Also tests: broker_lite.testbench.faults.problems.
"""

import asyncio
from typing import Any

import pytest

from broker_lite.errors import ErrorCode
from broker_lite.handler.context import CloseConnection, WireAnswer
from broker_lite.handler.table import APIS
from broker_lite.protocol.framing import Request, framed
from broker_lite.testbench.errors import ControlError
from broker_lite.testbench.faults.fault import Fault
from broker_lite.testbench.faults.wire_faults import FaultAnswer
from broker_lite.wire import messages
from broker_lite.wire.primitives import EncodeError
from tests.fuzz.frames import TOPIC, RequestSampler
from tests.support.handler_broker import join
from tests.testbench.conftest import FaultyBroker, SentBytes, request_of

ACTIONS: list[dict[str, Any]] = [
    {"observe": True},
    {"error": "UNKNOWN_SERVER_ERROR"},
    {"error": "NOT_COORDINATOR", "top_level": True},
    {"error": "REQUEST_TIMED_OUT"},
    {"error": "INVALID_REQUEST", "topic": TOPIC},
    {"drop": "before"},
    {"drop": "after", "reset": True},
    {"cut_at": 5},
    {"split": [1, 3]},
    {"rewrite": {"throttle_time_ms": 77}},
    {"rewrite": {"correlation_id": 5}},
    {"rewrite": {"error_code": 41}},
    {"throttle_ms": 123},
    {"poison": "bad-crc"},
    {"delay_ms": 0.01},
]
REQUESTS = 3
_LEAVES_MACHINE = frozenset((64,))  # UnregisterBroker: the broker would lead nothing any more
# what waits for other members or for records
_WAITS = frozenset((11, 14))


def requests(key: int, version: int, topic_id: bytes) -> list[Request]:
    """Some requests that are valid, with names that there are and that there are not."""
    kind, _ = messages.by_api(key)
    found = []
    for seed in range(40):
        sampler = RequestSampler(kind.name, version, seed, topic_id)
        try:
            found.append(request_of(kind, version, sampler.value()))
        except EncodeError:
            continue
        if len(found) == REQUESTS:
            break
    return found


async def sent(answer: WireAnswer) -> tuple[SentBytes, str]:
    """What a fault's answer sends, and why it closes the connection."""
    wire = SentBytes()
    try:
        await answer.leave(wire)
    except CloseConnection as reason:
        return wire, str(reason)
    return wire, ""


async def run(bench: FaultyBroker, request: Request, action: dict[str, Any]) -> None:
    """Send one request under one rule, and look at what comes back."""
    try:
        [fault] = bench.rules({**action, "keys": [request.api_key]})
    except ControlError as error:
        if "has no field" not in error.text:
            raise
        return
    bench.handled.clear()
    try:
        async with asyncio.timeout(5):
            parts = await bench.answer(request)
    except CloseConnection:  # the handler's own, which may refuse what is no sensible request
        assert bench.handled
        return
    finally:
        bench.faults.clear()
    state = fault.state()
    assert state.hits + state.not_applied <= 1
    if isinstance(parts, WireAnswer):
        await look_at_wire(bench, request, fault, parts)
        return
    if state.not_applied or not state.hits:
        assert bench.handled, state.reasons
    if parts is None:
        assert request.api_key == 0
        return
    _, kind = messages.by_api(request.api_key)
    value, end = kind.decode(join(parts), request.api_version)
    assert end == len(join(parts))
    if state.hits:
        look_at_value(value, action, bench)


async def look_at_wire(
    bench: FaultyBroker, request: Request, fault: Fault, answer: WireAnswer
) -> None:
    """The bytes are those that the rule wants."""
    assert isinstance(answer, FaultAnswer)
    rule = fault.rule
    wire, reason = await sent(answer)
    data = b"".join(wire.pieces)
    if rule.drop is not None:
        assert (data, wire.is_reset) == (b"", rule.reset)
        assert bool(bench.handled) == (rule.drop == "after")
        assert fault.id in reason
    elif rule.cut_at is not None:
        assert len(data) == 5
        assert fault.id in reason
    elif rule.split is not None:
        assert [len(piece) for piece in wire.pieces[:2]] == [1, 3]
        assert int.from_bytes(data[:4]) == len(data) - 4
        assert int.from_bytes(data[4:8]) == request.correlation_id
        assert not reason
    elif rule.error is not None:
        assert (data, request.api_key) == (b"", 0)
        assert reason == f"fault {fault.id} of the test bench fails a Produce with acks=0"
    else:
        assert int.from_bytes(data[:4]) == len(data) - 4
        assert int.from_bytes(data[4:8]) == 5


def look_at_value(value: Any, action: dict[str, Any], bench: FaultyBroker) -> None:
    """The answer tells what the rule wants."""
    if "error" in action:
        assert int(ErrorCode[action["error"]]) in error_codes(value)
    if "top_level" in action and hasattr(value, "error_code") and value.error_code:
        assert value.error_code == ErrorCode[action["error"]]
        assert not bench.handled
    if "throttle_ms" in action:
        assert value.throttle_time_ms == 123
    if "rewrite" in action:
        for name, wanted in action["rewrite"].items():
            assert getattr(value, name) == wanted


def error_codes(value: Any) -> set[int]:
    """All error codes in an answer."""
    found = set()
    for name in value.fields:
        inner = getattr(value, name)
        if name.endswith("error_code"):
            found.add(inner)
        for element in inner if isinstance(inner, list) else [inner]:
            if hasattr(element, "fields"):
                found |= error_codes(element)
    return found


@pytest.mark.parametrize("key", sorted(APIS.keys() - _LEAVES_MACHINE))
def test_every_action_on_every_version(key: int, bench: FaultyBroker) -> None:
    topic_id = bench.topic(TOPIC)
    api = APIS[key]

    async def every() -> None:
        for version in range(api.min_version, api.max_version + 1):
            for request in requests(key, version, topic_id):
                for action in ACTIONS:
                    if key in _WAITS and not action.keys() & {"error", "drop"}:
                        continue
                    if key in _WAITS and action.get("drop") == "after":
                        continue
                    if key in _WAITS and action.get("error") == "REQUEST_TIMED_OUT":
                        continue
                    await run(bench, request, action)

    asyncio.run(every())


def test_the_framing_is_that_of_other_answers(bench: FaultyBroker) -> None:
    kind = messages.MetadataRequest
    request = request_of(kind, 12, kind(topics=[]))

    async def both() -> tuple[bytes, bytes]:
        parts = await bench.answer(request)
        assert parts is not None
        bench.rule(keys=["Metadata"], split=[4, 4, 1])
        answer = await bench.answer(request)
        assert isinstance(answer, WireAnswer)
        wire, _ = await sent(answer)
        return join(framed(request, parts)), b"".join(wire.pieces)

    whole, pieces = asyncio.run(both())
    assert whole == pieces
