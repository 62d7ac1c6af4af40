"""Names that random requests are about, of which users have rights to some."""

import random
from collections.abc import Callable, Mapping
from typing import Any, Final

TOPICS: Final = ("a-1", "a-2", "b-1", "c")
MISSING: Final = ("a-none", "b-none", "none")
MADE: Final = ("a-made", "b-made", "made")
"""Topics that come and go."""
INVALID: Final = ("in/valid",)
GROUPS: Final = ("g-1", "g-2", "h", "x*")
TRANSACTIONAL_IDS: Final = ("tx-1", "tx-2", "ty")
NO_SUCH_ID: Final = b"\x07" * 16

_TOPIC, _BROKER, _GROUP = 2, 4, 32

EVERY_ACL: Final[Mapping[str, Any]] = {
    "resource_type_filter": 1,
    "resource_name_filter": None,
    "pattern_type_filter": 1,
    "principal_filter": None,
    "host_filter": None,
    "operation": 1,
    "permission_type": 1,
}
"""The fields of a filter that selects all ACLs."""

Ids = Mapping[str, bytes]
Build = Callable[[Ids], Any]
"""Makes a request for a side, by the ids of its topics."""


def id_of(ids: Ids, name: str) -> bytes:
    return ids.get(name, NO_SUCH_ID)


class Names:
    """Chooses by chance what a request is about."""

    def __init__(self, chance: random.Random) -> None:
        self._chance = chance

    def _some(self, *of: str, low: int = 1, high: int = 3) -> list[str]:
        count = self._chance.randint(low, min(high, len(of)))
        return self._chance.sample(of, count)

    def _topics(self) -> list[str]:
        return self._some(*TOPICS, *TOPICS[:1], *MISSING[:2], *MADE[:2])

    def _known(self) -> list[str]:
        return self._some(*TOPICS, *MISSING[:2])

    def _flag(self) -> bool:
        return self._chance.random() < 0.5

    def _group(self) -> str:
        return self._chance.choice(GROUPS)

    def _transactional_id(self) -> str:
        return self._chance.choice(TRANSACTIONAL_IDS)

    def _partitions(self) -> list[int]:
        return self._chance.choice(([0], [0, 1], [0, 1, 7]))
