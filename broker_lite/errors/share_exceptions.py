"""The exceptions that are about share groups, and about what is done with groups as a whole."""

from broker_lite.errors.codes import ErrorCode
from broker_lite.errors.exceptions import BrokerError


class InvalidGroupId(BrokerError):
    """A group cannot have this id (24)."""

    code = ErrorCode.INVALID_GROUP_ID


class NonEmptyGroup(BrokerError):
    """A group has members (68)."""

    code = ErrorCode.NON_EMPTY_GROUP


class InvalidRecordState(BrokerError):
    """A record is not acquired by the member that acknowledges it (121)."""

    code = ErrorCode.INVALID_RECORD_STATE


class ShareSessionNotFound(BrokerError):
    """The broker does not know the share session (122)."""

    code = ErrorCode.SHARE_SESSION_NOT_FOUND


class InvalidShareSessionEpoch(BrokerError):
    """The epoch is not the next one of the share session (123)."""

    code = ErrorCode.INVALID_SHARE_SESSION_EPOCH


class FencedStateEpoch(BrokerError):
    """The state of a share partition has begun anew since it was read (124)."""

    code = ErrorCode.FENCED_STATE_EPOCH


class ShareSessionLimitReached(BrokerError):
    """The broker has as many share sessions as it may have (133)."""

    code = ErrorCode.SHARE_SESSION_LIMIT_REACHED
