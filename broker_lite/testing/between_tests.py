"""What the pytest plugin does to a broker's faults and recorded requests around a test."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Final

from broker_lite.testing.forks import BrokerFailed

if TYPE_CHECKING:
    import pytest

    from broker_lite.testing.bench_commands import Recording
    from broker_lite.testing.broker import Broker

LINES: Final = 50


def prepare(broker: "Broker", recording: "Recording") -> None:
    """Remove what the test before left: faults, recorded requests, another recording.

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
    if not broker.is_controlled:
        return ""
    try:
        told = broker.control("GET", f"/v1/requests/lines?count={LINES}")
    except BrokerFailed:  # it has ended, which the report says anyway
        return ""
    assert isinstance(told, list)
    return "\n".join(map(str, told))
