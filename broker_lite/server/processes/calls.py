"""What one process can ask another; the first byte of a call."""

from enum import IntEnum


class Call(IntEnum):
    """A question."""

    FORWARD = 0
    """A client's request, which the first process answers."""
    ASK = 1
    """A request of one broker to another: the transaction coordinator, the leader of partitions."""
    HOOKED = 3
    """A client's request of another process, around whose handler there is a hook here."""
    SERVE = 4
    """The handler of such a request, back in the process that has the connection."""
    HELLO = 2
    """A process is ready, and tells its addresses; it may serve clients when that is answered."""
