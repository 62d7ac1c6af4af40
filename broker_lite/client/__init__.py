"""A small blocking Kafka client for the command line and for tests.

It takes requests of the wire room and returns responses, or raises a ClientError with one line of
text for the user. It works with any broker from Kafka 0.11 on; TLS and SASL are imported only if
properties ask for them. It uses no event loop and no thread, and never retries a request that may
have changed something.
"""

from broker_lite.client.address import Address
from broker_lite.client.broker_connection import Connection
from broker_lite.client.client import RETRIED, Client
from broker_lite.client.errors import (
    BadAnswer,
    LoginRefused,
    NoAnswer,
    NoConnection,
    NotSupported,
    NotTrusted,
    Refused,
    UnknownHost,
    check,
    error_name,
)

__all__ = [
    "RETRIED",
    "Address",
    "BadAnswer",
    "Client",
    "Connection",
    "LoginRefused",
    "NoAnswer",
    "NoConnection",
    "NotSupported",
    "NotTrusted",
    "Refused",
    "UnknownHost",
    "check",
    "error_name",
]
