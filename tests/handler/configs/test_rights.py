"""Configs of resources to which the client has no right."""

from typing import Any

import pytest

from broker_lite.security.acls.acl import CLUSTER_NAME, Operation, ResourceType
from broker_lite.wire import messages
from tests.support.acls import acl, apply_acls
from tests.support.handler_broker import HandlerBroker

TOPIC, BROKER, GROUP = 2, 4, 32
RESOURCES = [(TOPIC, "t"), (TOPIC, "none"), (BROKER, "1"), (BROKER, ""), (GROUP, "g")]
DENIED = [
    (29, "Topic authorization failed."),
    (29, "Topic authorization failed."),
    (31, "Cluster authorization failed."),
    (31, "Cluster authorization failed."),
    (30, "Group authorization failed."),
]


@pytest.fixture
def limited(broker: HandlerBroker) -> HandlerBroker:
    broker.cluster.create_topic("t")
    apply_acls(broker.context)
    return broker


def allow(broker: HandlerBroker, operation: Operation) -> None:
    apply_acls(
        broker.context,
        acl(operation, name="*"),
        acl(operation, ResourceType.GROUP, "*"),
        acl(operation, ResourceType.CLUSTER, CLUSTER_NAME),
    )


def described(broker: HandlerBroker, *resources: tuple[int, str]) -> list[tuple[int, str]]:
    kind = messages.DescribeConfigsRequest.DescribeConfigsResource
    asked = [kind(resource_type=of, resource_name=name) for of, name in resources]
    answer = broker.call("DescribeConfigs", 4, resources=asked)
    return [(one.error_code, one.error_message) for one in answer.results]


def test_x57_configs_that_may_not_be_described(limited: HandlerBroker) -> None:
    assert described(limited, *RESOURCES) == DENIED
    allow(limited, Operation.ALTER_CONFIGS)
    assert [code for code, _ in described(limited, *RESOURCES)] == [0, 3, 0, 0, 0]


def test_x57_what_is_denied_comes_last(limited: HandlerBroker) -> None:
    apply_acls(limited.context, acl(Operation.DESCRIBE_CONFIGS))
    assert [code for code, _ in described(limited, (BROKER, "1"), (TOPIC, "t"))] == [0, 31]


def alter(
    broker: HandlerBroker, name: str, *resources: tuple[int, str], value: str | None = "50000"
) -> list[tuple[int, str | None]]:
    types = getattr(messages, f"{name}Request")
    keys = {TOPIC: "retention.ms", BROKER: "log.retention.ms", GROUP: "consumer.session.timeout.ms"}
    asked = [
        types.AlterConfigsResource(
            resource_type=of,
            resource_name=resource,
            configs=[types.AlterableConfig(name=keys.get(of, "x"), value=value)],
        )
        for of, resource in resources
    ]
    answer = broker.call(name, 1, resources=asked, validate_only=True)
    return [(one.error_code, one.error_message) for one in answer.responses]


APIS = pytest.mark.parametrize("name", ["AlterConfigs", "IncrementalAlterConfigs"])


@APIS
def test_x57_configs_that_may_not_be_altered(limited: HandlerBroker, name: str) -> None:
    assert alter(limited, name, *RESOURCES) == DENIED
    allow(limited, Operation.ALTER_CONFIGS)
    codes = [code for code, _ in alter(limited, name, *RESOURCES)]
    assert (codes[:3], codes[4]) == ([0, 3, 0], 0)
    assert codes[3] != 31


@APIS
def test_x57_what_kafka_checks_before_rights(limited: HandlerBroker, name: str) -> None:
    answers = alter(limited, name, *RESOURCES[:3], value=None)
    assert {message for _, message in answers} == {
        "Null value not supported for : retention.ms",
        "Null value not supported for : log.retention.ms",
    }
    assert alter(limited, name, (BROKER, "7"))[0][1] == "Unexpected broker id, expected 1, but " + (
        "received 7"
    )
    assert alter(limited, name, (TOPIC, "t"), (TOPIC, "t"))[0][0] == 42
    assert alter(limited, name, (99, "t"))[0][0] == 42


@APIS
def test_x57_a_wrong_value_is_not_told_to_who_has_no_right(
    limited: HandlerBroker, name: str
) -> None:
    assert alter(limited, name, (TOPIC, "t"), (GROUP, "g"), value="x") == [DENIED[0], DENIED[4]]
    assert alter(limited, name, (TOPIC, "in/valid"), (TOPIC, "")) == [DENIED[0]] * 2


def test_x57_the_list_of_resources(limited: HandlerBroker) -> None:
    def listed() -> Any:
        return limited.call("ListConfigResources", 1, resource_types=[TOPIC])

    assert (listed().error_code, listed().config_resources) == (31, [])
    allow(limited, Operation.DESCRIBE_CONFIGS)
    assert [one.resource_name for one in listed().config_resources] == ["t"]
