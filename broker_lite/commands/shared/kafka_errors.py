"""Formats error codes as Kafka's tools do: the Java exception and its text.

Scripts search the output for both. Source: Errors.
"""

from collections.abc import Mapping
from typing import Final

from broker_lite.client.errors import check, error_name
from broker_lite.errors import ClientError, ErrorCode

PACKAGE: Final = "org.apache.kafka.common.errors."
_SUFFIX: Final = "Exception"

# Exceptions whose name does not follow from their code.
_NAMES: Final[Mapping[int, str]] = {
    ErrorCode.UNKNOWN_SERVER_ERROR: "UnknownServerException",
    ErrorCode.CORRUPT_MESSAGE: "CorruptRecordException",
    ErrorCode.REQUEST_TIMED_OUT: "TimeoutException",
    ErrorCode.TOPIC_AUTHORIZATION_FAILED: "TopicAuthorizationException",
    ErrorCode.GROUP_AUTHORIZATION_FAILED: "GroupAuthorizationException",
    ErrorCode.CLUSTER_AUTHORIZATION_FAILED: "ClusterAuthorizationException",
    ErrorCode.TOPIC_ALREADY_EXISTS: "TopicExistsException",
    ErrorCode.INVALID_CONFIG: "InvalidConfigurationException",
    ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED: "TransactionalIdAuthorizationException",
    ErrorCode.KAFKA_STORAGE_ERROR: "KafkaStorageException",
    ErrorCode.NON_EMPTY_GROUP: "GroupNotEmptyException",
}
# The texts for responses without a message.
_TEXTS: Final[Mapping[int, str]] = {
    ErrorCode.UNKNOWN_SERVER_ERROR: (
        "The server experienced an unexpected error when processing the request."
    ),
    ErrorCode.OFFSET_OUT_OF_RANGE: (
        "The requested offset is not within the range of offsets maintained by the server."
    ),
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION: "This server does not host this topic-partition.",
    ErrorCode.REQUEST_TIMED_OUT: "The request timed out.",
    ErrorCode.INVALID_TOPIC_EXCEPTION: (
        "The request attempted to perform an operation on an invalid topic."
    ),
    ErrorCode.INVALID_GROUP_ID: "The configured groupId is invalid.",
    ErrorCode.TOPIC_AUTHORIZATION_FAILED: "Topic authorization failed.",
    ErrorCode.CLUSTER_AUTHORIZATION_FAILED: "Cluster authorization failed.",
    ErrorCode.POLICY_VIOLATION: "Request parameters do not satisfy the configured policy.",
    ErrorCode.INVALID_PRODUCER_EPOCH: "Producer attempted to produce with an old epoch.",
    ErrorCode.SECURITY_DISABLED: "Security features are disabled.",
    ErrorCode.NON_EMPTY_GROUP: "The group is not empty.",
    ErrorCode.GROUP_ID_NOT_FOUND: "The group id does not exist.",
    ErrorCode.ELECTION_NOT_NEEDED: "Leader election not needed for topic partition.",
    ErrorCode.NO_REASSIGNMENT_IN_PROGRESS: "No partition reassignment is in progress.",
    ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC: (
        "Deleting offsets of a topic is forbidden while the consumer group is actively subscribed"
        " to it."
    ),
    ErrorCode.TRANSACTIONAL_ID_NOT_FOUND: "The transactionalId could not be found.",
}


def check_told(what: str, code: int, message: str | None) -> None:
    """Raise an error for a code other than 0; its text is only the broker's, if there is one.

    Raises:
        ClientError: the code is not 0.
    """
    if code and message:
        raise ClientError(message)
    check(what, code)


def exception_text(code: int, message: str | None = None) -> str:
    """Return the text of a code's exception: the broker's message, else Kafka's default."""
    return message or _TEXTS.get(code, error_name(code))


def exception_name(code: int) -> str:
    """Return the full name of a code's exception."""
    regular = "".join(word.capitalize() for word in error_name(code).split("_"))
    return PACKAGE + _NAMES.get(code, f"{regular.removesuffix(_SUFFIX)}{_SUFFIX}")


def exception_line(code: int, message: str | None = None) -> str:
    """Return a code's exception as Java prints it: NAME: TEXT."""
    return f"{exception_name(code)}: {exception_text(code, message)}"
