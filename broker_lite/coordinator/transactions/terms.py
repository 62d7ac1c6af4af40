"""What a producer asks for its transactions."""

from typing import NamedTuple

from broker_lite.coordinator.transactions.settings import TransactionSettings
from broker_lite.coordinator.transactions.transaction import NO_TIMEOUT_MS
from broker_lite.errors import ErrorCode


class Terms(NamedTuple):
    """The terms of an InitProducerId.

    Attributes:
        asked_ms: the timeout of the transactions, as asked for.
        is_two_phase: whether they have no timeout instead, for a commit in two phases (KIP-939).
        keeps_prepared: whether a prepared transaction has to stay, which is always refused.
    """

    asked_ms: int
    is_two_phase: bool = False
    keeps_prepared: bool = False

    @property
    def timeout_ms(self) -> int:
        """The timeout that the transactions get."""
        return NO_TIMEOUT_MS if self.is_two_phase else self.asked_ms

    def refusal(self, transactional_id: str, settings: TransactionSettings) -> ErrorCode | None:
        """Return the error that does not depend on the state of the transactional id, else None.

        Rule: T-69.
        See: T-14, T-16 (TransactionCoordinator.handleInitProducerId).
        """
        if not transactional_id:
            return ErrorCode.INVALID_REQUEST
        if self.is_two_phase and not settings.has_two_phases:
            return ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED
        if self.keeps_prepared:
            return ErrorCode.UNSUPPORTED_VERSION
        if not self.is_two_phase and not 0 < self.asked_ms <= settings.timeout_max_ms:
            return ErrorCode.INVALID_TRANSACTION_TIMEOUT
        return None
