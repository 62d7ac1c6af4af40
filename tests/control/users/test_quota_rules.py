"""Rules of client quotas; the whole of them is compared with Kafka in tests/differential."""

import math

import pytest

from broker_lite.control.users.quota_rules import (
    FilterComponent,
    QuotaChange,
    QuotaFilter,
    entity_of,
    plan_quotas,
    text_of,
)
from broker_lite.errors import InvalidRequest, UnsupportedVersion

USER = entity_of([("user", "u")])
BOTH = entity_of([("user", None), ("client-id", "c")])
EXACT, DEFAULT, ANY = range(3)


def plan(current: dict[str, float], *changes: tuple[str, float, bool]) -> dict[str, float | None]:
    asked = [QuotaChange(*change) for change in changes]
    return plan_quotas(current, USER, asked, lambda name: name == "h")


def test_p160_entities_are_the_same_in_any_order() -> None:
    assert entity_of([("client-id", "c"), ("user", None)]) == BOTH
    assert entity_of([("user", "a"), ("user", "u")]) == USER
    assert text_of(BOTH) == "ClientQuotaEntity(entries={client-id=c, user=null})"


def test_p160_only_what_changes_is_written() -> None:
    current = {"producer_byte_rate": 5.0, "request_percentage": math.nan}
    assert plan(
        current,
        ("producer_byte_rate", 5.0, False),
        ("consumer_byte_rate", 7.0, False),
        ("request_percentage", math.nan, False),
    ) == {"consumer_byte_rate": 7.0}
    assert plan(current, ("producer_byte_rate", 0, True), ("zzz", 0, True)) == {
        "producer_byte_rate": None
    }


@pytest.mark.parametrize(
    ("key", "value", "text"),
    [
        ("zzz", 1, "Invalid configuration key zzz"),
        ("producer_byte_rate", 0, "must be greater than 0"),
        ("producer_byte_rate", 1.5, "cannot be a fractional value"),
        ("producer_byte_rate", math.inf, "too large for a LONG"),
    ],
)
def test_p160_values_that_cannot_be(key: str, value: float, text: str) -> None:
    with pytest.raises(InvalidRequest, match=text):
        plan({}, (key, value, False))


@pytest.mark.parametrize(
    ("name", "value", "text"),
    [("h", 2.0**31, "too large for an INT"), ("x", 1.0, "x is not a valid IP or resolvable host")],
)
def test_p160_addresses(name: str, value: float, text: str) -> None:
    change = QuotaChange("connection_creation_rate", value, False)
    with pytest.raises(InvalidRequest, match=text):
        plan_quotas({}, (("ip", name),), [change], lambda name: name == "h")


@pytest.mark.parametrize(
    ("components", "strict", "found"),
    [
        ([], False, [USER, BOTH]),
        ([], True, []),
        ([("user", EXACT, "u")], False, [USER]),
        ([("user", DEFAULT, None)], False, [BOTH]),
        ([("user", DEFAULT, None)], True, []),
        ([("user", ANY, None)], False, [USER, BOTH]),
        ([("user", ANY, None)], True, [USER]),
        ([("user", ANY, None), ("client-id", EXACT, "c")], True, [BOTH]),
    ],
)
def test_p161_filters(
    components: list[tuple[str, int, str | None]], strict: bool, found: list[object]
) -> None:
    asked = QuotaFilter([FilterComponent(*one) for one in components], is_strict=strict)
    assert [entity for entity in (USER, BOTH) if asked.has(entity)] == found


def test_p161_an_entity_of_another_kind_is_another_error() -> None:
    with pytest.raises(UnsupportedVersion, match="Unsupported entity type zzz"):
        QuotaFilter([FilterComponent("zzz", ANY, None)], is_strict=False)
