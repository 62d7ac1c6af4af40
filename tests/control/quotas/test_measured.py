"""What is kept of measured clients, and for how long: X-89."""

from collections import Counter

from broker_lite.control.quotas.levels import UNLIMITED, Levels
from broker_lite.control.quotas.measured import EXPIRY_MS, KEPT_MAX, Measured
from broker_lite.control.quotas.rates import SampledRate
from broker_lite.control.users.quota_rules import Entity

KEY = "consumer_byte_rate"


class Quotas:
    """Quotas that change, and what is measured with them."""

    def __init__(self, kept_max: int = KEPT_MAX) -> None:
        self.by_entity: dict[Entity, dict[str, float]] = {}
        self.counts: Counter[tuple[str, tuple[str, ...]]] = Counter()
        levels = Levels(KEY, self.by_entity, self.counts)
        self.measured = Measured(levels, SampledRate, kept_max)

    def set(self, rate: float, entity: Entity) -> None:
        self.by_entity[entity] = {KEY: rate}
        self.counts[KEY, tuple(kind for kind, _ in entity)] = 1
        self.measured.forget_limits()


ANY_CLIENT: Entity = (("client-id", None),)


def test_x89_any_number_of_client_ids_takes_no_more_memory() -> None:
    quotas = Quotas()
    quotas.set(1.0, ANY_CLIENT)
    for number in range(4 * KEPT_MAX):
        quotas.measured.of("u", f"client-{number}", 0)
    assert len(quotas.measured) == KEPT_MAX


def test_x89_who_was_used_longest_ago_makes_room() -> None:
    quotas = Quotas(kept_max=2)
    quotas.set(1.0, ANY_CLIENT)
    first, _ = quotas.measured.of("u", "a", 0)
    quotas.measured.of("u", "b", 1)
    assert quotas.measured.of("u", "a", 2)[0] is first
    quotas.measured.of("u", "c", 3)
    assert quotas.measured.of("u", "a", 4)[0] is first
    assert len(quotas.measured) == 2


def test_x89_long_names_are_told_apart() -> None:
    quotas = Quotas()
    quotas.set(1.0, ANY_CLIENT)
    quotas.set(2.0, (("client-id", "a" * 30_000),))
    one, limit = quotas.measured.of("u", "a" * 30_000, 0)
    other, default = quotas.measured.of("u", "b" * 30_000, 0)
    assert one is not other
    assert (limit, default) == (2.0, 1.0)
    assert quotas.measured.of("u", "a" * 30_000, 0)[0] is one
    assert quotas.measured.of("u", "\ud800" * 200, 0)[1] == 1.0


def test_x89_after_an_hour_a_client_begins_anew() -> None:
    quotas = Quotas()
    quotas.set(1.0, ANY_CLIENT)
    first, _ = quotas.measured.of("u", "a", 0)
    assert quotas.measured.of("u", "a", EXPIRY_MS)[0] is first
    assert quotas.measured.of("u", "a", 2 * EXPIRY_MS + 1)[0] is not first
    quotas.measured.of("u", "b", 4 * EXPIRY_MS)
    assert len(quotas.measured) == 1


def test_x89_a_change_counts_at_once_and_keeps_what_was_measured() -> None:
    quotas = Quotas()
    assert not quotas.measured.is_on
    quotas.set(1.0, ANY_CLIENT)
    assert quotas.measured.is_on
    first, limit = quotas.measured.of("u", "a", 0)
    assert limit == 1.0
    quotas.set(2.0, (("client-id", "a"),))
    assert quotas.measured.of("u", "a", 1) == (first, 2.0)
    quotas.by_entity.clear()
    assert quotas.measured.of("u", "a", 1) == (first, 2.0)
    quotas.measured.forget_limits()
    assert quotas.measured.of("u", "a", 1) == (first, UNLIMITED)


def test_x89_known_limits_are_bounded_as_well() -> None:
    quotas = Quotas(kept_max=3)
    quotas.set(1.0, (("user", None),))
    for number in range(10):
        assert quotas.measured.of("u", f"{number}", 0)[1] == 1.0
    assert len(quotas.measured) == 1
