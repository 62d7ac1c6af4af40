"""The exceptions of delegation tokens, by the number of their code."""

from broker_lite.errors.codes import ErrorCode
from broker_lite.errors.exceptions import BrokerError


class DelegationTokenNotFound(BrokerError):
    """No such delegation token (62)."""

    code = ErrorCode.DELEGATION_TOKEN_NOT_FOUND


class DelegationTokenOwnerMismatch(BrokerError):
    """The client neither owns the delegation token nor may it renew it (63)."""

    code = ErrorCode.DELEGATION_TOKEN_OWNER_MISMATCH


class DelegationTokenExpired(BrokerError):
    """The delegation token is not valid any more (66)."""

    code = ErrorCode.DELEGATION_TOKEN_EXPIRED
