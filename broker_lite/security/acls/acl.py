"""An ACL and the codes of its parts, as requests and the metadata log have them.

Rule: X-44 (ResourceType, AclOperation, AclPermissionType, PatternType).
"""

from enum import IntEnum
from typing import Final, NamedTuple, Self

WILDCARD: Final = "*"
"""Every resource as the name of a literal pattern; every host."""
ANY_USER: Final = "User:*"
"""The principal of an ACL for everybody, whatever the kind of its principal."""
CLUSTER_NAME: Final = "kafka-cluster"
"""The name of the one resource of the type CLUSTER."""


class _Code(IntEnum):
    """A code of the protocol; all that are not known are UNKNOWN, which is 0."""

    # Enum hashes by a function of Python; with that, the index of ACLs is four times slower.
    __hash__ = int.__hash__

    @classmethod
    def _missing_(cls, value: object) -> Self:  # type: ignore[explicit-override]
        return cls(0)


class ResourceType(_Code):
    """What a right is about. UNKNOWN and ANY occur in requests only."""

    UNKNOWN = 0
    ANY = 1
    TOPIC = 2
    GROUP = 3
    CLUSTER = 4
    TRANSACTIONAL_ID = 5
    DELEGATION_TOKEN = 6
    USER = 7


class PatternType(_Code):
    """How the name of an ACL is compared with that of a resource.

    UNKNOWN, ANY and MATCH occur in requests only.
    """

    UNKNOWN = 0
    ANY = 1
    MATCH = 2
    LITERAL = 3
    PREFIXED = 4


class Operation(_Code):
    """What a client wants to do. UNKNOWN and ANY occur in requests only."""

    UNKNOWN = 0
    ANY = 1
    ALL = 2
    READ = 3
    WRITE = 4
    CREATE = 5
    DELETE = 6
    ALTER = 7
    DESCRIBE = 8
    CLUSTER_ACTION = 9
    DESCRIBE_CONFIGS = 10
    ALTER_CONFIGS = 11
    IDEMPOTENT_WRITE = 12
    CREATE_TOKENS = 13
    DESCRIBE_TOKENS = 14
    TWO_PHASE_COMMIT = 15


class Permission(_Code):
    """Whether an ACL allows or denies. UNKNOWN and ANY occur in requests only."""

    UNKNOWN = 0
    ANY = 1
    DENY = 2
    ALLOW = 3


class Acl(NamedTuple):
    """One right, given to a principal or taken from it, on the resources of a pattern.

    Attributes:
        principal: as text, User:alice; ANY_USER for everybody.
        host: the address of the client as text; WILDCARD for every one.
    """

    resource_type: ResourceType
    name: str
    pattern_type: PatternType
    principal: str
    host: str
    operation: Operation
    permission: Permission
