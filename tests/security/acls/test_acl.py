"""The codes of the parts of an ACL."""

import pytest

from broker_lite.security.acls.acl import Operation, PatternType, Permission, ResourceType


@pytest.mark.parametrize(
    ("kind", "names"),
    [
        (
            ResourceType,
            "UNKNOWN ANY TOPIC GROUP CLUSTER TRANSACTIONAL_ID DELEGATION_TOKEN USER",
        ),
        (PatternType, "UNKNOWN ANY MATCH LITERAL PREFIXED"),
        (
            Operation,
            "UNKNOWN ANY ALL READ WRITE CREATE DELETE ALTER DESCRIBE CLUSTER_ACTION "
            "DESCRIBE_CONFIGS ALTER_CONFIGS IDEMPOTENT_WRITE CREATE_TOKENS DESCRIBE_TOKENS "
            "TWO_PHASE_COMMIT",
        ),
        (Permission, "UNKNOWN ANY DENY ALLOW"),
    ],
)
def test_x44_the_codes_are_those_of_kafka(
    kind: type[ResourceType | PatternType | Operation | Permission], names: str
) -> None:
    assert [(member.name, member.value) for member in kind] == [
        (name, code) for code, name in enumerate(names.split())
    ]
