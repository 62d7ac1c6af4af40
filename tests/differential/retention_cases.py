"""Cases of retention: what is in a log, what is allowed, what was deleted before (S-50 to S-53)."""

from collections.abc import Mapping
from typing import Final, NamedTuple

HOUR_MS: Final = 3_600_000
NO_TIMESTAMP: Final = None
SMALL: Final = 200
BOTH: Final = "compact,delete"


class Case(NamedTuple):
    """A log of one partition, and its settings from some moment on.

    Attributes:
        name: of the case, and of its topic.
        ages_ms: one batch of two records each, and a segment of its own, with this age; below 0 is
            in the future, None without a timestamp.
        configs: set when everything is written; before that nothing is due.
        delete_to: records below are deleted first; -1 is all of them.
        sizes: of the batches' values; default SMALL.
    """

    name: str
    ages_ms: tuple[int | None, ...]
    configs: Mapping[str, object]
    delete_to: int | None = None
    sizes: tuple[int, ...] = ()

    def size_of(self, index: int) -> int:
        """Size of the value of a batch's records."""
        return self.sizes[index] if self.sizes else SMALL

    @property
    def segment_bytes(self) -> int:
        """Room for the largest batch and for no two of them that follow each other."""
        return 100 + 2 * max(self.sizes, default=SMALL)


NEW: Final = (0, 0, 0, 0)
OLD: Final = (9 * HOUR_MS,) * 3
UNEVEN: Final = (900, 500, 700, 450)
# 61 bytes of header, and two records of a value and 9 to 11 bytes
BATCH_BYTES: Final = 61 + 2 * (SMALL + 11)

CASES: Final = (
    Case("nothing-is-due", NEW, {"retention.ms": HOUR_MS}),
    Case("time", (3 * HOUR_MS, 2 * HOUR_MS, 0, 0), {"retention.ms": HOUR_MS}),
    Case("time-all", OLD, {"retention.ms": HOUR_MS}),
    Case("time-one-segment", OLD[:1], {"retention.ms": HOUR_MS}),
    Case("time-a-new-one-first", (0, *OLD), {"retention.ms": HOUR_MS}),
    Case("time-a-new-one-between", (*OLD, 0, *OLD), {"retention.ms": HOUR_MS}),
    Case("time-future", (-HOUR_MS, *OLD), {"retention.ms": HOUR_MS}),
    Case("time-future-last", (*OLD, -HOUR_MS), {"retention.ms": HOUR_MS}),
    Case("time-none-first", (NO_TIMESTAMP, *OLD), {"retention.ms": HOUR_MS}),
    Case("time-none-between", (*OLD, NO_TIMESTAMP, *OLD), {"retention.ms": HOUR_MS}),
    Case("time-no-limit", OLD, {"retention.ms": -1}),
    Case("time-zero", OLD, {"retention.ms": 0}),
    Case("size-all", NEW, {"retention.bytes": 0}),
    Case("size-one", NEW, {"retention.bytes": 1}),
    Case("size-some", NEW, {"retention.bytes": 2 * BATCH_BYTES + BATCH_BYTES // 2}),
    Case("size-enough", NEW, {"retention.bytes": 9 * BATCH_BYTES}),
    Case("size-no-limit", NEW, {"retention.bytes": -1}),
    Case("size-uneven", NEW, {"retention.bytes": 1000}, sizes=UNEVEN),
    Case("size-uneven-more", NEW, {"retention.bytes": 3000}, sizes=UNEVEN),
    Case("size-uneven-most", NEW, {"retention.bytes": 3600}, sizes=UNEVEN),
    Case(
        "size-and-time",
        (9 * HOUR_MS, 9 * HOUR_MS, 9 * HOUR_MS, 0),
        {"retention.bytes": 3 * BATCH_BYTES, "retention.ms": HOUR_MS},
    ),
    Case("start-in-the-first", NEW, {}, delete_to=1),
    Case("start-at-a-border", NEW, {}, delete_to=2),
    Case("start-inside", NEW, {}, delete_to=5),
    Case("start-in-the-active", NEW, {}, delete_to=7),
    Case("start-at-the-end", NEW, {}, delete_to=-1),
    Case("start-and-time", OLD, {"retention.ms": HOUR_MS}, delete_to=3),
    Case("start-and-size", NEW, {"retention.bytes": 2 * BATCH_BYTES}, delete_to=3),
    Case("compact-time", OLD, {"cleanup.policy": "compact", "retention.ms": HOUR_MS}),
    Case("compact-size", NEW, {"cleanup.policy": "compact", "retention.bytes": 0}),
    Case("compact-start", NEW, {"cleanup.policy": "compact"}, delete_to=5),
    Case("both-time", (*OLD, 0), {"cleanup.policy": BOTH, "retention.ms": HOUR_MS}),
    Case("both-size", NEW, {"cleanup.policy": BOTH, "retention.bytes": 2 * BATCH_BYTES}),
    Case("both-start", NEW, {"cleanup.policy": BOTH}, delete_to=3),
)
