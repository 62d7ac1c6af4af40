"""What a client does without a right that it needs, as data.

Each case has a user of its own with the rights that are listed and no others. All that the client
asks for is allowed to this user, but for the one right that the case is named after.
"""

import time
from collections.abc import Iterable, Mapping
from typing import Any, Final, NamedTuple

from broker_lite.security.acls.acl import (
    CLUSTER_NAME,
    WILDCARD,
    Operation,
    PatternType,
    Permission,
    ResourceType,
)
from broker_lite.wire import messages
from tests.support.raw_client import RawClient

Right = tuple[ResourceType, Operation]
_PATIENCE_S: Final = 20.0
_DESCRIBE_TOPIC: Final = (ResourceType.TOPIC, Operation.DESCRIBE)
_READ_TOPIC: Final = (ResourceType.TOPIC, Operation.READ)
_WRITE_TOPIC: Final = (ResourceType.TOPIC, Operation.WRITE)
_DESCRIBE_GROUP: Final = (ResourceType.GROUP, Operation.DESCRIBE)
_READ_GROUP: Final = (ResourceType.GROUP, Operation.READ)
_DESCRIBE_ID: Final = (ResourceType.TRANSACTIONAL_ID, Operation.DESCRIBE)
_WRITE_ID: Final = (ResourceType.TRANSACTIONAL_ID, Operation.WRITE)
_WRITE_IDEMPOTENTLY: Final = (ResourceType.CLUSTER, Operation.IDEMPOTENT_WRITE)


ACTIONS: Final = (
    "produce",
    "idempotent",
    "read",
    "join",
    "transact",
    "offsets",
    "describe",
    "create",
)
"""What clients do; tests.conformance.python.cases says how."""


class Denial(NamedTuple):
    """One case.

    Attributes:
        action: one of ACTIONS.
        rights: of its user, each on all resources of that type.
        has_topic: whether the topic is there before.
    """

    action: str
    rights: tuple[Right, ...] = ()
    has_topic: bool = True


DENIALS: Final[Mapping[str, Denial]] = {
    "produce.topic-WRITE": Denial("produce", (_DESCRIBE_TOPIC, _WRITE_IDEMPOTENTLY)),
    "produce.topic-DESCRIBE": Denial("produce", (_WRITE_IDEMPOTENTLY,)),
    "produce.topic-CREATE": Denial("produce", (_WRITE_TOPIC,), has_topic=False),
    "idempotent.cluster-IDEMPOTENT_WRITE": Denial("idempotent", (_DESCRIBE_TOPIC,)),
    "read.topic-READ": Denial("read", (_DESCRIBE_TOPIC, _READ_GROUP)),
    "read.topic-DESCRIBE": Denial("read", (_READ_GROUP,)),
    "join.group-READ": Denial("join", (_READ_TOPIC, _DESCRIBE_GROUP)),
    "join.group-DESCRIBE": Denial("join", (_READ_TOPIC,)),
    "transact.id-WRITE": Denial("transact", (_WRITE_TOPIC, _DESCRIBE_ID)),
    "transact.id-DESCRIBE": Denial("transact", (_WRITE_TOPIC,)),
    "transact.topic-WRITE": Denial("transact", (_DESCRIBE_TOPIC, _WRITE_ID, _WRITE_IDEMPOTENTLY)),
    "offsets.group-READ": Denial("offsets", (_READ_TOPIC, _WRITE_ID, _WRITE_IDEMPOTENTLY)),
    "describe.topic-DESCRIBE": Denial("describe"),
    "create.topic-CREATE": Denial("create", has_topic=False),
}
"""The cases, by their names, which are those of their users, too."""


def topic_of(client: str, case: str) -> str:
    """The topic of a client in a case, which is the name of its group and transactional id, too."""
    return f"{client}.{case}"


def prepare(plain: RawClient, clients: Iterable[str]) -> None:
    """Give the users their rights and make the topics, and wait until the broker knows them."""
    creations = [
        _creation(case, right) for case, denial in DENIALS.items() for right in denial.rights
    ]
    answer = plain.call("CreateAcls", 3, creations=creations)
    assert {one.error_code for one in answer.results} == {0}
    names = [
        topic_of(client, case)
        for client in clients
        for case, denial in DENIALS.items()
        if denial.has_topic
    ]
    topic = messages.CreateTopicsRequest.CreatableTopic
    topics = [topic(name=name, num_partitions=1, replication_factor=1) for name in names]
    answer = plain.call("CreateTopics", 7, topics=topics, timeout_ms=int(_PATIENCE_S * 1000))
    assert {one.error_code for one in answer.topics} == {0}
    deadline = time.monotonic() + _PATIENCE_S
    while not {*names} <= _led(plain):
        assert time.monotonic() < deadline, "the topics have no leaders"
        time.sleep(0.05)


def _creation(user: str, right: Right) -> Any:
    resource_type, operation = right
    return messages.CreateAclsRequest.AclCreation(
        resource_type=resource_type,
        resource_name=CLUSTER_NAME if resource_type == ResourceType.CLUSTER else WILDCARD,
        resource_pattern_type=PatternType.LITERAL,
        principal=f"User:{user}",
        host=WILDCARD,
        operation=operation,
        permission_type=Permission.ALLOW,
    )


def _led(plain: RawClient) -> set[str]:
    answer = plain.call("Metadata", 12, topics=None)
    return {
        topic.name
        for topic in answer.topics
        if not topic.error_code and not any(one.error_code for one in topic.partitions)
    }
