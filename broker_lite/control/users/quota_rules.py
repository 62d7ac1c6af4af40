"""Client quotas: the rules for setting them, and the filters for describing them.

A quota is set on an entity: a user, a client id, both, or an IP address. Each has a name, or None
for the default. Quotas are stored in the metadata log; control.quotas puts them into force.

Source: ClientQuotaControlManager, ClientQuotasImage; compared with a Kafka 4.3.1.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Final, NamedTuple, TypeAlias

from broker_lite.errors import InvalidRequest, UnsupportedVersion

USER: Final = "user"
CLIENT_ID: Final = "client-id"
IP: Final = "ip"

Entity: TypeAlias = tuple[tuple[str, str | None], ...]
"""Types and names, in the order of `entity_of`; None is the default of the type."""

_TYPES: Final = (CLIENT_ID, USER, IP)
_LONG_MAX: Final = 2.0**63
_INT_MAX: Final = 2.0**31 - 1
_FRACTION_MAX: Final = 1e-6
_CLIENT_KEYS: Final[Mapping[str, str]] = {
    "producer_byte_rate": "LONG",
    "consumer_byte_rate": "LONG",
    "request_percentage": "DOUBLE",
    "controller_mutation_rate": "DOUBLE",
}
_IP_KEYS: Final[Mapping[str, str]] = {"connection_creation_rate": "INT"}
_EXACT, _DEFAULT, _SPECIFIED = range(3)


class QuotaChange(NamedTuple):
    """One operation: a value for a key, or its removal."""

    key: str
    value: float
    is_removal: bool


class FilterComponent(NamedTuple):
    """A condition for entities: a type with a certain name, with the default, or with any name."""

    entity_type: str
    match_type: int
    match: str | None


def entity_of(parts: Sequence[tuple[str, str | None]]) -> Entity:
    """Return the entity of a request; if a type is named twice, the last name counts."""
    by_type = dict(parts)
    known = [(name, by_type.pop(name)) for name in _TYPES if name in by_type]
    return (*known, *by_type.items())


def text_of(entity: Entity) -> str:
    """Return an entity as Kafka writes it in error texts."""
    parts = (f"{kind}={'null' if name is None else name}" for kind, name in entity)
    return f"ClientQuotaEntity(entries={{{', '.join(parts)}}})"


def plan_quotas(
    current: Mapping[str, float],
    entity: Entity,
    changes: Sequence[QuotaChange],
    is_address: Callable[[str], bool],
) -> dict[str, float | None]:
    """Check changes of the quotas of an entity, all or none.

    Args:
        current: the quotas that are set on the entity.
        entity: the entity to change.
        changes: at most one per key; otherwise all are refused.
        is_address: returns whether a name is an address, or the name of a host.

    Returns:
        The values to write by key, None to remove a quota.

    Raises:
        InvalidRequest: a change is not valid; the error has Kafka's text.

    Rule: P-160 (ClientQuotaControlManager.alterClientQuotaEntity).
    """
    keys = _keys_of(entity, is_address)
    if len({change.key for change in changes}) < len(changes):
        raise InvalidRequest(duplicate(entity))
    planned: dict[str, float | None] = {}
    for change in changes:
        if change.is_removal:
            if change.key in current:
                planned[change.key] = None
            continue
        _check_value(change, keys)
        before = current.get(change.key)
        if before is None or not (before == change.value or _are_nan(before, change.value)):
            planned[change.key] = change.value
    return planned


def duplicate(entity: Entity) -> str:
    """Return the error text for an entity, or a key of an entity, that a request names twice."""
    return f"Ignoring duplicate entity {text_of(entity)}"


def _are_nan(one: float, other: float) -> bool:
    return math.isnan(one) and math.isnan(other)


def _keys_of(entity: Entity, is_address: Callable[[str], bool]) -> Mapping[str, str]:
    """Return the keys of quotas that an entity may have, with the types of their values."""
    if not entity:
        raise InvalidRequest("Invalid empty client quota entity")
    for kind, name in entity:
        if kind not in _TYPES:
            raise InvalidRequest(f"Unhandled client quota entity type: {kind}")
        if name == "":
            raise InvalidRequest(f"Empty {kind} not supported")
    by_type = dict(entity)
    if IP not in by_type:
        return _CLIENT_KEYS
    if len(by_type) > 1:
        raise InvalidRequest(
            "Invalid quota entity combination, IP entity shouldnot be combined with User or"
            " ClientId"
        )
    address = by_type[IP]
    if address is not None and not is_address(address):
        raise InvalidRequest(f"{address} is not a valid IP or resolvable host.")
    return _IP_KEYS


def _check_value(change: QuotaChange, keys: Mapping[str, str]) -> None:
    key, value = change.key, change.value
    kind = keys.get(key)
    if kind is None:
        raise InvalidRequest(f"Invalid configuration key {key}")
    if value <= 0:
        raise InvalidRequest(f"Quota {key} must be greater than 0")
    if kind == "DOUBLE" or math.isnan(value):
        return
    if value > (_LONG_MAX if kind == "LONG" else _INT_MAX):
        raise InvalidRequest(f"Proposed value for {key} is too large for {_article(kind)}.")
    if value - math.floor(value) > _FRACTION_MAX:
        raise InvalidRequest(f"{key} cannot be a fractional value.")


def _article(kind: str) -> str:
    return f"an {kind}" if kind == "INT" else f"a {kind}"


class QuotaFilter:
    """The filter of a DescribeClientQuotas."""

    def __init__(self, components: Sequence[FilterComponent], *, is_strict: bool) -> None:
        """Check the components of the filter, and store them.

        Args:
            components: of the filter; without any, all entities match.
            is_strict: whether entities must not have other types than those of the filter.

        Raises:
            InvalidRequest, UnsupportedVersion: a component is not valid; the error has Kafka's
                text.

        Rule: P-161 (ClientQuotasImage.describe).
        """
        self._names: dict[str, str | None] = {}
        self._present: set[str] = set()
        self._is_strict = is_strict
        for component in components:
            self._add(component)
        asked = {*self._names, *self._present}
        if IP in asked and len(asked) > 1:
            raise InvalidRequest(
                "Invalid entity filter component combination. IP filter component should not be"
                " used with user or clientId filter component."
            )

    def _add(self, component: FilterComponent) -> None:
        kind, match_type, match = component
        if not kind:
            raise InvalidRequest("Invalid empty entity type.")
        if kind in self._names or kind in self._present:
            raise InvalidRequest(f"Entity type {kind} cannot appear more than once in the filter.")
        if kind not in _TYPES:
            raise UnsupportedVersion(f"Unsupported entity type {kind}")
        if match_type == _EXACT:
            if match is None:
                raise InvalidRequest(
                    "Request specified MATCH_TYPE_EXACT, but set match string to null."
                )
            self._names[kind] = match
            return
        if match_type not in (_DEFAULT, _SPECIFIED):
            raise InvalidRequest(f"Unknown match type {match_type}")
        if match is not None:
            name = "MATCH_TYPE_DEFAULT" if match_type == _DEFAULT else "MATCH_TYPE_SPECIFIED"
            raise InvalidRequest(f"Request specified {name}, but also specified a match string.")
        if match_type == _DEFAULT:
            self._names[kind] = None
        else:
            self._present.add(kind)

    def has(self, entity: Entity) -> bool:
        """Return whether an entity matches the filter."""
        by_type = dict(entity)
        if self._is_strict and len(by_type) != len(self._names) + len(self._present):
            return False
        return self._present <= by_type.keys() and all(
            kind in by_type and by_type[kind] == name for kind, name in self._names.items()
        )
