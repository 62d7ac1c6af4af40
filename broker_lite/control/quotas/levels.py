"""Which of the quotas that are set counts for a client, by Kafka's order of precedence."""

from collections.abc import Mapping
from typing import Final, NamedTuple

from broker_lite.control.users.quota_rules import CLIENT_ID, USER, Entity

UNLIMITED: Final = 2.0**63
"""The quota of a client for which none is set."""

_OF_CLIENT_IDS: Final = (CLIENT_ID,)
_OF_USERS: Final = (USER,)
_OF_BOTH: Final = (CLIENT_ID, USER)
_LEVELS: Final = (_OF_BOTH, _OF_USERS, _OF_CLIENT_IDS)
_ANY_USER: Final = ((USER, None),)
_ANY_CLIENT_ID: Final = ((CLIENT_ID, None),)
_ANY_BOTH: Final = ((CLIENT_ID, None), (USER, None))

QuotaCounts = Mapping[tuple[str, tuple[str, ...]], int]
"""How many entities have a quota, by the key of the quota and the types of the entity."""


class Share(NamedTuple):
    """Who shares one measured rate: a user, a client id or both; an empty one counts for all."""

    user: str
    client_id: str


class Levels:
    """The quotas of one key, such as producer_byte_rate; a view of the cluster's."""

    def __init__(
        self, key: str, quotas: Mapping[Entity, Mapping[str, float]], counts: QuotaCounts
    ) -> None:
        """Look at quotas, which may change.

        Args:
            key: of the quotas.
            quotas: all that are set, by entity.
            counts: of `quotas`.
        """
        self.key = key
        self._quotas = quotas
        self._counts = counts

    @property
    def has_any(self) -> bool:
        """Whether any client has such a quota; without one nothing is measured."""
        return any(self._counts.get((self.key, level)) for level in _LEVELS)

    def share_of(self, user: str, client_id: str) -> Share:
        """Return with whom a client shares its rate.

        If quotas are set on one level only, this level decides. Otherwise the most specific quota
        of the client does.

        Rule: X-80 (ClientQuotaManager, DefaultQuotaCallback.quotaMetricTags).
        """
        levels = [level for level in _LEVELS if self._counts.get((self.key, level))]
        if len(levels) > 1:
            return self._most_specific(user, client_id)
        level = levels[0] if levels else _OF_CLIENT_IDS
        return Share(
            user if USER in level else "",
            client_id if CLIENT_ID in level else "",
        )

    def _most_specific(self, user: str, client_id: str) -> Share:
        both, only_user = Share(user, client_id), Share(user, "")
        own, name = (USER, user), (CLIENT_ID, client_id)
        for entity, share in (
            ((name, own), both),
            ((*_ANY_CLIENT_ID, own), both),
            ((own,), only_user),
            ((name, *_ANY_USER), both),
            (_ANY_BOTH, both),
            (_ANY_USER, only_user),
        ):
            if self._of(entity) is not None:
                return share
        return Share("", client_id)

    def limit_of(self, share: Share) -> float:
        """Return the quota of those who share a rate; UNLIMITED if there is none.

        A quota of another level than the rate's does not count. So who has no client id has no
        quota of a client id, not even the default one.

        See: X-80 (DefaultQuotaCallback.quotaLimit).
        """
        user, client_id = share
        own, name = (USER, user), (CLIENT_ID, client_id)
        candidates: tuple[Entity, ...] = ()
        if user and client_id:
            candidates = ((name, own), (*_ANY_CLIENT_ID, own), (name, *_ANY_USER), _ANY_BOTH)
        elif user:
            candidates = ((own,), _ANY_USER)
        elif client_id:
            candidates = ((name,), _ANY_CLIENT_ID)
        for entity in candidates:
            found = self._of(entity)
            if found is not None:
                return found
        return UNLIMITED

    def _of(self, entity: Entity) -> float | None:
        values = self._quotas.get(entity)
        return None if values is None else values.get(self.key)
