"""The exceptions: first those that are no code of the protocol, then one a code, by number.

A difference to Kafka: an error text of more than 32,767 bytes is cut. Kafka answers all parts of
such a request with UNKNOWN_SERVER_ERROR, though it has carried out those that were right.

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
    """A broker cannot be asked, or says no; the text is one line for a person."""


class BrokerError(Exception):
    """An error that has a code of the protocol.

    The text, where there is one, is what Kafka sends as error_message; else it is null there.
    """

    code: ClassVar[ErrorCode] = ErrorCode.UNKNOWN_SERVER_ERROR
    why: Why | None = None
    """For the log only."""

    def because(self, rule: str, text: str, **facts: object) -> Self:
        """Say which rule was broken: `raise CorruptMessage().because("V-20", ...)`.

        Args:
            rule: its id.
            text: with {names} of facts, which are formatted when the line is written.
            facts: plain values, no views of buffers: they may be kept for a while.
        """
        self.why = Why(rule, text, facts)
        return self

    @property
    def message(self) -> str | None:
        """The text for the wire, None where Kafka sends null.

        One that repeats a long name may be longer than the wire allows.
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


class DecompressedTooLarge(MessageTooLarge):
    """Batch that decompresses to more than its reader allows (10)."""


class TooManyRecords(MessageTooLarge):
    """Batch with more records than the broker allows (10); a producer may split it."""


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


class IllegalGeneration(BrokerError):
    """Generation is not the member's (22)."""

    code = ErrorCode.ILLEGAL_GENERATION


class InconsistentGroupProtocol(BrokerError):
    """Protocols of a member do not go with the group's (23)."""

    code = ErrorCode.INCONSISTENT_GROUP_PROTOCOL


class UnknownMemberId(BrokerError):
    """Member not in the group (25)."""

    code = ErrorCode.UNKNOWN_MEMBER_ID


class InvalidTimestamp(BrokerError):
    """Record timestamp not acceptable (32)."""

    code = ErrorCode.INVALID_TIMESTAMP


class UnsupportedSaslMechanism(BrokerError):
    """No such SASL mechanism here (33)."""

    code = ErrorCode.UNSUPPORTED_SASL_MECHANISM


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


class TransactionalIdAuthorizationFailed(BrokerError):
    """Transactional batch in a request without a transactional id (53)."""

    code = ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED


class KafkaStorageError(BrokerError):
    """Disk error or directory offline (56)."""

    code = ErrorCode.KAFKA_STORAGE_ERROR


class GroupIdNotFound(BrokerError):
    """Group not there, or not of the kind that is asked for (69)."""

    code = ErrorCode.GROUP_ID_NOT_FOUND


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


class GroupMaxSizeReached(BrokerError):
    """Group has as many members as it may have (81)."""

    code = ErrorCode.GROUP_MAX_SIZE_REACHED


class FencedInstanceId(BrokerError):
    """Another member has this instance id (82)."""

    code = ErrorCode.FENCED_INSTANCE_ID


class InvalidRecord(BrokerError):
    """Record or batch rejected by validation (87)."""

    code = ErrorCode.INVALID_RECORD


class ResourceNotFound(BrokerError):
    """No such resource (91)."""

    code = ErrorCode.RESOURCE_NOT_FOUND


class DuplicateResource(BrokerError):
    """Resource named twice (92)."""

    code = ErrorCode.DUPLICATE_RESOURCE


class UnacceptableCredential(BrokerError):
    """Credential that may not be had (93)."""

    code = ErrorCode.UNACCEPTABLE_CREDENTIAL


class InvalidUpdateVersion(BrokerError):
    """Level of a feature that cannot be had (95)."""

    code = ErrorCode.INVALID_UPDATE_VERSION


class UnknownTopicId(BrokerError):
    """Topic id not known (100)."""

    code = ErrorCode.UNKNOWN_TOPIC_ID


class InconsistentTopicId(BrokerError):
    """Topic id differs from the log's (103)."""

    code = ErrorCode.INCONSISTENT_TOPIC_ID


class FencedMemberEpoch(BrokerError):
    """Member epoch is not the coordinator's (110)."""

    code = ErrorCode.FENCED_MEMBER_EPOCH


class UnreleasedInstanceId(BrokerError):
    """Instance id still in use by another member (111)."""

    code = ErrorCode.UNRELEASED_INSTANCE_ID


class UnsupportedAssignor(BrokerError):
    """No such assignor here (112)."""

    code = ErrorCode.UNSUPPORTED_ASSIGNOR


class InvalidRegularExpression(BrokerError):
    """Regular expression not valid (128)."""

    code = ErrorCode.INVALID_REGULAR_EXPRESSION
