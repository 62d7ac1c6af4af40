"""The client room: a small blocking Kafka client for the command line and for tests.

In: addresses and request values of the wire room. Out: response values, or a ClientError whose
text is one line for a person. It works against any broker from Kafka 0.11 on, over plain text; it
runs no loop and no thread, and never retries a request that may have changed something.
"""

from broker_lite.client.address import Address, parse_addresses
from broker_lite.client.client import RETRIED, Client
from broker_lite.client.connection import Connection
from broker_lite.client.errors import (
    BadAnswer,
    NoAnswer,
    NoConnection,
    NotSupported,
    Refused,
    UnknownHost,
    check,
    error_name,
)
from broker_lite.errors import ClientError

__all__ = [
    "RETRIED",
    "Address",
    "BadAnswer",
    "Client",
    "ClientError",
    "Connection",
    "NoAnswer",
    "NoConnection",
    "NotSupported",
    "Refused",
    "UnknownHost",
    "check",
    "error_name",
    "parse_addresses",
]
