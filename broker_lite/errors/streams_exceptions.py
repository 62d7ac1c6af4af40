"""The exceptions that are about streams groups."""

from broker_lite.errors.codes import ErrorCode
from broker_lite.errors.exceptions import BrokerError


class StreamsInvalidTopology(BrokerError):
    """A topology cannot run, whatever topics there are (130)."""

    code = ErrorCode.STREAMS_INVALID_TOPOLOGY
