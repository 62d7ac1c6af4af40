"""Which quota counts for a client: X-80."""

from collections import Counter
from collections.abc import Mapping

import pytest

from broker_lite.control.quotas.levels import UNLIMITED, Levels, Share
from broker_lite.control.users.quota_rules import Entity, entity_of

KEY = "producer_byte_rate"

# the most specific first
LEVELS: list[Entity] = [
    entity_of([("user", "u"), ("client-id", "c")]),
    entity_of([("user", "u"), ("client-id", None)]),
    entity_of([("user", "u")]),
    entity_of([("user", None), ("client-id", "c")]),
    entity_of([("user", None), ("client-id", None)]),
    entity_of([("user", None)]),
    entity_of([("client-id", "c")]),
    entity_of([("client-id", None)]),
]
SHARES = [
    *(Share("u", "c"), Share("u", "c"), Share("u", "")),
    *(Share("u", "c"), Share("u", "c"), Share("u", "")),
    *(Share("", "c"), Share("", "c")),
]


def levels(quotas: Mapping[Entity, float], key: str = KEY) -> Levels:
    counts = Counter((KEY, tuple(kind for kind, _ in entity)) for entity in quotas)
    return Levels(key, {entity: {KEY: rate} for entity, rate in quotas.items()}, counts)


def limit(found: Levels, user: str = "u", client_id: str = "c") -> float:
    return found.limit_of(found.share_of(user, client_id))


@pytest.mark.parametrize("first", range(len(LEVELS)))
def test_x80_the_most_specific_counts(first: int) -> None:
    found = levels({entity: float(rate) for rate, entity in enumerate(LEVELS) if rate >= first})
    assert (found.share_of("u", "c"), limit(found)) == (SHARES[first], first)


@pytest.mark.parametrize("only", range(len(LEVELS)))
def test_x80_one_level_alone(only: int) -> None:
    found = levels({LEVELS[only]: 7.0})
    assert (found.share_of("u", "c"), limit(found)) == (SHARES[only], 7.0)
    is_for_all = all(name is None for _, name in LEVELS[only])
    assert limit(found, "v", "d") == (7.0 if is_for_all else UNLIMITED)


def test_x80_without_quotas_nothing_is_measured() -> None:
    assert not levels({}).has_any
    assert not levels({LEVELS[0]: 1.0}, "consumer_byte_rate").has_any
    assert all(levels({entity: 1.0}).has_any for entity in LEVELS)
    assert levels({}).share_of("u", "c") == Share("", "c")


def test_x80_who_has_no_client_id_has_no_quota_of_one() -> None:
    assert limit(levels({LEVELS[7]: 1.0}), "u", "") == UNLIMITED
    assert limit(levels({LEVELS[4]: 1.0}), "u", "") == UNLIMITED
    assert limit(levels({LEVELS[5]: 1.0}), "u", "") == 1.0


def test_x80_quotas_of_users_and_client_ids_do_not_mix() -> None:
    found = levels({entity_of([("user", "v")]): 1.0, LEVELS[7]: 2.0})
    assert (found.share_of("v", "c"), limit(found, "v")) == (Share("v", ""), 1.0)
    assert (found.share_of("u", "c"), limit(found, "u")) == (Share("", "c"), 2.0)


def test_x80_another_key_of_the_same_entity_is_no_quota() -> None:
    quotas = {LEVELS[0]: {"consumer_byte_rate": 1.0}, LEVELS[2]: {KEY: 2.0}}
    found = Levels(KEY, quotas, {(KEY, ("user",)): 1})
    assert limit(found) == 2.0
