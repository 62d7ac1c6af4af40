"""Classic groups in the state log: GroupMetadataKey and GroupMetadataValue.

See: G-25 (GroupCoordinatorRecordHelpers).
"""

import struct
from collections.abc import Iterable
from typing import Final

from broker_lite.coordinator.classic.member import ClassicMember
from broker_lite.wire import messages

_INT16: Final = struct.Struct(">h")
KEY_TYPE: Final = 2
# the version that Kafka 4 writes; all versions can be read
_VALUE_VERSION: Final = 3


def encode_key(group_id: str) -> bytes:
    """Return the key of a group's record."""
    key = messages.GroupMetadataKey(group=group_id)
    return _INT16.pack(KEY_TYPE) + messages.GroupMetadataKey.encode(key, 0)


def encode_value(
    *,
    protocol_type: str | None,
    protocol_name: str | None,
    generation: int,
    leader: str | None,
    state_changed_ms: int,
    members: Iterable[ClassicMember],
) -> bytes:
    """Return the value of a group's record; of each member only the chosen protocol is written."""
    make_member = messages.GroupMetadataValue.MemberMetadata
    value = messages.GroupMetadataValue(
        protocol_type=protocol_type or "",
        generation=generation,
        protocol=protocol_name,
        leader=leader,
        current_state_timestamp=state_changed_ms,
        members=[
            make_member(
                member_id=member.member_id,
                group_instance_id=member.instance_id,
                client_id=member.client_id,
                client_host=member.client_host,
                rebalance_timeout=member.rebalance_timeout_ms,
                session_timeout=member.session_timeout_ms,
                subscription=member.metadata(protocol_name),
                assignment=member.assignment,
            )
            for member in members
        ],
    )
    return _INT16.pack(_VALUE_VERSION) + messages.GroupMetadataValue.encode(value, _VALUE_VERSION)


def decode_value(data: bytes) -> messages.GroupMetadataValue:
    """Return the GroupMetadataValue of a record of any version."""
    (version,) = _INT16.unpack_from(data)
    value, _ = messages.GroupMetadataValue.decode(data, version, _INT16.size)
    return value


def decode_members(value: messages.GroupMetadataValue) -> list[ClassicMember]:
    """Return the members in a group's record.

    See: G-30 (GroupMetadataManager.replay).
    """
    return [
        ClassicMember(
            member.member_id,
            instance_id=member.group_instance_id,
            client_id=member.client_id,
            client_host=member.client_host,
            session_timeout_ms=member.session_timeout,
            rebalance_timeout_ms=(
                member.session_timeout if member.rebalance_timeout < 0 else member.rebalance_timeout
            ),
            protocols=[(value.protocol or "", member.subscription)],
            assignment=member.assignment,
        )
        for member in value.members
    ]
