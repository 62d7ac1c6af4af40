"""The effects of an event outside a coordinator: records to write and responses to send.

A coordinator is a pure state machine: it takes an event and the time, changes its own state, and
returns these effects. The records are written first, as one batch; only then are the responses
sent. If the records cannot be written, the coordinator's state is loaded from the log again.
"""

from typing import Final, NamedTuple

from broker_lite.coordinator.group_history import Note
from broker_lite.wire.structs import Struct


class Caller(NamedTuple):
    """The client that sent a request, and the token to answer it.

    `token` stands for the open request: the coordinator returns it with the response, at once or
    much later. A coordinator never looks into it. `is_coordinator` tells whether the broker that
    was asked coordinates the group of the request.
    """

    version: int
    client_id: str
    client_host: str
    token: object
    is_coordinator: bool = True


class StateRecord(NamedTuple):
    """One record of a state log; without a value it is a tombstone, which deletes its key."""

    key: bytes
    value: bytes | None


Reply = tuple[object, Struct]
"""The token of an open request, and its response."""

NO_START: Final = -1
"""The start offset of a share group's partition that nobody has read from yet."""


class ShareStart(NamedTuple):
    """The state of a share group's partition begins, anew if it is there; or it ends.

    Attributes:
        group_id: of the share group.
        topic_id: of the partition's topic.
        partition: its index.
        start_offset: the first record that the group gets; NO_START if its first reader decides,
            None if the state ends.
        state_epoch: the epoch of the group at that time.
    """

    group_id: str
    topic_id: bytes
    partition: int
    start_offset: int | None
    state_epoch: int


class Effects:
    """The records and replies of one event, collected while the event is handled.

    Attributes:
        records: to be written in this order, as one batch, before any reply is sent.
        replies: each with the token of the request that it answers.
        prompt: tokens whose replies do not wait until the records are replicated.
        notes: what groups did, and why, for people.
        share_starts: states of share groups' partitions that are written before the records.
        producer: the producer id and epoch of the transaction that the records belong to, None if
            they belong to none.
    """

    __slots__ = ("notes", "producer", "prompt", "records", "replies", "share_starts")

    def __init__(self) -> None:
        self.producer: tuple[int, int] | None = None
        self.records: list[StateRecord] = []
        self.replies: list[Reply] = []
        self.prompt: tuple[object, ...] = ()
        self.notes: tuple[Note, ...] = ()
        self.share_starts: list[ShareStart] = []

    def write(self, key: bytes, value: bytes | None) -> None:
        """Add a record."""
        self.records.append(StateRecord(key, value))

    def add(self, later: "Effects") -> None:
        """Add the effects of what happened after this."""
        self.records += later.records
        self.replies += later.replies
        self.notes += later.notes
        self.share_starts += later.share_starts

    def note(self, group_id: str, epoch: int, what: str) -> None:
        """Tell people what a group did, and why."""
        self.notes += (Note(group_id, epoch, what),)

    def reply(self, token: object, response: Struct) -> None:
        """Answer an open request with a response message."""
        self.replies.append((token, response))

    def reply_promptly(self, token: object, response: Struct) -> None:
        """Answer an open request; only records that were written before it can delay the response.

        See: C-72.
        """
        self.replies.append((token, response))
        if not self.records:
            self.prompt += (token,)
