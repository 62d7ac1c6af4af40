"""What an event does to the world outside a coordinator: records to write, answers to give.

A coordinator is a pure state machine: it takes an event and the time, changes its own state, and
says what has to happen. The records come first: they are written as one batch, and only then does
any answer leave. When they cannot be written, what the log says counts: the state is loaded anew.
"""

from typing import NamedTuple

from broker_lite.wire.structs import Struct


class Caller(NamedTuple):
    """Who sent a request, and where its answer goes.

    `token` stands for the open request: it comes back with the answer, at once or much later. A
    coordinator never looks into it.
    """

    version: int
    client_id: str
    client_host: str
    token: object


class StateRecord(NamedTuple):
    """One record of a state log; without a value it is a tombstone, which removes the key."""

    key: bytes
    value: bytes | None


Reply = tuple[object, Struct]
"""The token of an open request, and the response that it gets."""


class Effects:
    """What one event leads to, collected while it is handled.

    Attributes:
        records: to be written in this order, as one batch, before any reply leaves.
        replies: each with the token of the request that it answers.
        producer: id and epoch of the transaction that the records belong to, None for none.
    """

    __slots__ = ("producer", "records", "replies")

    def __init__(self) -> None:
        self.producer: tuple[int, int] | None = None
        self.records: list[StateRecord] = []
        self.replies: list[Reply] = []

    def write(self, key: bytes, value: bytes | None) -> None:
        """Add a record."""
        self.records.append(StateRecord(key, value))

    def reply(self, token: object, response: Struct) -> None:
        """Answer an open request with a response message."""
        self.replies.append((token, response))
