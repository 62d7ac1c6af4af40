"""What a producer asks for its transactions: T-14, T-16, T-69."""

import pytest

from broker_lite.coordinator.transactions.settings import TransactionSettings
from broker_lite.coordinator.transactions.terms import Terms

NO_TIMEOUT_MS = 2**31 - 1


def settings(*, has_two_phases: bool) -> TransactionSettings:
    return TransactionSettings(
        timeout_max_ms=900, has_two_phases=has_two_phases, id_expiration_ms=1
    )


@pytest.mark.parametrize(
    ("name", "terms", "without", "with_two_phases"),
    [
        ("x", Terms(900), None, None),
        ("x", Terms(901), 50, 50),
        ("x", Terms(0), 50, 50),
        ("", Terms(900, is_two_phase=True), 42, 42),
        ("x", Terms(900, is_two_phase=True), 53, None),
        ("x", Terms(-1, is_two_phase=True), 53, None),
        ("x", Terms(901, is_two_phase=True, keeps_prepared=True), 53, 35),
        ("x", Terms(901, keeps_prepared=True), 35, 35),
    ],
)
def test_t69_the_order_of_the_checks(
    name: str, terms: Terms, without: int | None, with_two_phases: int | None
) -> None:
    """Measured on 4.3.1, with and without transaction.two.phase.commit.enable."""
    assert terms.refusal(name, settings(has_two_phases=False)) == without
    assert terms.refusal(name, settings(has_two_phases=True)) == with_two_phases


def test_t69_two_phases_have_no_timeout() -> None:
    assert Terms(5).timeout_ms == 5
    assert Terms(5, is_two_phase=True).timeout_ms == NO_TIMEOUT_MS
