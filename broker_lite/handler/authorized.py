"""The bit fields of authorized operations. There is no authorizer, so all operations are allowed.

Bit n is operation code n of the ACLs: 3 READ, 4 WRITE, 5 CREATE, 6 DELETE, 7 ALTER, 8 DESCRIBE,
9 CLUSTER_ACTION, 10 DESCRIBE_CONFIGS, 11 ALTER_CONFIGS, 12 IDEMPOTENT_WRITE.

Rule: X-45, P-91.
"""

from typing import Final

NOT_ASKED: Final = -(1 << 31)
TOPIC_OPERATIONS: Final = 3576
CLUSTER_OPERATIONS: Final = 8096
GROUP_OPERATIONS: Final = 3400


def if_asked(asked: bool, operations: int) -> int:
    """Return the operations if the request asked for them, else the value for "not asked"."""
    return operations if asked else NOT_ASKED
