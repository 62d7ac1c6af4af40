"""What one process can ask another; the first byte of a call."""

from enum import IntEnum


class Call(IntEnum):
    """A question."""

    FORWARD = 0
    """A client's request, which the first process answers."""
    ASK = 1
    """A request of one broker to another: the transaction coordinator, the leader of partitions."""
    HELLO = 2
    """A process is ready, and tells its addresses; it may serve clients when that is answered."""
