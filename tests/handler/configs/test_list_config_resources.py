import pytest

from broker_lite.control.metadata.image import GROUP_RESOURCE
from broker_lite.control.topics.topic_rules import NewTopic
from tests.support.handler_broker import HandlerBroker, OpenBroker
from tests.support.several_brokers import talk_to

TOPICS, BROKERS, LOGGERS, METRICS, GROUPS = 2, 4, 8, 16, 32


@pytest.fixture
def broker(broker: HandlerBroker) -> HandlerBroker:
    broker.cluster.create_topics([broker.cluster.plan_topic(NewTopic(name)) for name in "tu"])
    configs = {"consumer.session.timeout.ms": "50000"}
    broker.cluster.alter_configs([(GROUP_RESOURCE, "g", configs)])
    return broker


@pytest.mark.parametrize(
    ("types", "names"),
    [
        ([], [(TOPICS, "t"), (TOPICS, "u"), (BROKERS, "1"), (LOGGERS, "1"), (GROUPS, "g")]),
        ([GROUPS], [(GROUPS, "g")]),
        ([GROUPS, TOPICS, GROUPS], [(TOPICS, "t"), (TOPICS, "u"), (GROUPS, "g")]),
        ([LOGGERS, METRICS], [(LOGGERS, "1")]),
    ],
)
def test_p130_resources_of_some_types(
    broker: HandlerBroker, types: list[int], names: list[tuple[int, str]]
) -> None:
    answer = broker.call("ListConfigResources", 1, resource_types=types)
    told = [(one.resource_type, one.resource_name) for one in answer.config_resources]
    assert (answer.error_code, told) == (0, names)


def test_p130_a_type_that_there_is_not(broker: HandlerBroker) -> None:
    answer = broker.call("ListConfigResources", 1, resource_types=[TOPICS, 99])
    assert (answer.error_code, answer.config_resources) == (35, [])


def test_p130_version_0_is_about_client_metrics(broker: HandlerBroker) -> None:
    assert broker.call("ListConfigResources", 0).config_resources == []
    broker.cluster.alter_configs([(METRICS, "m", {"metrics": "*"})])
    for version, fields in ((0, {}), (1, {"resource_types": [METRICS]})):
        answer = broker.call("ListConfigResources", version, **fields)
        assert answer.error_code == 0
        assert [one.resource_name for one in answer.config_resources] == ["m"]
    broker.cluster.alter_configs([(METRICS, "m", {"metrics": None})])
    assert broker.call("ListConfigResources", 0).config_resources == []


def test_p130_all_brokers_that_are_alive(open_broker: OpenBroker) -> None:
    broker = talk_to(open_broker(broker_lite_brokers="4"), 2)
    broker.cluster.controller.fence(3)
    answer = broker.call("ListConfigResources", 1, resource_types=[BROKERS])
    assert [each.resource_name for each in answer.config_resources] == ["1", "2", "4"]
