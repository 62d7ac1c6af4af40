"""The exceptions of clients that have no right to what they want, by number.

See: E-02.
"""

from broker_lite.errors.codes import ErrorCode
from broker_lite.errors.exceptions import BrokerError


class TopicAuthorizationFailed(BrokerError):
    """The client may not do this with the topic (29)."""

    code = ErrorCode.TOPIC_AUTHORIZATION_FAILED


class GroupAuthorizationFailed(BrokerError):
    """The client may not do this with the group (30)."""

    code = ErrorCode.GROUP_AUTHORIZATION_FAILED


class ClusterAuthorizationFailed(BrokerError):
    """The client may not do this with the cluster (31)."""

    code = ErrorCode.CLUSTER_AUTHORIZATION_FAILED


class SecurityDisabled(BrokerError):
    """There is no authorizer (54)."""

    code = ErrorCode.SECURITY_DISABLED
