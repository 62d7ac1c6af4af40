"""The settings of a share group that its partitions need."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class ShareSettings:
    """The settings of one group; the defaults are the broker's defaults.

    Args:
        lock_duration_ms: how long a member may take for a record.
        delivery_count_max: how often a record is delivered.
        locks_max: how many records of a partition may be in flight.
        offset_reset: where the group begins: earliest, latest, or by_duration:P...
        is_committed: whether records of transactions count only once they are committed.
        may_renew: whether members may extend a lock.
    """

    lock_duration_ms: int = 30_000
    delivery_count_max: int = 5
    locks_max: int = 2000
    offset_reset: str = "latest"
    is_committed: bool = False
    may_renew: bool = True
