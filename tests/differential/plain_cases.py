"""Requests that a plain Kafka of one broker, without security, answers with little of its own.

One list, run from the top on an empty broker: later requests find what earlier ones made. The
placeholder DATA_DIR stands for the broker's data directory.
"""

from collections.abc import Sequence
from typing import Any, Final, NamedTuple

from broker_lite.wire import messages

TOPIC: Final = "kt"
DATA_DIR: Final = "DATA_DIR"
_METADATA: Final = "__cluster_metadata"


class PlainCase(NamedTuple):
    """One request; fields are those of the request's root struct."""

    rule: str
    api: str
    version: int
    fields: dict[str, Any]

    @property
    def title(self) -> str:
        return f"{self.rule} {self.api} v{self.version}"


def topics() -> list[PlainCase]:
    """The topic that the others are about."""
    topic = messages.CreateTopicsRequest.CreatableTopic(
        name=TOPIC, num_partitions=2, replication_factor=1
    )
    return [PlainCase("P-102", "CreateTopics", 5, {"topics": [topic], "timeout_ms": 10_000})]


def acls() -> list[PlainCase]:
    """Without an authorizer."""
    cases = []
    for version in (1, 2, 3):
        creation = messages.CreateAclsRequest.AclCreation(
            resource_type=2,
            resource_name="t",
            principal="User:x",
            host="*",
            operation=3,
            permission_type=3,
        )
        one = messages.DeleteAclsRequest.DeleteAclsFilter(
            resource_type_filter=2,
            resource_name_filter=None,
            pattern_type_filter=1,
            principal_filter=None,
            host_filter=None,
            operation=1,
            permission_type=1,
        )
        described = {
            "resource_type_filter": 99,
            "resource_name_filter": None,
            "principal_filter": None,
            "host_filter": None,
            "operation": 77,
            "permission_type": 1,
        }
        cases += [
            PlainCase("P-163", "DescribeAcls", version, described),
            PlainCase("P-162", "CreateAcls", version, {"creations": [creation] * 2}),
            PlainCase("P-162", "CreateAcls", version, {"creations": []}),
            PlainCase("P-163", "DeleteAcls", version, {"filters": [one] * 2}),
            PlainCase("P-163", "DeleteAcls", version, {"filters": []}),
        ]
    return cases


Places = Sequence[tuple[str, Sequence[tuple[str, list[int]]]]]


def log_dirs() -> list[PlainCase]:
    """AlterReplicaLogDirs with one directory."""
    types = messages.AlterReplicaLogDirsRequest
    asked: list[Places] = [
        [(DATA_DIR, [(TOPIC, [0, 1, 7]), ("nope", [0])])],
        [("/nope", [(TOPIC, [0, 9])]), (DATA_DIR, [(TOPIC, [1])])],
        [(f"{DATA_DIR}/", [(TOPIC, [0])]), ("relative", [(TOPIC, [1])])],
        [(DATA_DIR, [(TOPIC, [0, 0])]), ("/x", [(TOPIC, [0])])],
        [],
    ]
    return [
        PlainCase(
            "P-142",
            "AlterReplicaLogDirs",
            version,
            {
                "dirs": [
                    types.AlterReplicaLogDir(
                        path=path,
                        topics=[
                            types.AlterReplicaLogDirTopic(name=name, partitions=partitions)
                            for name, partitions in entries
                        ],
                    )
                    for path, entries in places
                ]
            },
        )
        for version in (1, 2)
        for places in asked
    ]


def elections() -> list[PlainCase]:
    """ElectLeaders."""
    kind = messages.ElectLeadersRequest.TopicPartitions
    several = [kind(topic=TOPIC, partitions=[0, 1, 9]), kind(topic="nope", partitions=[0])]
    odd = [kind(topic="", partitions=[0]), kind(topic=TOPIC, partitions=[0, 0, -1])]
    cases = []
    for version in (0, 1, 2):
        for election_type in (0, 1, 7, -1) if version else (0,):
            fields = {"election_type": election_type} if version else {}
            cases += [
                PlainCase(
                    "P-146",
                    "ElectLeaders",
                    version,
                    {**fields, "topic_partitions": asked, "timeout_ms": 1000},
                )
                for asked in (several, odd, None, [])
            ]
    return cases


def reassignments() -> list[PlainCase]:
    """AlterPartitionReassignments, ListPartitionReassignments."""
    types = messages.AlterPartitionReassignmentsRequest
    asked: list[list[tuple[str, list[tuple[int, list[int] | None]]]]] = [
        [(TOPIC, [(0, [1]), (1, None), (9, [1])]), ("nope", [(0, [1]), (1, None)])],
        [(TOPIC, [(0, []), (1, [1, 1])])],
        [(TOPIC, [(0, [2]), (1, [-1])])],
        [(TOPIC, [(0, [1, 2]), (1, [1])])],
        [(TOPIC, [(0, [2, 2]), (1, [1, 2, 1])])],
        [(TOPIC, [(9, None), (9, []), (-1, [1])])],
        [(TOPIC, [(0, [1]), (0, [1])]), (TOPIC, [(1, [1])])],
        [("", [(0, [1])]), ("a b", [(0, [1])]), (_METADATA, [(0, [1])])],
        [(TOPIC, [])],
        [],
    ]
    cases = [
        PlainCase(
            "P-147",
            "AlterPartitionReassignments",
            version,
            {
                **({"allow_replication_factor_change": False} if version else {}),
                "timeout_ms": 1000,
                "topics": [
                    types.ReassignableTopic(
                        name=name,
                        partitions=[
                            types.ReassignablePartition(partition_index=index, replicas=replicas)
                            for index, replicas in partitions
                        ],
                    )
                    for name, partitions in entries
                ],
            },
        )
        for version in (0, 1)
        for entries in asked
    ]
    one = messages.ListPartitionReassignmentsRequest.ListPartitionReassignmentsTopics
    listed = [one(name=TOPIC, partition_indexes=[0, 9]), one(name="nope", partition_indexes=[0])]
    cases += [
        PlainCase("P-148", "ListPartitionReassignments", 0, {"topics": entries, "timeout_ms": 1000})
        for entries in (None, listed, [])
    ]
    return cases


def _change(deletions: list[tuple[str, int]], *upsertions: dict[str, Any]) -> PlainCase:
    types = messages.AlterUserScramCredentialsRequest
    usual = {"name": "u", "mechanism": 1, "iterations": 4096, "salt": b"salt"}
    fields = {
        "deletions": [
            types.ScramCredentialDeletion(name=name, mechanism=mechanism)
            for name, mechanism in deletions
        ],
        "upsertions": [
            types.ScramCredentialUpsertion(**{"salted_password": b"p" * 32, **usual, **each})
            for each in upsertions
        ],
    }
    return PlainCase("P-164", "AlterUserScramCredentials", 0, fields)


def credentials() -> list[PlainCase]:
    """SCRAM credentials, which are kept though nobody logs in."""
    types = messages.DescribeUserScramCredentialsRequest

    def describe(names: Sequence[str] | None) -> PlainCase:
        users = names if names is None else [types.UserName(name=name) for name in names]
        return PlainCase("P-165", "DescribeUserScramCredentials", 0, {"users": users})

    odd: list[dict[str, Any]] = [
        {"name": ""},
        {"name": "", "mechanism": 9, "iterations": 1},
        {"name": "v", "mechanism": 9},
        {"name": "w", "iterations": 4095},
        {"name": "x", "iterations": 16385},
        {"name": "y", "salt": b"", "iterations": 16384},
        {"name": "z", "salted_password": b""},
        {"name": "k", "mechanism": 0},
        {"name": "l", "mechanism": 2},
    ]
    return [
        describe(None),
        describe([]),
        describe(["a", "a", "", "b"]),
        _change([("a", 1)]),
        _change([], {}),
        describe(None),
        _change([], *odd),
        _change([("u", 1), ("u", 2), ("q", 0)], {"name": "u2"}, {"name": "u2"}),
        _change([("u", 1)], {"mechanism": 2}),
        _change([("dd", 1), ("dd", 1)], {"name": "ee", "mechanism": 9}, {"name": "ee"}),
        _change([("y", 2), ("", 1), ("n", 7)]),
        _change([]),
        describe(None),
        _change([("u", 1), ("l", 2)]),
        describe(["y", "l", "y"]),
        describe(None),
    ]


def quorum() -> list[PlainCase]:
    """DescribeQuorum."""
    types = messages.DescribeQuorumRequest
    asked: list[list[tuple[str, list[int]]]] = [
        [(_METADATA, [0])],
        [],
        [(TOPIC, [0])],
        [(_METADATA, [1])],
        [(_METADATA, [0, 1]), (TOPIC, [0])],
        [(_METADATA, [])],
    ]
    return [
        PlainCase(
            "P-149",
            "DescribeQuorum",
            version,
            {
                "topics": [
                    types.TopicData(
                        topic_name=name,
                        partitions=[types.PartitionData(partition_index=i) for i in indexes],
                    )
                    for name, indexes in entries
                ]
            },
        )
        for version in (0, 1, 2)
        for entries in asked
    ]
