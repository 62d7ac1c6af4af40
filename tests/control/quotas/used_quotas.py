"""Quotas of a cluster that a test sets, with a clock that it moves."""

from collections import Counter
from collections.abc import Mapping

from broker_lite.control.quotas.source import QuotaSource
from broker_lite.control.users.quota_rules import Entity

Set = Mapping[tuple[str, ...], Mapping[str, float]]
"""Default quotas, by the types of their entity."""


class UsedQuotas:
    """Quotas that are set, all of them defaults."""

    def __init__(self, quotas: Set) -> None:
        self._by_entity: dict[Entity, Mapping[str, float]] = {}
        self._counts: Counter[tuple[str, tuple[str, ...]]] = Counter()
        self._version = 0
        self.now_ms = 100_000
        self.set(quotas)
        self.source = QuotaSource(
            self._by_entity, self._counts, lambda: self._version, lambda: self.now_ms
        )

    def set(self, quotas: Set) -> None:
        """Set other quotas."""
        self._by_entity.clear()
        self._counts.clear()
        for types, values in quotas.items():
            self._by_entity[tuple((kind, None) for kind in types)] = values
            self._counts.update((key, types) for key in values)
        self._version += 1
