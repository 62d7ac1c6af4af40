"""What was measured of the clients: a bounded number of rates or buckets.

A client chooses its client id, so it could have any number of them. Those that were used longest
ago make room for new ones, and long names are kept as digests.

A difference to Kafka: a node keeps the rates of 5,000 users and client ids for each kind of quota.
Kafka has no such bound. Who was idle for longest begins anew.
"""

import hashlib
from collections import OrderedDict
from collections.abc import Callable
from typing import Final, Generic, Protocol, TypeVar

from broker_lite.control.quotas.levels import Share

KEPT_MAX: Final = 5000
EXPIRY_MS: Final = 3_600_000
_NAME_MAX: Final = 128

T = TypeVar("T")


class FindsQuotas(Protocol):
    """Finds the quotas of clients; see Levels."""

    @property
    def has_any(self) -> bool:
        """Whether any client has a quota."""

    def share_of(self, user: str, client_id: str) -> Share:
        """Return with whom a client shares what is measured."""

    def limit_of(self, share: Share) -> float:
        """Return the quota of those who share it."""


class Measured(Generic[T]):
    """Rates or buckets by who shares them, with the quotas that are in force for them."""

    def __init__(
        self, levels: FindsQuotas, make: Callable[[], T], kept_max: int = KEPT_MAX
    ) -> None:
        """Begin with nothing measured.

        Args:
            levels: finds the quotas.
            make: makes what measures.
            kept_max: how many are kept.
        """
        self._levels = levels
        self._make = make
        self._kept_max = kept_max
        # By when they were used last, the oldest first.
        self._kept: OrderedDict[Share, tuple[T, int]] = OrderedDict()
        self._known: dict[tuple[str, str], tuple[Share, float]] = {}

    def __len__(self) -> int:
        return len(self._kept)

    @property
    def is_on(self) -> bool:
        """Whether any client has such a quota."""
        return self._levels.has_any

    def forget_limits(self) -> None:
        """Look quotas up anew, because they have changed; what was measured stays.

        Rule: X-89 (ClientQuotaManager.updateQuota).
        """
        self._known.clear()

    def of(self, user: str, client_id: str, now_ms: int) -> tuple[T, float]:
        """Return what measures a client, and its quota.

        Rule: X-89 (Sensor.hasExpired).
        """
        client = user, client_id
        found = self._known.get(client)
        if found is None:
            found = self._look_up(user, client_id)
            if len(client_id) <= _NAME_MAX and len(user) <= _NAME_MAX:
                if len(self._known) >= self._kept_max:
                    self._known.clear()
                self._known[client] = found
        share, limit = found
        kept = self._kept.pop(share, None)
        if kept is None or now_ms - kept[1] > EXPIRY_MS:
            self._make_room(now_ms)
            measure = self._make()
        else:
            measure = kept[0]
        self._kept[share] = measure, now_ms
        return measure, limit

    def _look_up(self, user: str, client_id: str) -> tuple[Share, float]:
        share = self._levels.share_of(user, client_id)
        limit = self._levels.limit_of(share)
        return Share(_shortened(share.user), _shortened(share.client_id)), limit

    def _make_room(self, now_ms: int) -> None:
        kept = self._kept
        while kept:
            oldest = next(iter(kept))
            if len(kept) < self._kept_max and now_ms - kept[oldest][1] <= EXPIRY_MS:
                return
            del kept[oldest]


def _shortened(name: str) -> str:
    """Return a name, or a digest of a long one."""
    if len(name) <= _NAME_MAX:
        return name
    return hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()
