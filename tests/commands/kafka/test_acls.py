"""`kafka acls`, with the flags and the lines of kafka-acls.sh."""

import socket
from typing import Any

import pytest

from broker_lite.errors import ErrorCode
from broker_lite.wire import messages
from tests.support.command_line import CommandLine, Done
from tests.support.scripted_server import ScriptedServer, answer, read_request, speak

ADD_BOB = ("--add", "--topic", "t", "--allow-principal", "User:Bob", "--operation")
DISABLED = (
    "1: Error while executing ACL command: org.apache.kafka.common.errors.SecurityDisabledException"
    ": No Authorizer is configured on the broker"
)
TOPIC = "ResourcePattern(resourceType=TOPIC, name=t, patternType=LITERAL)"


def rule(operation: str, principal: str = "User:Bob") -> str:
    """A rule as it is printed."""
    return f"(principal={principal}, host=*, operation={operation}, permissionType=ALLOW)"


@pytest.mark.parametrize("flags", [("--list",), (*ADD_BOB, "Read")])
def test_a_broker_without_an_authorizer(
    command: CommandLine, bootstrap: str, flags: tuple[str, ...]
) -> None:
    assert command.fails("kafka", "acls", "--bootstrap-server", bootstrap, *flags) == DISABLED


def test_removing_without_an_authorizer(command: CommandLine, bootstrap: str) -> None:
    flags = ("--remove", "--topic", "t", "--force")
    line = command.fails("kafka", "acls", "--bootstrap-server", bootstrap, *flags)
    assert line == DISABLED.replace(" on the broker", ".")


def described(operations: list[int], *principals: str) -> Any:
    """An answer with rules of principals about the topic t."""
    make: Any = messages.DescribeAclsResponse
    found = [
        make.AclDescription(principal=who, host="*", operation=operation, permission_type=3)
        for who in principals
        for operation in operations
    ]
    resource = make.DescribeAclsResource(
        resource_type=2, resource_name="t", pattern_type=3, acls=found
    )
    return make(resources=[resource])


def told(
    command: CommandLine, answers: list[tuple[Any, Any]], *flags: str, typed: str = ""
) -> tuple[Done, list[int]]:
    """How it ends when a broker gives these answers, and the versions of the requests."""
    asked: list[int] = []

    def serve(client: socket.socket) -> None:
        speak(client, Metadata=(0, 5), DescribeAcls=(0, 1), CreateAcls=(0, 1), DeleteAcls=(0, 1))
        for request, value in answers:
            _, version, correlation_id = read_request(client)
            struct = messages.MetadataResponse if request is None else request
            made = value(server.port) if callable(value) else value
            asked.append(version)
            answer(client, correlation_id, struct.encode(made, version))

    with ScriptedServer(serve) as server:
        done = command("kafka", "acls", "--bootstrap-server", server.bootstrap, *flags, typed=typed)
    return done, asked


def controller(port: int) -> Any:
    """Metadata of one broker, which is the controller."""
    make: Any = messages.MetadataResponse
    broker = make.MetadataResponseBroker(node_id=1, host="127.0.0.1", port=port)
    return make(brokers=[broker], controller_id=1)


def test_list(command: CommandLine) -> None:
    value = described([3, 4], "User:Bob", "User:Eve")
    done, _ = told(command, [(messages.DescribeAclsResponse, value)], "--list", "--topic", "t")
    assert (done.code, done.err) == (0, "")
    assert done.out.splitlines() == [
        f"Current ACLs for resource `{TOPIC}`:",
        *(f"\t{rule(each, who)}" for who in ("User:Bob", "User:Eve") for each in ("READ", "WRITE")),
        "",
    ]


def test_list_of_one_principal(command: CommandLine) -> None:
    value = described([3], "User:Bob", "User:Eve")
    flags = ("--list", "--principal", "User:Eve", "--principal", "User:X")
    done, _ = told(command, [(messages.DescribeAclsResponse, value)], *flags)
    assert done.out.splitlines() == [
        "ACLs for principal `User:Eve`",
        f"Current ACLs for resource `{TOPIC}`:",
        f"\t{rule('READ', 'User:Eve')}",
        "",
        "ACLs for principal `User:X`",
    ]


def test_add_what_is_not_there(command: CommandLine) -> None:
    make: Any = messages.CreateAclsResponse
    answers = [
        (messages.DescribeAclsResponse, described([3], "User:Bob")),
        (None, controller),
        (make, make(results=[make.AclCreationResult()])),
    ]
    done, asked = told(command, answers, *ADD_BOB, "Read", "--operation", "describeConfigs")
    assert (done.code, done.err, len(asked)) == (0, "", 3)
    assert done.out.splitlines() == [
        f"Acl (pattern={TOPIC}, entry={rule('READ')}) already exists.",
        f"Adding ACLs for resource `{TOPIC}`: ",
        f" \t{rule('DESCRIBE_CONFIGS')}",
        "",
    ]


def test_an_addition_that_is_refused(command: CommandLine) -> None:
    make: Any = messages.CreateAclsResponse
    refusal = make.AclCreationResult(error_code=ErrorCode.CLUSTER_AUTHORIZATION_FAILED)
    answers = [
        (messages.DescribeAclsResponse, messages.DescribeAclsResponse()),
        (None, controller),
        (make, make(results=[refusal])),
    ]
    done, _ = told(command, answers, *ADD_BOB, "All")
    assert done.code == 1
    assert done.err.endswith("ClusterAuthorizationException: Cluster authorization failed.\n")


@pytest.mark.parametrize("typed", ["y\n", "n\n"])
def test_remove_asks_first(command: CommandLine, typed: str) -> None:
    make: Any = messages.DeleteAclsResponse
    deleted = make.DeleteAclsFilterResult(
        matching_acls=[make.DeleteAclsMatchingAcl(resource_name="t", principal="p", host="*")]
    )
    answers = [(None, controller), (make, make(filter_results=[deleted]))]
    flags = ("--remove", *ADD_BOB[1:], "Read")
    done, asked = told(command, answers if typed == "y\n" else [], *flags, typed=typed)
    assert (done.code, done.err) == (0, "")
    assert done.out.splitlines() == [
        "Are you sure you want to remove ACLs: ",
        f" \t{rule('READ')}",
        f" from resource filter `{TOPIC}`? (y/n)",
    ]
    assert len(asked) == (2 if typed == "y\n" else 0)


def test_remove_everything_of_a_resource(command: CommandLine) -> None:
    flags = ("--remove", "--cluster")
    done, _ = told(command, [], *flags)
    assert done.out == (
        "Are you sure you want to delete all ACLs for resource filter `ResourcePattern("
        "resourceType=CLUSTER, name=kafka-cluster, patternType=LITERAL)`? (y/n)\n"
    )


def test_adding_to_a_filter(command: CommandLine) -> None:
    assert command.fails("kafka", "acls", *ADD_BOB, "Read", "--resource-pattern-type", "any") == (
        "2: A '--resource-pattern-type' value of 'ANY' is not valid when adding acls."
    )


def test_adding_without_a_principal(command: CommandLine) -> None:
    assert command.fails("kafka", "acls", "--add", "--topic", "t") == (
        "2: You must specify one of: --allow-principal, --deny-principal when trying to add ACLs."
    )
