"""The settings of the transaction coordinator."""

from dataclasses import dataclass
from typing import Self

from broker_lite.settings import Settings


@dataclass(frozen=True, slots=True, kw_only=True)
class TransactionSettings:
    """The settings for all transactional ids.

    Attributes:
        timeout_max_ms: the longest timeout that a transaction may have.
        has_two_phases: whether a producer may prepare transactions, which have no timeout.
        id_expiration_ms: how long an id may be idle before it is removed.
    """

    timeout_max_ms: int
    has_two_phases: bool
    id_expiration_ms: int

    @classmethod
    def of(cls, settings: Settings) -> Self:
        """Return those of a broker."""
        return cls(
            timeout_max_ms=settings.transaction_max_timeout_ms,
            has_two_phases=settings.transaction_two_phase_commit_enable,
            id_expiration_ms=settings.transactional_id_expiration_ms,
        )
