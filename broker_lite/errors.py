"""The protocol's error codes, and the exceptions that carry them.

BrokerError                       any error that has a code of the protocol
├── one subclass a code that the rooms below the handlers raise, see the end of this module
SettingsError                     a bad flag, file, variable or setting: one line for a person
ClientError                       a broker cannot be asked, or says no: one line for a person

Leaf rooms raise; a handler catches once per partition and answers that partition with the code.
Source: spec E-01 (Errors).
"""

from enum import IntEnum
from typing import ClassVar


class ErrorCode(IntEnum):
    """Kafka's error codes.

    Rule: E-01 (Errors).
    """

    UNKNOWN_SERVER_ERROR = -1
    NONE = 0
    OFFSET_OUT_OF_RANGE = 1
    CORRUPT_MESSAGE = 2
    UNKNOWN_TOPIC_OR_PARTITION = 3
    INVALID_FETCH_SIZE = 4
    LEADER_NOT_AVAILABLE = 5
    NOT_LEADER_OR_FOLLOWER = 6
    REQUEST_TIMED_OUT = 7
    BROKER_NOT_AVAILABLE = 8
    REPLICA_NOT_AVAILABLE = 9
    MESSAGE_TOO_LARGE = 10
    STALE_CONTROLLER_EPOCH = 11
    OFFSET_METADATA_TOO_LARGE = 12
    NETWORK_EXCEPTION = 13
    COORDINATOR_LOAD_IN_PROGRESS = 14
    COORDINATOR_NOT_AVAILABLE = 15
    NOT_COORDINATOR = 16
    INVALID_TOPIC_EXCEPTION = 17
    RECORD_LIST_TOO_LARGE = 18
    NOT_ENOUGH_REPLICAS = 19
    NOT_ENOUGH_REPLICAS_AFTER_APPEND = 20
    INVALID_REQUIRED_ACKS = 21
    ILLEGAL_GENERATION = 22
    INCONSISTENT_GROUP_PROTOCOL = 23
    INVALID_GROUP_ID = 24
    UNKNOWN_MEMBER_ID = 25
    INVALID_SESSION_TIMEOUT = 26
    REBALANCE_IN_PROGRESS = 27
    INVALID_COMMIT_OFFSET_SIZE = 28
    TOPIC_AUTHORIZATION_FAILED = 29
    GROUP_AUTHORIZATION_FAILED = 30
    CLUSTER_AUTHORIZATION_FAILED = 31
    INVALID_TIMESTAMP = 32
    UNSUPPORTED_SASL_MECHANISM = 33
    ILLEGAL_SASL_STATE = 34
    UNSUPPORTED_VERSION = 35
    TOPIC_ALREADY_EXISTS = 36
    INVALID_PARTITIONS = 37
    INVALID_REPLICATION_FACTOR = 38
    INVALID_REPLICA_ASSIGNMENT = 39
    INVALID_CONFIG = 40
    NOT_CONTROLLER = 41
    INVALID_REQUEST = 42
    UNSUPPORTED_FOR_MESSAGE_FORMAT = 43
    POLICY_VIOLATION = 44
    OUT_OF_ORDER_SEQUENCE_NUMBER = 45
    DUPLICATE_SEQUENCE_NUMBER = 46
    INVALID_PRODUCER_EPOCH = 47
    INVALID_TXN_STATE = 48
    INVALID_PRODUCER_ID_MAPPING = 49
    INVALID_TRANSACTION_TIMEOUT = 50
    CONCURRENT_TRANSACTIONS = 51
    TRANSACTION_COORDINATOR_FENCED = 52
    TRANSACTIONAL_ID_AUTHORIZATION_FAILED = 53
    SECURITY_DISABLED = 54
    OPERATION_NOT_ATTEMPTED = 55
    KAFKA_STORAGE_ERROR = 56
    LOG_DIR_NOT_FOUND = 57
    SASL_AUTHENTICATION_FAILED = 58
    UNKNOWN_PRODUCER_ID = 59
    REASSIGNMENT_IN_PROGRESS = 60
    DELEGATION_TOKEN_AUTH_DISABLED = 61
    DELEGATION_TOKEN_NOT_FOUND = 62
    DELEGATION_TOKEN_OWNER_MISMATCH = 63
    DELEGATION_TOKEN_REQUEST_NOT_ALLOWED = 64
    DELEGATION_TOKEN_AUTHORIZATION_FAILED = 65
    DELEGATION_TOKEN_EXPIRED = 66
    INVALID_PRINCIPAL_TYPE = 67
    NON_EMPTY_GROUP = 68
    GROUP_ID_NOT_FOUND = 69
    FETCH_SESSION_ID_NOT_FOUND = 70
    INVALID_FETCH_SESSION_EPOCH = 71
    LISTENER_NOT_FOUND = 72
    TOPIC_DELETION_DISABLED = 73
    FENCED_LEADER_EPOCH = 74
    UNKNOWN_LEADER_EPOCH = 75
    UNSUPPORTED_COMPRESSION_TYPE = 76
    STALE_BROKER_EPOCH = 77
    OFFSET_NOT_AVAILABLE = 78
    MEMBER_ID_REQUIRED = 79
    PREFERRED_LEADER_NOT_AVAILABLE = 80
    GROUP_MAX_SIZE_REACHED = 81
    FENCED_INSTANCE_ID = 82
    ELIGIBLE_LEADERS_NOT_AVAILABLE = 83
    ELECTION_NOT_NEEDED = 84
    NO_REASSIGNMENT_IN_PROGRESS = 85
    GROUP_SUBSCRIBED_TO_TOPIC = 86
    INVALID_RECORD = 87
    UNSTABLE_OFFSET_COMMIT = 88
    THROTTLING_QUOTA_EXCEEDED = 89
    PRODUCER_FENCED = 90
    RESOURCE_NOT_FOUND = 91
    DUPLICATE_RESOURCE = 92
    UNACCEPTABLE_CREDENTIAL = 93
    INCONSISTENT_VOTER_SET = 94
    INVALID_UPDATE_VERSION = 95
    FEATURE_UPDATE_FAILED = 96
    PRINCIPAL_DESERIALIZATION_FAILURE = 97
    SNAPSHOT_NOT_FOUND = 98
    POSITION_OUT_OF_RANGE = 99
    UNKNOWN_TOPIC_ID = 100
    DUPLICATE_BROKER_REGISTRATION = 101
    BROKER_ID_NOT_REGISTERED = 102
    INCONSISTENT_TOPIC_ID = 103
    INCONSISTENT_CLUSTER_ID = 104
    TRANSACTIONAL_ID_NOT_FOUND = 105
    FETCH_SESSION_TOPIC_ID_ERROR = 106
    INELIGIBLE_REPLICA = 107
    NEW_LEADER_ELECTED = 108
    OFFSET_MOVED_TO_TIERED_STORAGE = 109
    FENCED_MEMBER_EPOCH = 110
    UNRELEASED_INSTANCE_ID = 111
    UNSUPPORTED_ASSIGNOR = 112
    STALE_MEMBER_EPOCH = 113
    MISMATCHED_ENDPOINT_TYPE = 114
    UNSUPPORTED_ENDPOINT_TYPE = 115
    UNKNOWN_CONTROLLER_ID = 116
    UNKNOWN_SUBSCRIPTION_ID = 117
    TELEMETRY_TOO_LARGE = 118
    INVALID_REGISTRATION = 119
    TRANSACTION_ABORTABLE = 120
    INVALID_RECORD_STATE = 121
    SHARE_SESSION_NOT_FOUND = 122
    INVALID_SHARE_SESSION_EPOCH = 123
    FENCED_STATE_EPOCH = 124
    INVALID_VOTER_KEY = 125
    DUPLICATE_VOTER = 126
    VOTER_NOT_FOUND = 127
    INVALID_REGULAR_EXPRESSION = 128
    REBOOTSTRAP_REQUIRED = 129
    STREAMS_INVALID_TOPOLOGY = 130
    STREAMS_INVALID_TOPOLOGY_EPOCH = 131
    STREAMS_TOPOLOGY_FENCED = 132
    SHARE_SESSION_LIMIT_REACHED = 133


class SettingsError(Exception):
    """A setting, flag, file or variable cannot be used; the text is one line for a person."""


class ClientError(Exception):
    """A broker cannot be asked, or says no; the text is one line for a person."""


class BrokerError(Exception):
    """An error that has a code of the protocol.

    The text, where there is one, is what Kafka sends as error_message; else it is null there.
    """

    code: ClassVar[ErrorCode] = ErrorCode.UNKNOWN_SERVER_ERROR

    @property
    def message(self) -> str | None:
        """The text for the wire, None where Kafka sends null."""
        return str(self.args[0]) if self.args else None


class UnknownServerError(BrokerError):
    """Server failed in an unforeseen way (-1)."""

    code = ErrorCode.UNKNOWN_SERVER_ERROR


class OffsetOutOfRange(BrokerError):
    """Offset outside what the log holds (1)."""

    code = ErrorCode.OFFSET_OUT_OF_RANGE


class CorruptMessage(BrokerError):
    """Bad checksum, framing, magic or size (2)."""

    code = ErrorCode.CORRUPT_MESSAGE


class UnknownTopicOrPartition(BrokerError):
    """Topic or partition not known here (3)."""

    code = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


class NotLeaderOrFollower(BrokerError):
    """Not leader, or not a replica (6)."""

    code = ErrorCode.NOT_LEADER_OR_FOLLOWER


class MessageTooLarge(BrokerError):
    """Batch above max.message.bytes (10)."""

    code = ErrorCode.MESSAGE_TOO_LARGE


class CoordinatorLoadInProgress(BrokerError):
    """State of a coordinator is being read (14)."""

    code = ErrorCode.COORDINATOR_LOAD_IN_PROGRESS


class CoordinatorNotAvailable(BrokerError):
    """Coordinator cannot be made or asked now (15)."""

    code = ErrorCode.COORDINATOR_NOT_AVAILABLE


class NotCoordinator(BrokerError):
    """State of the group or transactional id is not here (16)."""

    code = ErrorCode.NOT_COORDINATOR


class InvalidTopic(BrokerError):
    """Topic name or use not allowed (17)."""

    code = ErrorCode.INVALID_TOPIC_EXCEPTION


class RecordListTooLarge(BrokerError):
    """Record set larger than segment.bytes (18)."""

    code = ErrorCode.RECORD_LIST_TOO_LARGE


class InvalidTimestamp(BrokerError):
    """Record timestamp not acceptable (32)."""

    code = ErrorCode.INVALID_TIMESTAMP


class UnsupportedVersion(BrokerError):
    """Api version or feature unsupported (35)."""

    code = ErrorCode.UNSUPPORTED_VERSION


class TopicAlreadyExists(BrokerError):
    """Topic exists already (36)."""

    code = ErrorCode.TOPIC_ALREADY_EXISTS


class InvalidPartitions(BrokerError):
    """Partition count not valid (37)."""

    code = ErrorCode.INVALID_PARTITIONS


class InvalidReplicationFactor(BrokerError):
    """Replication factor not valid (38)."""

    code = ErrorCode.INVALID_REPLICATION_FACTOR


class InvalidReplicaAssignment(BrokerError):
    """Replica assignment not valid (39)."""

    code = ErrorCode.INVALID_REPLICA_ASSIGNMENT


class InvalidConfig(BrokerError):
    """Configuration value not valid (40)."""

    code = ErrorCode.INVALID_CONFIG


class InvalidRequest(BrokerError):
    """Request contradicts itself or is malformed (42)."""

    code = ErrorCode.INVALID_REQUEST


class UnsupportedForMessageFormat(BrokerError):
    """Needs a newer message format (43)."""

    code = ErrorCode.UNSUPPORTED_FOR_MESSAGE_FORMAT


class PolicyViolation(BrokerError):
    """Server policy forbids it (44)."""

    code = ErrorCode.POLICY_VIOLATION


class OutOfOrderSequenceNumber(BrokerError):
    """Sequence has a gap, or wrong start (45)."""

    code = ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER


class InvalidProducerEpoch(BrokerError):
    """Producer epoch older than known (47)."""

    code = ErrorCode.INVALID_PRODUCER_EPOCH


class InvalidTxnState(BrokerError):
    """Transaction state does not allow it (48)."""

    code = ErrorCode.INVALID_TXN_STATE


class InvalidProducerIdMapping(BrokerError):
    """Producer id does not belong to transactional id (49)."""

    code = ErrorCode.INVALID_PRODUCER_ID_MAPPING


class TransactionCoordinatorFenced(BrokerError):
    """Marker from an outdated transaction coordinator (52)."""

    code = ErrorCode.TRANSACTION_COORDINATOR_FENCED


class KafkaStorageError(BrokerError):
    """Disk error or directory offline (56)."""

    code = ErrorCode.KAFKA_STORAGE_ERROR


class TopicDeletionDisabled(BrokerError):
    """Topic deletion is off (73)."""

    code = ErrorCode.TOPIC_DELETION_DISABLED


class FencedLeaderEpoch(BrokerError):
    """Leader epoch of the request is old (74)."""

    code = ErrorCode.FENCED_LEADER_EPOCH


class UnknownLeaderEpoch(BrokerError):
    """Leader epoch of the request is newer (75)."""

    code = ErrorCode.UNKNOWN_LEADER_EPOCH


class UnsupportedCompressionType(BrokerError):
    """Compression codec not usable for this version (76)."""

    code = ErrorCode.UNSUPPORTED_COMPRESSION_TYPE


class InvalidRecord(BrokerError):
    """Record or batch rejected by validation (87)."""

    code = ErrorCode.INVALID_RECORD


class InvalidUpdateVersion(BrokerError):
    """Level of a feature that cannot be had (95)."""

    code = ErrorCode.INVALID_UPDATE_VERSION


class UnknownTopicId(BrokerError):
    """Topic id not known (100)."""

    code = ErrorCode.UNKNOWN_TOPIC_ID


class InconsistentTopicId(BrokerError):
    """Topic id differs from the log's (103)."""

    code = ErrorCode.INCONSISTENT_TOPIC_ID
