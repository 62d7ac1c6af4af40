"""Brokers for the tests of other programs, and the pytest plugin.

A broker runs in its own process on a free port, and ends with the process that started it. Modules
are imported only when they are used, because pytest imports the plugin in every run.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from broker_lite.testing.aio import AsyncBroker
    from broker_lite.testing.batches import make_batch
    from broker_lite.testing.broker import Broker
    from broker_lite.testing.faults import Fault, FaultUnused
    from broker_lite.testing.groups import ShareGroup, StreamsGroup
    from broker_lite.testing.processes.forks import BrokerDied, BrokerFailed
    from broker_lite.testing.records import Record
    from broker_lite.testing.requests import Request
    from broker_lite.testing.scripts import Script, ScriptFailed
    from broker_lite.testing.telemetry import ClientTelemetry

__all__ = [
    "AsyncBroker",
    "Broker",
    "BrokerDied",
    "BrokerFailed",
    "ClientTelemetry",
    "Fault",
    "FaultUnused",
    "Record",
    "Request",
    "Script",
    "ScriptFailed",
    "ShareGroup",
    "StreamsGroup",
    "make_batch",
]


def __getattr__(name: str) -> object:
    """Import the module of a name at its first use."""
    from importlib import import_module

    modules = {
        "AsyncBroker": "aio",
        "Broker": "broker",
        "BrokerDied": "processes.forks",
        "BrokerFailed": "processes.forks",
        "ClientTelemetry": "telemetry",
        "Fault": "faults",
        "FaultUnused": "faults",
        "Record": "records",
        "Request": "requests",
        "Script": "scripts",
        "ScriptFailed": "scripts",
        "ShareGroup": "groups",
        "StreamsGroup": "groups",
        "make_batch": "batches",
    }
    if name not in modules:
        raise AttributeError(f"module {__name__} has no attribute {name}")
    return getattr(import_module(f"{__name__}.{modules[name]}"), name)
