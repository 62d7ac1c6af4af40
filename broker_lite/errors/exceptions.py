"""The exceptions: first those without a code of the protocol, then one for each code, by number.

A difference to Kafka: an error text of more than 32,767 bytes is cut. Kafka answers all parts of
such a request with UNKNOWN_SERVER_ERROR, although it has carried out the valid parts.

Rule: E-02.
"""

from typing import ClassVar, Final, Self

from broker_lite.errors.codes import ErrorCode
from broker_lite.errors.why import Why

_BYTES_MAX: Final = 32_767
"""The longest text on the wire."""
_UTF8_BYTES: Final = 4
_CUT: Final = "..."


class SettingsError(Exception):
    """A setting, flag, file or variable cannot be used; the text is one line for a person."""


class ClientError(Exception):
    """A broker cannot be reached, or refuses a request; the text is one line for a person."""


class BrokerError(Exception):
    """An error that has a code of the protocol.

    The text, if there is one, is what Kafka sends as error_message. Without a text, Kafka sends
    null.
    """

    code: ClassVar[ErrorCode] = ErrorCode.UNKNOWN_SERVER_ERROR
    why: Why | None = None
    """The rule that was broken and the facts, only for log lines."""

    def because(self, rule: str, text: str, **facts: object) -> Self:
        """Add the rule that was broken: `raise CorruptMessage().because("V-20", ...)`.

        Args:
            rule: the rule's id.
            text: what is wrong, with {names} of facts; formatted when the log line is written.
            facts: plain values; no views of buffers, because facts may be kept for a while.
        """
        self.why = Why(rule, text, facts)
        return self

    @property
    def message(self) -> str | None:
        """The text for error_message, None if Kafka sends null.

        It is cut if it is longer than the protocol allows, as with a very long name in it.
        """
        return _cut(str(self.args[0])) if self.args else None


def _cut(text: str) -> str:
    if len(text) <= _BYTES_MAX // _UTF8_BYTES:
        return text
    data = text.encode("utf-8")
    if len(data) <= _BYTES_MAX:
        return text
    return data[: _BYTES_MAX - len(_CUT)].decode("utf-8", "ignore") + _CUT


class UnknownServerError(BrokerError):
    """The server failed unexpectedly (-1)."""

    code = ErrorCode.UNKNOWN_SERVER_ERROR


class OffsetOutOfRange(BrokerError):
    """Offset outside the log's range (1)."""

    code = ErrorCode.OFFSET_OUT_OF_RANGE


class CorruptMessage(BrokerError):
    """Bad checksum, framing, magic or size (2)."""

    code = ErrorCode.CORRUPT_MESSAGE


class UnknownTopicOrPartition(BrokerError):
    """Topic or partition does not exist (3)."""

    code = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


class NotLeaderOrFollower(BrokerError):
    """Not leader, or not a replica (6)."""

    code = ErrorCode.NOT_LEADER_OR_FOLLOWER


class MessageTooLarge(BrokerError):
    """Batch above max.message.bytes (10)."""

    code = ErrorCode.MESSAGE_TOO_LARGE


class DecompressedTooLarge(MessageTooLarge):
    """Batch decompresses to more bytes than its reader allows (10)."""


class TooManyRecords(MessageTooLarge):
    """Batch has more records than the broker allows (10); a producer may split it."""


class CoordinatorLoadInProgress(BrokerError):
    """Coordinator is still reading its state (14)."""

    code = ErrorCode.COORDINATOR_LOAD_IN_PROGRESS


class CoordinatorNotAvailable(BrokerError):
    """Coordinator cannot be created or reached now (15)."""

    code = ErrorCode.COORDINATOR_NOT_AVAILABLE


class NotCoordinator(BrokerError):
    """This broker does not coordinate the group or transactional id (16)."""

    code = ErrorCode.NOT_COORDINATOR


class InvalidTopic(BrokerError):
    """Topic name or use not allowed (17)."""

    code = ErrorCode.INVALID_TOPIC_EXCEPTION


class RecordListTooLarge(BrokerError):
    """Record set larger than segment.bytes (18)."""

    code = ErrorCode.RECORD_LIST_TOO_LARGE


class NotEnoughReplicas(BrokerError):
    """Fewer replicas in sync than min.insync.replicas asks for (19)."""

    code = ErrorCode.NOT_ENOUGH_REPLICAS


class IllegalGeneration(BrokerError):
    """Generation is not the current one (22)."""

    code = ErrorCode.ILLEGAL_GENERATION


class InconsistentGroupProtocol(BrokerError):
    """Protocols of a member do not fit the group's (23)."""

    code = ErrorCode.INCONSISTENT_GROUP_PROTOCOL


class UnknownMemberId(BrokerError):
    """Member not in the group (25)."""

    code = ErrorCode.UNKNOWN_MEMBER_ID


class InvalidTimestamp(BrokerError):
    """Record timestamp not acceptable (32)."""

    code = ErrorCode.INVALID_TIMESTAMP


class UnsupportedSaslMechanism(BrokerError):
    """SASL mechanism not supported (33)."""

    code = ErrorCode.UNSUPPORTED_SASL_MECHANISM


class UnsupportedVersion(BrokerError):
    """API version or feature not supported (35)."""

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
    """A policy of the server forbids the request (44)."""

    code = ErrorCode.POLICY_VIOLATION


class OutOfOrderSequenceNumber(BrokerError):
    """Sequence number has a gap, or a wrong start (45)."""

    code = ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER


class InvalidProducerEpoch(BrokerError):
    """Producer epoch older than the known one (47)."""

    code = ErrorCode.INVALID_PRODUCER_EPOCH


class InvalidTxnState(BrokerError):
    """The transaction's state does not allow the request (48)."""

    code = ErrorCode.INVALID_TXN_STATE


class InvalidProducerIdMapping(BrokerError):
    """Producer id does not belong to transactional id (49)."""

    code = ErrorCode.INVALID_PRODUCER_ID_MAPPING


class TransactionCoordinatorFenced(BrokerError):
    """Marker from an outdated transaction coordinator (52)."""

    code = ErrorCode.TRANSACTION_COORDINATOR_FENCED


class TransactionalIdAuthorizationFailed(BrokerError):
    """No right to the transactional id, or a batch in a request without one (53)."""

    code = ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED


class KafkaStorageError(BrokerError):
    """Disk error or directory offline (56)."""

    code = ErrorCode.KAFKA_STORAGE_ERROR


class GroupIdNotFound(BrokerError):
    """Group does not exist, or is of another type (69)."""

    code = ErrorCode.GROUP_ID_NOT_FOUND


class TopicDeletionDisabled(BrokerError):
    """Topic deletion is off (73)."""

    code = ErrorCode.TOPIC_DELETION_DISABLED


class FencedLeaderEpoch(BrokerError):
    """Leader epoch of the request is older than the broker's (74)."""

    code = ErrorCode.FENCED_LEADER_EPOCH


class UnknownLeaderEpoch(BrokerError):
    """Leader epoch of the request is newer than the broker's (75)."""

    code = ErrorCode.UNKNOWN_LEADER_EPOCH


class UnsupportedCompressionType(BrokerError):
    """Compression codec not usable for this version (76)."""

    code = ErrorCode.UNSUPPORTED_COMPRESSION_TYPE


class OffsetNotAvailable(BrokerError):
    """The leader does not know yet what is committed (78)."""

    code = ErrorCode.OFFSET_NOT_AVAILABLE


class GroupMaxSizeReached(BrokerError):
    """Group has the largest allowed number of members (81)."""

    code = ErrorCode.GROUP_MAX_SIZE_REACHED


class FencedInstanceId(BrokerError):
    """Another member has this instance id (82)."""

    code = ErrorCode.FENCED_INSTANCE_ID


class NoReassignmentInProgress(BrokerError):
    """Partition is not being reassigned (85)."""

    code = ErrorCode.NO_REASSIGNMENT_IN_PROGRESS


class InvalidRecord(BrokerError):
    """Record or batch rejected by validation (87)."""

    code = ErrorCode.INVALID_RECORD


class ResourceNotFound(BrokerError):
    """No such resource (91)."""

    code = ErrorCode.RESOURCE_NOT_FOUND


class DuplicateResource(BrokerError):
    """Resource is in the request twice (92)."""

    code = ErrorCode.DUPLICATE_RESOURCE


class UnacceptableCredential(BrokerError):
    """Credential not allowed (93)."""

    code = ErrorCode.UNACCEPTABLE_CREDENTIAL


class InvalidUpdateVersion(BrokerError):
    """Feature level not possible (95)."""

    code = ErrorCode.INVALID_UPDATE_VERSION


class UnknownTopicId(BrokerError):
    """Topic id not known (100)."""

    code = ErrorCode.UNKNOWN_TOPIC_ID


class BrokerIdNotRegistered(BrokerError):
    """Broker id not known to the cluster (102)."""

    code = ErrorCode.BROKER_ID_NOT_REGISTERED


class InconsistentTopicId(BrokerError):
    """Topic id of the request differs from the log's (103)."""

    code = ErrorCode.INCONSISTENT_TOPIC_ID


class FencedMemberEpoch(BrokerError):
    """Member epoch differs from the coordinator's (110)."""

    code = ErrorCode.FENCED_MEMBER_EPOCH


class UnreleasedInstanceId(BrokerError):
    """Instance id still in use by another member (111)."""

    code = ErrorCode.UNRELEASED_INSTANCE_ID


class UnsupportedAssignor(BrokerError):
    """Assignor not supported (112)."""

    code = ErrorCode.UNSUPPORTED_ASSIGNOR


class InvalidRegularExpression(BrokerError):
    """Regular expression not valid (128)."""

    code = ErrorCode.INVALID_REGULAR_EXPRESSION
