"""What a sequence of coordinator requests is, before any broker has answered.

A step says symbolically what it sends: `own` is the member id that the broker gave to the slot, a
generation is the difference to the one that the slot was told. So one sequence means the same on
two brokers, whatever ids they make up, and still means something when steps are taken out of it.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

SHARED_TOPICS: Final = {"d1": 1, "d2": 2, "d3": 3, "d6": 6, "d12": 12}
"""Topics that every sequence may subscribe to and commit offsets for, with their partitions."""

OWN_TOPIC: Final = "own"
OWN_TOPIC_PARTITIONS: Final = 2
CHANGING_TOPIC: Final = "own2"
"""A topic that a sequence creates, grows and deletes; at the start it is not there."""

# long enough that nothing ends by itself in a sequence that does not wait
LONG_MS: Final = 300_000
# ends at different times, so that the order of what ends is certain
SHORT_SESSION_MS: Final = 2400
SHORT_CONSUMER_SESSION_MS: Final = 3100
SHORT_REBALANCE_MS: Final = 4000
SHORT_TRANSACTION_MS: Final = 2000
EARLY_S: Final = 0.25
LATE_S: Final = 6.6


@dataclass(frozen=True, slots=True)
class Step:
    """One request, or one of the harness's own acts (`Wait`, `Disconnect`, `Look`, `Topic`).

    Args:
        api: the request's name without `Request`.
        slot: the member or producer that sends it.
        args: what the builder of that api takes, symbolically.
    """

    api: str
    version: int = 0
    slot: int = 0
    args: Mapping[str, Any] = field(default_factory=dict)

    def text(self) -> str:
        """What is sent, for a reader."""
        args = ", ".join(f"{name}={value!r}" for name, value in self.args.items())
        return f"[{self.slot}] {self.api} v{self.version}({args})"


@dataclass(frozen=True, slots=True)
class Sequence:
    """The steps of one seed.

    Args:
        kind: which generator made it.
        has_topic: whether it needs a topic of its own.
        has_group_configs: whether its consumer groups have short timeouts.
        is_timed: whether timeouts end in it, so that it must take as long on both brokers.
    """

    seed: int
    kind: str
    steps: tuple[Step, ...]
    has_topic: bool = False
    has_group_configs: bool = False
    is_timed: bool = False
