"""What the pytest plugin does to a broker's faults and recorded requests around a test."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Final

from broker_lite.testing.processes.forks import BrokerFailed

if TYPE_CHECKING:
    import pytest

    from broker_lite.testing.bench_commands import Recording
    from broker_lite.testing.broker import Broker

LINES: Final = 50


def prepare(broker: "Broker", recording: "Recording") -> None:
    """Remove what the test before left: faults, requests, another recording, a frozen clock.

    A broker that is not to record, and that no test has sent a request of the control API, is left
    alone: it has nothing of all that, and imports nothing.

    Args:
        broker: that runs.
        recording: how much of requests, off for nothing.
    """
    if recording == "off" and not broker.is_controlled:
        return
    broker.record_requests(recording)
    broker.control("DELETE", "/v1/faults")
    broker.control("DELETE", "/v1/requests")
    broker.unfreeze()


def restore(broker: "Broker", name: str) -> None:
    """Put a snapshot back if there is one of this name."""
    if name in _snapshots(broker):
        broker.restore(name)


def check_snapshot(item: "pytest.Item", brokers: "list[Broker]") -> None:
    """Demand that the snapshot is there that a test is marked with: a fixture had to save it.

    Raises:
        BrokerFailed: there is none of this name.
    """
    __tracebackhide__ = True
    mark = item.get_closest_marker("broker_snapshot")
    if mark is None:
        return
    for broker in brokers:
        if mark.args[0] not in _snapshots(broker):
            text = f"there is no snapshot {mark.args[0]!r}: save it in a fixture of the session"
            raise BrokerFailed(text)


def _snapshots(broker: "Broker") -> set[str]:
    """Return the names of a broker's snapshots."""
    known = broker.control("GET", "/v1/snapshots")
    assert isinstance(known, list)
    return {each["name"] for each in known}


@contextmanager
def faults_of(item: "pytest.Item", brokers: "list[Broker]") -> Iterator[None]:
    """Put the faults in force that a test is marked with, in their order, outer marks first.

    Raises:
        BrokerFailed: a rule is wrong.
        FaultUnused: one of them has not acted.
    """
    __tracebackhide__ = True
    with ExitStack() as stack:
        for mark in reversed([*item.iter_markers("broker_fault")]):
            for broker in brokers:
                stack.enter_context(broker.fault(*mark.args, **mark.kwargs))
        yield


def lines(broker: "Broker") -> str:
    """Return the last recorded requests, a line for each; nothing if none is recorded."""
    if not (broker.is_running and broker.is_controlled):
        return ""
    try:
        told = broker.control("GET", f"/v1/requests/lines?count={LINES}")
    except BrokerFailed:  # it has ended, which the report says anyway
        return ""
    assert isinstance(told, list)
    return "\n".join(map(str, told))
